"""The verdict rules: which status each situation ends in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from afterdelete.afterlife.capabilities import Capability
from afterdelete.afterlife.catalogue import scenarios
from afterdelete.afterlife.protocol import HookReceipt, ProviderError
from afterdelete.afterlife.systems.builtin import BuiltinStore, Defect
from afterdelete.afterlife.verdict import Status, exit_code
from tests.afterlife_support import QUICK, always, judge, raising, twisted

D = Defect
MATRIX = {
    (D.NONE, "MT-AF-001"): ("PASS", None),
    (D.NONE, "MT-AF-002"): ("PASS", None),
    (D.NONE, "AF-003"): ("PASS", None),
    (D.LATE_WRITE_RESURRECTION, "MT-AF-001"): ("FAIL", "release_pending_writes"),
    (D.LATE_WRITE_RESURRECTION, "MT-AF-002"): ("PASS", None),
    (D.LATE_WRITE_RESURRECTION, "AF-003"): ("PASS", None),
    (D.HISTORY_REINGESTION, "MT-AF-001"): ("PASS", None),
    (D.HISTORY_REINGESTION, "MT-AF-002"): ("FAIL", "start_session"),
    (D.HISTORY_REINGESTION, "AF-003"): ("PASS", None),
    (D.DELETE_WITHOUT_EFFECT, "MT-AF-001"): ("INCONCLUSIVE", None),
    (D.DELETE_WITHOUT_EFFECT, "MT-AF-002"): ("INCONCLUSIVE", None),
    (D.DELETE_WITHOUT_EFFECT, "AF-003"): ("FAIL", None),
}
HOOKS = {
    "MT-AF-001": ("write", "begin_pending_write", "delete", "release_pending_writes", "restart"),
    "MT-AF-002": ("record_conversation", "consolidate", "delete", "start_session", "restart"),
    "AF-003": ("write", "delete"),
}
EACH_HOOK = [(id, hook) for id, hooks in HOOKS.items() for hook in hooks]
IDS = list(HOOKS)


@pytest.mark.parametrize(("defect", "id"), MATRIX, ids=lambda value: str(value))
def test_the_built_in_store_fails_on_its_own_defect_only(defect: Defect, id: str) -> None:
    result = judge(id, lambda: BuiltinStore(defect))
    status, trigger = MATRIX[defect, id]
    assert (result["status"], result["afterlife"]["resurrection_trigger"]) == (status, trigger)
    assert result["label"] == (scenarios()[id].failure_label if status == "FAIL" else None)
    assert result["cleanup"]["complete"]


def test_a_failure_names_the_event_as_the_seed_numbers_it() -> None:
    afterlife = judge("MT-AF-001", lambda: BuiltinStore(D.LATE_WRITE_RESURRECTION))["afterlife"]
    assert [(event["seq"], event["action"]) for event in afterlife["events"][3:]] == [
        (4, "delete"),
        (5, "immediate_check"),
        (6, "release_pending_writes"),
        (7, "after_release"),
    ]
    assert afterlife["first_resurrection_event"] == 7
    assert afterlife["events"][6]["surfaces"] == ["search", "profile"]
    assert afterlife["hooks_executed"] == ["release_pending_writes"]
    assert afterlife["deletion_contract"] == "memory_record"


def test_a_resurrection_by_restart_names_the_restart() -> None:
    def late(original: Callable[..., Any]) -> Callable[..., Any]:
        store = original.__self__  # type: ignore[attr-defined]
        held: list[tuple[Any, str, str | None]] = []

        def begin(ctx: Any, content: str, target_id: str | None = None) -> HookReceipt:
            held.append((ctx, content, target_id))
            return HookReceipt(True)

        def release(ctx: Any) -> HookReceipt:
            done = [each for each in held if each[0] == ctx]
            if "control" in ctx.namespace:
                store._land(*done[0])
            return HookReceipt(True, processed=len(done))

        def restart() -> HookReceipt:
            for ctx, content, target in held:
                if "trial" in ctx.namespace:
                    store._add_memory(ctx.namespace, target, content)
            store._instance += "again"
            return HookReceipt(True)

        store.release_pending_writes, store.restart = release, restart
        return begin

    result = judge("MT-AF-001", twisted(begin_pending_write=late))
    assert (result["status"], result["afterlife"]["resurrection_trigger"]) == ("FAIL", "restart")
    assert result["afterlife"]["first_resurrection_event"] == 9


@pytest.mark.parametrize(
    ("id", "capability"),
    [
        ("MT-AF-001", Capability.MEMORY_WRITE),
        ("MT-AF-001", Capability.MEMORY_SEARCH),
        ("MT-AF-001", Capability.LIFECYCLE_PENDING_WRITES),
        ("MT-AF-002", Capability.MEMORY_SEARCH),
        ("MT-AF-002", Capability.MEMORY_DELETE),
        ("MT-AF-002", Capability.LIFECYCLE_CONVERSATION),
        ("AF-003", Capability.MEMORY_WRITE),
    ],
)
def test_lacking_what_a_scenario_requires_is_skipped(id: str, capability: Capability) -> None:
    result = judge(id, BuiltinStore, without=[capability])
    assert result["status"] == "SKIPPED"
    assert capability in result["reason"]
    assert {"capability": str(capability), "reason": "left out by the configuration (without)"} in (
        result["capabilities"]["dropped"]
    )


@pytest.mark.parametrize("id", ["MT-AF-001", "AF-003"])
def test_lacking_every_deletion_contract_is_skipped(id: str) -> None:
    result = judge(id, BuiltinStore, without=[Capability.MEMORY_DELETE, Capability.THREAD_DELETE])
    assert result["status"] == "SKIPPED"
    assert "MEMORY_DELETE or THREAD_DELETE" in result["reason"]


def test_either_kind_of_ingestion_is_enough_and_none_is_skipped() -> None:
    session, cycle = Capability.LIFECYCLE_NEW_SESSION, Capability.LIFECYCLE_CONSOLIDATE
    for without in ([session], [cycle]):
        assert judge("MT-AF-002", BuiltinStore, without=without)["status"] == "PASS"
    assert judge("MT-AF-002", BuiltinStore, without=[session, cycle])["status"] == "SKIPPED"


@pytest.mark.parametrize(
    ("without", "trigger"), [("CONSOLIDATE", "start_session"), ("NEW_SESSION", "consolidate")]
)
def test_reingestion_is_found_by_whichever_event_there_is(without: str, trigger: str) -> None:
    result = judge(
        "MT-AF-002",
        lambda: BuiltinStore(D.HISTORY_REINGESTION),
        without=[Capability(f"LIFECYCLE_{without}")],
    )
    assert (result["status"], result["afterlife"]["resurrection_trigger"]) == ("FAIL", trigger)


@pytest.mark.parametrize("id", IDS)
def test_a_marker_that_was_never_retrievable_is_inconclusive(id: str) -> None:
    result = judge(id, twisted(search=always([]), inspect_surface=always([])))
    assert result["status"] == "INCONCLUSIVE"
    assert "never retrievable" in result["reason"]


@pytest.mark.parametrize("id", ["MT-AF-001", "MT-AF-002"])
def test_a_marker_that_is_still_there_after_the_delete_is_no_resurrection(id: str) -> None:
    result = judge(id, lambda: BuiltinStore(D.DELETE_WITHOUT_EFFECT))
    assert result["status"] == "INCONCLUSIVE"
    assert "run AF-003, this is not resurrection" in result["reason"]
    assert not result["afterlife"]["resurrected"]


@pytest.mark.parametrize(("id", "hook"), EACH_HOOK)
def test_an_event_that_did_not_take_place_is_inconclusive(id: str, hook: str) -> None:
    result = judge(id, twisted(**{hook: always(HookReceipt(False))}))
    assert result["status"] == "INCONCLUSIVE"
    assert "did not run" in result["reason"]


@pytest.mark.parametrize("processed", [None, 0])
def test_a_release_that_did_not_process_the_held_write_is_inconclusive(processed: int | None) -> None:
    def unsure(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda ctx: HookReceipt(True, original(ctx).created, processed)

    result = judge("MT-AF-001", twisted(release_pending_writes=unsure))
    assert result["status"] == "INCONCLUSIVE"
    assert "held write" in result["reason"]


@pytest.mark.parametrize("defect", [D.NONE, D.HISTORY_REINGESTION])
def test_an_ingestion_without_effect_after_the_delete_is_inconclusive_unless_the_marker_is_back(
    defect: Defect,
) -> None:
    def stops_after_delete(original: Callable[..., Any]) -> Callable[..., Any]:
        store = original.__self__  # type: ignore[attr-defined]

        def consolidate(ctx: Any) -> HookReceipt:
            is_buried = bool(store._all("SELECT 1 FROM tombstones WHERE namespace = ?", ctx.namespace))
            if is_buried:  # forgets the later message; the defect still rebuilds the deleted one
                store._run(
                    "DELETE FROM messages WHERE namespace = ? AND text LIKE '%Thursday%'", ctx.namespace
                )
            return original(ctx)  # type: ignore[no-any-return]

        return consolidate

    open_store = twisted(defect, consolidate=stops_after_delete)
    result = judge("MT-AF-002", open_store, without=[Capability.LIFECYCLE_NEW_SESSION])
    if defect is D.NONE:
        assert result["status"] == "INCONCLUSIVE"
        assert "did not turn the unrelated message into a memory" in result["reason"]
    else:
        assert (result["status"], result["afterlife"]["resurrection_trigger"]) == ("FAIL", "consolidate")


@pytest.mark.parametrize(("id", "hook"), [*EACH_HOOK, *((id, "search") for id in IDS)])
@pytest.mark.parametrize("error", [ProviderError("no quota"), ValueError("boom")], ids=["provider", "any"])
def test_a_provider_error_is_an_error(id: str, hook: str, error: Exception) -> None:
    result = judge(id, twisted(**{hook: raising(error)}))
    assert result["status"] == "ERROR"
    assert hook in result["reason"]
    assert str(error) in result["reason"]


def test_a_pass_needs_every_event_of_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    from afterdelete.afterlife.scenarios import SCRIPTS, Script

    script = SCRIPTS["AF-003"]
    monkeypatch.setitem(SCRIPTS, "AF-003", Script(script.control, lambda arm: None))
    result = judge("AF-003", BuiltinStore)
    assert (result["status"], result["reason"]) == (
        "INCONCLUSIVE",
        "not every event of the scenario took place",
    )


def test_a_delete_that_takes_effect_within_the_window_passes() -> None:
    def lagging(original: Callable[..., Any]) -> Callable[..., Any]:
        last: dict[str, Any] = {}

        def search(ctx: Any, query: str, limit: int) -> Any:
            shown = last.get(query, [])
            last[query] = original(ctx, query, limit)
            return shown  # a replica that is one look behind

        return search

    for id in IDS:
        assert judge(id, twisted(search=lagging))["status"] == "PASS"


def test_an_absence_must_settle_before_it_counts() -> None:
    """Replicas that take turns: every second look still sees the marker, at the end of the window too."""

    def alternating(original: Callable[..., Any]) -> Callable[..., Any]:
        store = original.__self__  # type: ignore[attr-defined]
        texts: dict[str, Any] = {}
        looks = 0

        def search(ctx: Any, query: str, limit: int) -> Any:
            nonlocal looks
            hits = original(ctx, query, limit)
            if hits:
                texts[query] = hits
            elif query in texts and store._all("SELECT 1 FROM tombstones"):
                looks += 1
                return texts[query] if looks % 2 else []
            return hits

        return search

    open_store = twisted(search=alternating)
    failed = judge("AF-003", open_store, without=[Capability.LIFECYCLE_SURFACES])
    assert (failed["status"], failed["event"], failed["afterlife"]["resurrected"]) == ("FAIL", 4, False)
    assert judge("MT-AF-001", open_store, without=[Capability.LIFECYCLE_SURFACES])["status"] == "INCONCLUSIVE"


def test_a_marker_that_returns_by_itself_within_the_next_window_fails_af_003() -> None:
    def returning(original: Callable[..., Any]) -> Callable[..., Any]:
        store = original.__self__  # type: ignore[attr-defined]
        texts: dict[str, str] = {}
        looks = 0

        def search(ctx: Any, query: str, limit: int) -> Any:
            nonlocal looks
            hits = original(ctx, query, limit)
            buried = store._all("SELECT id FROM tombstones WHERE namespace = ?", ctx.namespace)
            if hits:
                texts[ctx.namespace] = hits[0].text
            elif buried and query in texts.get(ctx.namespace, ""):
                looks += 1
                if looks == 5:
                    store._add_memory(ctx.namespace, buried[0][0], texts[ctx.namespace])
            return hits

        return search

    result = judge("AF-003", twisted(search=returning))
    assert (result["status"], result["label"]) == ("FAIL", "visible_after_delete")
    assert result["afterlife"]["first_resurrection_event"] == 5


S = Status


@pytest.mark.parametrize(
    ("statuses", "code"),
    [
        ([S.PASS], 0),
        ([S.PASS, S.SKIPPED], 0),
        ([], 3),
        ([S.SKIPPED], 3),
        ([S.PASS, S.INCONCLUSIVE], 3),
        ([S.PASS, S.INCONCLUSIVE, S.ERROR], 4),
        ([S.PASS, S.INCONCLUSIVE, S.ERROR, S.FAIL], 1),
    ],
)
def test_exit_codes(statuses: list[Status], code: int) -> None:
    assert exit_code(statuses) == code


def test_a_pass_covers_the_whole_window_after_every_event() -> None:
    result = judge("MT-AF-001", BuiltinStore)
    times = {event["action"]: event["elapsed_ms"] for event in result["afterlife"]["events"]}
    window = QUICK.window * 1000
    assert times["after_release"] - times["release_pending_writes"] >= window - 1
    assert times["after_restart"] - times["restart"] >= window - 1
