"""The cleanup removes exactly what a run created, wherever the run was cut short."""

from __future__ import annotations

import _thread
import sqlite3
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from afterdelete.afterlife.capabilities import Capability
from afterdelete.afterlife.catalogue import scenarios
from afterdelete.afterlife.protocol import Context, ProviderError
from afterdelete.afterlife.runner import Interrupted, run_scenario
from afterdelete.afterlife.systems.builtin import BuiltinStore, Defect
from tests.afterlife_support import QUICK, judge, twisted

IDS = ["MT-AF-001", "MT-AF-002", "AF-003"]
CHANGES = ["write", "delete", "begin_pending_write", "release_pending_writes", "record_conversation"]
CHANGES += ["consolidate", "start_session", "restart", "delete_thread"]
LOOKS = ["search", "inspect_surface"]
FAST = replace(QUICK, window=0.01)
SOMEBODY = Context("somebody-else-entirely")


@pytest.fixture
def store_path(tmp_path: Path) -> Path:
    """A store that holds somebody's records."""
    path = tmp_path / "store.sqlite"
    store = BuiltinStore(path=path)
    store.write(SOMEBODY, "The user's locker code is on the note.")
    deleted = store.write(SOMEBODY, "Forget me.").created[0]
    store.delete(SOMEBODY, deleted.id)
    store.record_conversation(SOMEBODY, ["Please remember that I like tea."])
    store.close()
    return path


def contents(path: Path) -> dict[str, list[Any]]:
    with sqlite3.connect(path) as db:
        tables = ("memories", "messages", "tombstones")
        return {table: sorted(db.execute(f"SELECT * FROM {table}").fetchall()) for table in tables}


@pytest.mark.parametrize("defect", list(Defect))
@pytest.mark.parametrize("id", IDS)
@pytest.mark.parametrize("without", [(), (Capability.MEMORY_DELETE,)], ids=["memory", "thread"])
def test_a_finished_run_leaves_nothing(
    store_path: Path, id: str, defect: Defect, without: tuple[Capability, ...]
) -> None:
    before = contents(store_path)
    result = judge(id, lambda: BuiltinStore(defect, store_path), without=without)
    assert contents(store_path) == before
    assert result["status"] == "SKIPPED" or (result["cleanup"]["complete"] and result["cleanup"]["removed"])


def at_call(number: int, operations: list[str], act: Callable[[], None], *, after: bool) -> dict[str, Any]:
    """Twists that ``act`` at call ``number`` of all ``operations``, before or ``after`` its effect."""
    calls = 0

    def twist(original: Callable[..., Any]) -> Callable[..., Any]:
        def operation(*arguments: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls != number:
                return original(*arguments)
            if not after:
                act()
            receipt = original(*arguments)
            if after:
                act()
            return receipt

        return operation

    return dict.fromkeys(operations, twist)


def fail() -> None:
    raise ProviderError("refused")


@pytest.mark.parametrize("after", [False, True], ids=["before its effect", "after its effect"])
@pytest.mark.parametrize("contract", ["memory", "thread"])
@pytest.mark.parametrize("id", IDS)
def test_a_failure_at_any_change_leaves_nothing(
    store_path: Path, id: str, contract: str, after: bool
) -> None:
    without = [Capability.MEMORY_DELETE] if contract == "thread" else []
    before = contents(store_path)
    status = "ERROR"
    number = 0
    while status == "ERROR":
        number += 1
        open_store = twisted(Defect.NONE, store_path, **at_call(number, CHANGES, fail, after=after))
        result = judge(id, open_store, without=without, limits=FAST)
        status = result["status"]
        assert contents(store_path) == before, (number, result["cleanup"])
    assert status == ("SKIPPED" if (id, contract) == ("MT-AF-002", "thread") else "PASS")
    assert number > 3 or status == "SKIPPED"  # so that the failures did reach the trial arm


@pytest.mark.parametrize("number", [1, 2, 5, 12, 30])
def test_a_failure_at_a_look_leaves_nothing(store_path: Path, number: int) -> None:
    before = contents(store_path)
    for id in IDS:
        open_store = twisted(Defect.NONE, store_path, **at_call(number, LOOKS, fail, after=False))
        assert judge(id, open_store, limits=FAST)["status"] == "ERROR"
        assert contents(store_path) == before


@pytest.mark.parametrize("after", [False, True], ids=["before its effect", "after its effect"])
@pytest.mark.parametrize("id", IDS)
def test_a_ctrl_c_at_any_change_leaves_nothing(store_path: Path, id: str, after: bool) -> None:
    before = contents(store_path)
    for number in range(1, 100):
        twists = at_call(number, CHANGES, _thread.interrupt_main, after=after)
        cleanup = None
        try:
            run_scenario(scenarios()[id], twisted(Defect.NONE, store_path, **twists), limits=FAST)
        except Interrupted as interrupted:
            cleanup = interrupted.cleanup
        else:
            break
        assert cleanup is not None
        assert cleanup.complete
        assert contents(store_path) == before, number
    assert number > 3


def test_a_receipt_that_comes_too_late_still_counts(store_path: Path) -> None:
    before = contents(store_path)

    def late(original: Callable[..., Any]) -> Callable[..., Any]:
        def write(*arguments: Any) -> Any:
            threading.Event().wait(0.15)
            return original(*arguments)

        return write

    limits = replace(FAST, call_timeout=0.1)
    result = judge("AF-003", twisted(Defect.NONE, store_path, write=late), limits=limits)
    assert result["status"] == "ERROR"
    assert contents(store_path) == before


def test_what_cannot_be_removed_is_said_with_its_namespace() -> None:
    def stubborn(original: Callable[..., Any]) -> Callable[..., Any]:
        def discard(ctx: Any, record: Any) -> None:
            if record.kind == "memory":
                raise ProviderError("read only")

        return discard

    result = judge("MT-AF-001", twisted(Defect.LATE_WRITE_RESURRECTION, discard=stubborn))
    assert result["status"] == "FAIL"
    assert not result["cleanup"]["complete"]
    assert all("afterlife-" in problem for problem in result["cleanup"]["problems"])


def test_every_operation_stays_in_the_namespaces_of_the_run() -> None:
    seen: set[str] = set()

    def watching(original: Callable[..., Any]) -> Callable[..., Any]:
        def operation(*arguments: Any) -> Any:
            seen.update(each.namespace for each in arguments if isinstance(each, Context))
            return original(*arguments)

        return operation

    for id in IDS:
        judge(id, twisted(**dict.fromkeys([*CHANGES, *LOOKS, "discard"], watching)))
    assert len(seen) == 2 * len(IDS)
    assert all(name.startswith("afterlife-") and name.endswith(("-trial", "-control")) for name in seen)
