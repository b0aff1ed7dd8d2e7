"""Consolidation and deletion: what each promises, over arbitrary memories."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given

from afterdelete.core.errors import AfterDeleteError
from afterdelete.memory.consolidate import consolidate, summarise
from afterdelete.memory.delete import delete, verify
from afterdelete.memory.state import Record, State, from_table, to_table
from tests.unit.conftest import states


@given(states())
def test_state_survives_its_table(state: State) -> None:
    state = consolidate(state, "hierarchical").with_(written=(Record("w-01", "x"),))
    assert from_table(to_table([state])) == [state]


@given(states())
def test_summary_is_verbatim_in_entry_id_order(state: State) -> None:
    shuffled = state.with_(records=tuple(reversed(state.records)))
    summary = consolidate(shuffled, "hierarchical").summaries[0]
    assert summary.text == "\n".join(record.text for record in state.records)
    assert list(summary.source_ids) == sorted(record.entry_id for record in state.records)
    assert consolidate(state, "flat").summaries == ()


@given(states())
def test_exact_leaves_every_summary_byte_identical(state: State) -> None:
    before = consolidate(state, "hierarchical")
    after = delete(before, "exact")
    assert after.summaries == before.summaries
    assert {r.entry_id for r in before.records} - {r.entry_id for r in after.records} == set(state.source_ids)


@given(states())
def test_closure_names_no_removed_source_and_loses_no_survivor(state: State) -> None:
    before = consolidate(state, "hierarchical")
    after = delete(before, "closure")
    removed = set(state.source_ids)
    survivors = [record for record in before.records if record.entry_id not in removed]
    assert not any(removed.intersection(summary.source_ids) for summary in after.summaries)
    assert list(after.records) == survivors
    rebuilt = "\n".join(summary.text for summary in after.summaries)
    assert rebuilt == "\n".join(record.text for record in survivors)


def test_closure_leaves_an_unrelated_summary_alone_and_drops_an_emptied_one() -> None:
    records = (Record("r-01", "a"), Record("r-02", "b"), Record("r-03", "c"))
    state = State("p", 0, "Ada", "robotics", "code", records, source_ids=("r-01",), neighbour_ids=("r-02",))
    state = state.with_(
        summaries=(summarise("s-01", records[:1]), summarise("s-02", records[1:]), summarise("s-03", records))
    )
    after = delete(state, "closure")
    assert [summary.text for summary in after.summaries] == ["b\nc", "b\nc"]
    assert after.summaries[0] == state.summaries[1]


@given(states())
def test_group_takes_neighbours_and_every_summary_that_quotes_them(state: State) -> None:
    before = consolidate(state, "hierarchical")
    after = delete(before, "group")
    removed = set(state.source_ids) | set(state.neighbour_ids)
    assert {r.entry_id for r in after.records} == {r.entry_id for r in before.records} - removed
    assert after.summaries == ()


@given(states())
def test_deletion_refuses_a_source_that_is_not_there(state: State) -> None:
    lost = state.with_(source_ids=("r-99",))
    with pytest.raises(AfterDeleteError, match="not in memory"):
        delete(lost, "exact")


@given(states())
def test_verification_sees_a_changed_survivor(state: State) -> None:
    after = delete(state, "exact")
    first = after.records[0]
    changed = (dataclasses.replace(first, text=first.text + "x"), *after.records[1:])
    with pytest.raises(AfterDeleteError, match="not addressed changed"):
        verify(state, after.with_(records=changed), "exact", set(state.source_ids))


@pytest.mark.parametrize("call", [lambda s: delete(s, "soft"), lambda s: consolidate(s, "graph")])
def test_unknown_names_say_what_is_known(call) -> None:  # type: ignore[no-untyped-def]
    state = State("p", 0, "Ada", "robotics", "code", (Record("r-01", "a"),))
    with pytest.raises(AfterDeleteError, match="use one of"):
        call(state)
