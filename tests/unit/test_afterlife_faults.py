"""A store that hangs, dies, floods or answers nonsense: a stated status in time, never a PASS."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from afterdelete.afterlife.protocol import Created, Hit, HookReceipt, ProviderError, Surface
from afterdelete.afterlife.systems.builtin import BuiltinStore
from tests.afterlife_support import QUICK, always, judge, raising, twisted

IDS = ["MT-AF-001", "MT-AF-002", "AF-003"]
RECEIPTS = ["write", "delete", "begin_pending_write", "release_pending_writes", "record_conversation"]
RECEIPTS += ["consolidate", "start_session", "restart"]
LOOKS = ["search", "inspect_surface"]
USED = {
    "MT-AF-001": {"write", "delete", "begin_pending_write", "release_pending_writes", "restart", *LOOKS},
    "MT-AF-002": {"record_conversation", "consolidate", "start_session", "delete", "restart", *LOOKS},
    "AF-003": {"write", "delete", *LOOKS},
}
EVERYWHERE = [(id, operation) for id in IDS for operation in sorted(USED[id])]
TIGHT = replace(QUICK, call_timeout=0.15)


def hanging(original: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *arguments: threading.Event().wait(5)


@pytest.mark.parametrize(("id", "operation"), EVERYWHERE)
def test_a_hang_is_an_error_in_time(id: str, operation: str) -> None:
    started = time.monotonic()
    result = judge(id, twisted(**{operation: hanging}), limits=TIGHT)
    assert result["status"] == "ERROR"
    assert "it did not return in time" in result["reason"]
    assert time.monotonic() - started < 4


def test_a_store_that_is_slow_in_every_call_runs_out_of_budget() -> None:
    def slow(original: Callable[..., Any]) -> Callable[..., Any]:
        def operation(*arguments: Any) -> Any:
            time.sleep(0.05)
            return original(*arguments)

        return operation

    limits = replace(QUICK, budget=0.2)
    result = judge("MT-AF-001", twisted(search=slow, inspect_surface=slow), limits=limits)
    assert (result["status"], "time budget" in result["reason"]) == ("ERROR", True)


@pytest.mark.parametrize("id", IDS)
@pytest.mark.parametrize(
    ("operation", "limit"),
    [("search", "at most 50 are allowed"), ("inspect_surface", "at most 1000 are allowed")],
)
def test_ten_thousand_results_are_an_error(id: str, operation: str, limit: str) -> None:
    flood = [Hit(str(number), "unrelated") for number in range(10_000)]
    result = judge(id, twisted(**{operation: always(flood)}))
    assert result["status"] == "ERROR"
    assert "10000 entries" in result["reason"]
    assert limit in result["reason"]


def test_a_flood_that_begins_after_the_delete_is_an_error_too() -> None:
    def flooding(original: Callable[..., Any]) -> Callable[..., Any]:
        store = original.__self__  # type: ignore[attr-defined]

        def search(ctx: Any, query: str, limit: int) -> Any:
            buried = store._all("SELECT 1 FROM tombstones WHERE namespace = ?", ctx.namespace)
            return [Hit(str(n), "x") for n in range(10_000)] if buried else original(ctx, query, limit)

        return search

    assert judge("AF-003", twisted(search=flooding))["status"] == "ERROR"


NONSENSE = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.text(max_size=5),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
    st.lists(st.one_of(st.none(), st.integers(), st.text(max_size=3)), min_size=1, max_size=3),
    st.builds(Hit, st.one_of(st.none(), st.just("")), st.none()),
    st.builds(lambda bad: HookReceipt(bad), st.one_of(st.none(), st.integers(), st.text(max_size=3))),
    st.builds(lambda bad: HookReceipt(True, bad), st.one_of(st.none(), st.text(max_size=2), st.just([1]))),
    st.builds(
        lambda bad: HookReceipt(True, (), bad), st.one_of(st.just(-1), st.text(max_size=2), st.just(1.5))
    ),
    st.builds(lambda bad: HookReceipt(True, (Created(bad, "x"),)), st.one_of(st.none(), st.just("A B"))),
    st.builds(lambda size: HookReceipt(True, (Created("memory", "x"),) * size), st.just(5000)),
)


@settings(max_examples=25, deadline=None)
@given(operation=st.sampled_from(RECEIPTS + LOOKS), value=NONSENSE)
def test_nonsense_is_never_a_pass_and_never_raises(operation: str, value: Any) -> None:
    id = "MT-AF-002" if operation in USED["MT-AF-002"] else "MT-AF-001"
    assert judge(id, twisted(**{operation: always(value)}))["status"] == "ERROR"


@pytest.mark.parametrize(
    "surfaces",
    [None, "profile", [1], [Surface("Bad Name")], [Surface("a"), Surface("a")], [Surface("s")] * 99],
)
def test_nonsense_about_surfaces_is_an_error(surfaces: Any) -> None:
    assert judge("AF-003", twisted(retrieval_surfaces=always(surfaces)))["status"] == "ERROR"


@pytest.mark.parametrize("operation", ["describe", "capabilities"])
def test_nonsense_about_oneself_is_an_error(operation: str) -> None:
    result = judge("AF-003", twisted(**{operation: always(7)}))
    assert result["status"] == "ERROR"
    assert "afterlife" not in result


@pytest.mark.parametrize("error", [SystemExit(3), RecursionError("deep"), MemoryError()])
def test_whatever_an_adapter_raises_is_an_error(error: BaseException) -> None:
    result = judge("AF-003", twisted(write=raising(error)))
    assert (result["status"], type(error).__name__ in result["reason"]) == ("ERROR", True)


def test_an_adapter_that_dies_between_delete_and_release_is_an_error() -> None:
    def dying(original: Callable[..., Any]) -> Callable[..., Any]:
        store = original.__self__  # type: ignore[attr-defined]

        def delete(*arguments: Any) -> Any:
            receipt = original(*arguments)
            for name in ("search", "inspect_surface", "release_pending_writes"):
                setattr(store, name, raising(ConnectionResetError("gone"))(delete))
            return receipt

        return delete

    result = judge("MT-AF-001", twisted(delete=dying))
    assert result["status"] == "ERROR"
    assert result["afterlife"]["events"][-1]["action"] == "delete"
    assert not result["cleanup"]["complete"]
    assert any("afterlife-" in problem for problem in result["cleanup"]["problems"])


@pytest.mark.parametrize("twist", [raising(OSError("busy")), raising(ProviderError("busy"))])
def test_an_adapter_that_cannot_be_closed_keeps_its_verdict(twist: Any) -> None:
    result = judge("AF-003", twisted(close=twist))
    assert result["status"] == "PASS"
    assert any("busy" in problem for problem in result["cleanup"]["problems"])


def test_a_system_that_does_not_start_is_an_error_without_an_arm() -> None:
    def broken() -> BuiltinStore:
        raise ProviderError("no such program")

    result = judge("AF-003", broken)
    assert (result["status"], result["reason"], result["cleanup"]) == ("ERROR", "no such program", None)
