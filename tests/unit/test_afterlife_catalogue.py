"""The scenario table, the code and the decision record say the same."""

from __future__ import annotations

import pytest

from afterdelete.afterlife.capabilities import OPERATIONS, Capability
from afterdelete.afterlife.catalogue import scenarios
from afterdelete.afterlife.declared import believed
from afterdelete.afterlife.protocol import Description, MemoryAdapter, MemoryLifecycleHooks
from afterdelete.afterlife.report_html import _TITLES
from afterdelete.afterlife.scenarios import SCRIPTS
from afterdelete.afterlife.systems.builtin import BuiltinStore
from tests.afterlife_support import ROOT, always, judge, twisted


def test_every_row_has_code_and_a_label_of_its_own() -> None:
    assert list(scenarios()) == list(SCRIPTS) == ["MT-AF-001", "MT-AF-002", "AF-003"]
    labels = [scenario.failure_label for scenario in scenarios().values()]
    assert labels == ["late_write_resurrected", "history_reingestion_resurrected", "visible_after_delete"]


def test_the_decision_record_names_every_row() -> None:
    text = (ROOT / "docs" / "decisions" / "0001-afterlife-scenarios.md").read_text(encoding="utf-8")
    assert all(id in text for id in scenarios())


def test_the_rows_require_what_the_seed_says() -> None:
    needs = {
        id: ({str(each) for each in row.requires.all}, [{*map(str, group)} for group in row.requires.any])
        for id, row in scenarios().items()
    }
    assert needs["MT-AF-001"] == (
        {"MEMORY_WRITE", "MEMORY_SEARCH", "LIFECYCLE_PENDING_WRITES"},
        [{"MEMORY_DELETE", "THREAD_DELETE"}],
    )
    assert needs["MT-AF-002"] == (
        {"MEMORY_SEARCH", "MEMORY_DELETE", "LIFECYCLE_CONVERSATION"},
        [{"LIFECYCLE_NEW_SESSION", "LIFECYCLE_CONSOLIDATE"}],
    )


@pytest.mark.parametrize("id", ["MT-AF-001", "MT-AF-002", "AF-003"])
@pytest.mark.parametrize(
    "without",
    [(), ("LIFECYCLE_RESTART",), ("LIFECYCLE_NEW_SESSION",), ("LIFECYCLE_CONSOLIDATE", "LIFECYCLE_RESTART")],
)
def test_a_run_does_the_steps_of_its_row(id: str, without: tuple[str, ...]) -> None:
    left_out = [Capability(name) for name in without]
    result = judge(id, BuiltinStore, without=left_out)
    steps = [(event["phase"], event["action"]) for event in result["afterlife"]["events"]]
    capabilities = frozenset(Capability) - set(left_out)
    assert steps == [(str(phase), action) for phase, action in scenarios()[id].planned(capabilities)]
    assert {action for _, action in steps} <= set(_TITLES)
    assert {event["action"] for event in result["control"]["events"]} <= set(_TITLES)


def test_every_capability_has_its_operations() -> None:
    assert set(OPERATIONS) == set(Capability)


class Plain(MemoryAdapter):
    """Declares everything, and implements three operations and no hooks."""

    def describe(self) -> Description:
        return Description("plain", "1")

    def capabilities(self) -> frozenset[str]:
        return frozenset({*Capability, "LIFECYCLE_TELEPORT"})

    write = BuiltinStore.write
    search = BuiltinStore.search


class Partly(Plain, MemoryLifecycleHooks):
    """Implements one of two hooks of a capability, and another whole one."""

    begin_pending_write = BuiltinStore.begin_pending_write
    consolidate = BuiltinStore.consolidate


def test_declarations_without_code_are_dropped_and_said_so() -> None:
    found = believed(Plain())
    assert found.capabilities == {Capability.MEMORY_WRITE, Capability.MEMORY_SEARCH}
    reasons = {each.capability: each.reason for each in found.dropped}
    assert reasons["LIFECYCLE_CONSOLIDATE"] == "the adapter does not implement MemoryLifecycleHooks"
    assert reasons["MEMORY_DELETE"] == "declared, but delete is not implemented"
    assert reasons["LIFECYCLE_TELEPORT"] == "unknown to this version of the test"
    assert len(found.capabilities) + len(found.dropped) == len(Capability) + 1


def test_a_capability_needs_all_its_hooks() -> None:
    found = believed(Partly())
    assert Capability.LIFECYCLE_CONSOLIDATE in found.capabilities
    reasons = {each.capability: each.reason for each in found.dropped}
    assert reasons["LIFECYCLE_PENDING_WRITES"] == "declared, but release_pending_writes is not implemented"


def test_what_is_not_declared_is_not_used() -> None:
    result = judge("AF-003", twisted(capabilities=always(frozenset({"MEMORY_WRITE", "MEMORY_SEARCH"}))))
    assert result["status"] == "SKIPPED"
    assert result["capabilities"]["used"] == ["MEMORY_SEARCH", "MEMORY_WRITE"]
