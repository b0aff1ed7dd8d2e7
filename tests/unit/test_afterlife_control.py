"""The control arm: what an adapter claims and does not do must never end in a PASS."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from afterdelete.afterlife.capabilities import Capability
from afterdelete.afterlife.protocol import Created, Hit, HookReceipt
from afterdelete.afterlife.systems.builtin import BuiltinStore, Defect
from tests.afterlife_support import claims, judge, twisted


def _memory_claimed(original: Callable[..., Any]) -> Callable[..., Any]:
    return lambda ctx, text: HookReceipt(True, (Created("memory", "mem_1"),))


@pytest.mark.parametrize(
    ("id", "hook", "twist"),
    [
        ("MT-AF-001", "write", _memory_claimed),
        ("MT-AF-001", "begin_pending_write", claims()),
        ("MT-AF-001", "release_pending_writes", claims()),
        ("MT-AF-001", "restart", claims()),
        ("MT-AF-001", "delete", claims()),
        ("MT-AF-002", "record_conversation", claims()),
        ("MT-AF-002", "consolidate", claims()),
        ("MT-AF-002", "start_session", claims()),
        ("MT-AF-002", "restart", claims()),
        ("MT-AF-002", "delete", claims()),
        ("AF-003", "write", _memory_claimed),
    ],
)
def test_a_claim_without_the_deed_is_inconclusive(id: str, hook: str, twist: Any) -> None:
    result = judge(id, twisted(Defect.NONE, **{hook: twist}))
    assert result["status"] == "INCONCLUSIVE"
    held = result["control"]["held"]
    assert held is (hook == "delete")  # a delete is the one thing that the control arm does not do


def test_the_delete_that_does_nothing_fails_where_it_is_the_question() -> None:
    assert judge("AF-003", twisted(delete=claims()))["status"] == "FAIL"


def test_the_same_claims_hide_a_defect_from_the_trial_arm_alone() -> None:
    """Why the control arm is there: without it this store would pass."""
    open_store = twisted(Defect.LATE_WRITE_RESURRECTION, release_pending_writes=claims())
    result = judge("MT-AF-001", open_store)
    assert result["status"] == "INCONCLUSIVE"
    assert result["control"]["held"] is False
    assert "never became visible" in result["reason"]


def test_a_write_that_is_not_held_is_inconclusive() -> None:
    def applied_at_once(original: Callable[..., Any]) -> Callable[..., Any]:
        store = original.__self__  # type: ignore[attr-defined]

        def begin(ctx: Any, content: str, target_id: str | None = None) -> HookReceipt:
            original(ctx, content, target_id)
            return HookReceipt(True, store.release_pending_writes(ctx).created)

        return begin

    result = judge("MT-AF-001", twisted(begin_pending_write=applied_at_once, release_pending_writes=claims()))
    assert result["status"] == "INCONCLUSIVE"


@pytest.mark.parametrize("id", ["MT-AF-001", "MT-AF-002", "AF-003"])
@pytest.mark.parametrize("surface", ["search", "profile"])
def test_a_surface_that_echoes_the_question_is_no_evidence(id: str, surface: str) -> None:
    def echo(original: Callable[..., Any]) -> Callable[..., Any]:
        if surface == "search":
            return lambda ctx, query, limit: [*original(ctx, query, limit), Hit("0", f"nothing for {query}")]
        return lambda ctx, name, query: [Hit("0", f"nothing for {query}")]

    result = judge(id, twisted(**{"search" if surface == "search" else "inspect_surface": echo}))
    assert result["status"] == "INCONCLUSIVE"
    assert f"a marker that was never written appeared on {surface}" in result["reason"]


def test_a_store_that_forgets_by_itself_is_no_evidence() -> None:
    def forgetful(original: Callable[..., Any]) -> Callable[..., Any]:
        store = original.__self__  # type: ignore[attr-defined]
        looks: dict[str, int] = {}

        def search(ctx: Any, query: str, limit: int) -> Any:
            hits = original(ctx, query, limit)
            looks[ctx.namespace] = looks.get(ctx.namespace, 0) + bool(hits)
            if looks[ctx.namespace]:
                store._run("DELETE FROM memories WHERE namespace = ?", ctx.namespace)
            return hits

        return search

    result = judge("AF-003", twisted(search=forgetful))
    assert result["status"] == "INCONCLUSIVE"
    assert "went away by itself" in result["reason"]


@pytest.mark.parametrize("id", ["MT-AF-001", "MT-AF-002"])
def test_a_restart_that_wipes_everything_is_no_evidence(id: str) -> None:
    def wiping(original: Callable[..., Any]) -> Callable[..., Any]:
        store = original.__self__  # type: ignore[attr-defined]

        def restart() -> HookReceipt:
            store._run("DELETE FROM memories")
            return original()  # type: ignore[no-any-return]

        return restart

    result = judge(id, twisted(restart=wiping))
    assert result["status"] == "INCONCLUSIVE"
    assert "did not survive the restart" in result["reason"]
    assert judge(id, twisted(restart=wiping), without=[Capability.LIFECYCLE_RESTART])["status"] == "PASS"


def test_a_session_start_that_claims_nothing_needs_no_ingestion() -> None:
    def quiet(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda ctx: HookReceipt(True, processed=0)

    result = judge("MT-AF-002", twisted(start_session=quiet))
    assert result["status"] == "PASS"
    probe = next(each for each in result["control"]["events"] if each["action"] == "session_start_probe")
    assert probe["detail"] == "the memory of the later message is visible nowhere"


def test_the_control_arm_and_the_trial_arm_drive_the_same_events() -> None:
    for id in ("MT-AF-001", "MT-AF-002"):
        result = judge(id, BuiltinStore)
        hooks = {each["action"] for each in result["afterlife"]["events"] if "marker_visible" not in each}
        control = {each["action"] for each in result["control"]["events"]}
        assert hooks - {"delete"} <= control
        assert "delete" not in control
