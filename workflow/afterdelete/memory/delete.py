"""Stage ``deleted``: what a deletion request removes, and the check that it did just that.

``exact``    the source records; older summaries stay as they are.
``closure``  also retires every summary whose recorded sources include a removed id, and rebuilds it once
             from the records that survive.
``group``    the source records and their declared neighbours; drops any summary that holds a removed
             record's text verbatim.
``none``     nothing (the retained world).
"""

from __future__ import annotations

from typing import Literal, get_args

from afterdelete.core.errors import AfterDeleteError
from afterdelete.memory.consolidate import summarise
from afterdelete.memory.state import Record, State, Summary

Deletion = Literal["exact", "closure", "group"]
DELETIONS: tuple[str, ...] = get_args(Deletion)
NO_DELETION = "none"


def delete(state: State, deletion: str) -> State:
    """Apply ``deletion`` to one state and verify the result.

    Raises AfterDeleteError for an unknown deletion, for a source that was never there, and when the
    outcome is not what the deletion promises.
    """
    if deletion == NO_DELETION:
        return state
    if deletion not in DELETIONS:
        raise AfterDeleteError(f"unknown deletion {deletion!r}", f"use one of: {', '.join(DELETIONS)}")
    removed = set(state.source_ids)
    if deletion == "group":
        removed |= set(state.neighbour_ids)
    gone = [record for record in state.records if record.entry_id in removed]
    if {record.entry_id for record in gone} != removed:
        raise AfterDeleteError(
            f"{state.profile_id}: a record addressed by the deletion is not in memory",
            "the worlds artifact does not belong to these profiles; delete it and run again",
        )
    survivors = tuple(record for record in state.records if record.entry_id not in removed)
    after = state.with_(records=survivors, summaries=_summaries(state, deletion, gone, survivors))
    verify(state, after, deletion, removed)
    return after


def _summaries(
    state: State, deletion: str, gone: list[Record], survivors: tuple[Record, ...]
) -> tuple[Summary, ...]:
    if deletion == "exact":
        return state.summaries
    if deletion == "group":
        return tuple(s for s in state.summaries if not any(record.text in s.text for record in gone))
    removed = {record.entry_id for record in gone}
    rebuilt = []
    for summary in state.summaries:
        if removed.isdisjoint(summary.source_ids):
            rebuilt.append(summary)
            continue
        sources = [record for record in survivors if record.entry_id in summary.source_ids]
        if sources:
            rebuilt.append(summarise(f"{summary.summary_id}-r", sources))
    return tuple(rebuilt)


def verify(before: State, after: State, deletion: str, removed: set[str]) -> None:
    """Check that the addressed records are gone and that nothing else changed."""
    survivors = tuple(record for record in before.records if record.entry_id not in removed)
    if any(record.entry_id in removed for record in after.records):
        raise _broken(before, "an addressed record is still there")
    if after.records != survivors:
        raise _broken(before, "a record that was not addressed changed")
    if deletion == "exact" and after.summaries != before.summaries:
        raise _broken(before, "exact deletion changed a summary")
    if deletion == "closure" and any(removed.intersection(s.source_ids) for s in after.summaries):
        raise _broken(before, "a summary still names a removed record as its source")


def _broken(state: State, what: str) -> AfterDeleteError:
    return AfterDeleteError(f"{state.profile_id}: deletion failed its check: {what}", "report this as a bug")
