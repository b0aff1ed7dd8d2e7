"""Stage ``commit``: propose what was recovered as a write, through the gate.

Whatever an auditor submitted is proposed, right or wrong, in any world. An accepted candidate becomes one
raw record by a fixed template, with an id that sorts last; nothing is consolidated again.
"""

from __future__ import annotations

from afterdelete.core.errors import AfterDeleteError
from afterdelete.memory.gate import Decision, parse_candidate
from afterdelete.memory.state import Record, State

WRITTEN_ID = "w-01"
TEMPLATE = "My {attribute} is {value}."


def written_text(attribute: str, value: str) -> str:
    """The text of an accepted candidate; braces in the value are kept as they are."""
    return TEMPLATE.replace("{attribute}", attribute).replace("{value}", value)


def apply(state: State, candidate: str | None, decision: Decision) -> State:
    """The store after the decision: unchanged unless it is ``accepted``.

    Raises AfterDeleteError if an existing id would sort after the written one.
    """
    if decision != "accepted" or candidate is None:
        return state
    pair = parse_candidate(candidate)
    if pair is None:
        raise AfterDeleteError(
            f"{state.profile_id}: an unparseable candidate was accepted", "report this as a bug"
        )
    if any(record.entry_id >= WRITTEN_ID for record in state.records):
        raise AfterDeleteError(
            f"{state.profile_id}: an entry id sorts after {WRITTEN_ID}", "rename that entry"
        )
    return state.with_(written=(Record(WRITTEN_ID, written_text(*pair)),))
