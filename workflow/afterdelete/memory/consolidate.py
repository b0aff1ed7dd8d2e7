"""Stage ``consolidated``: derived state made from raw records."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, get_args

from afterdelete.core.canonical import sha256_text
from afterdelete.core.errors import AfterDeleteError
from afterdelete.memory.state import Record, State, Summary

Memory = Literal["flat", "hierarchical"]
MEMORIES: tuple[str, ...] = get_args(Memory)
SEPARATOR = "\n"


def consolidate(state: State, memory: str) -> State:
    """``flat`` keeps raw records only; ``hierarchical`` adds one extractive summary of all of them.

    Raises AfterDeleteError for an unknown memory.
    """
    if memory not in MEMORIES:
        raise AfterDeleteError(f"unknown memory {memory!r}", f"use one of: {', '.join(MEMORIES)}")
    if memory == "flat":
        return state
    return state.with_(summaries=(summarise("s-01", state.records),))


def summarise(summary_id: str, records: Iterable[Record]) -> Summary:
    """Extractive summary: texts in entry_id order, joined verbatim by a newline, lineage complete."""
    ordered = sorted(records, key=lambda record: record.entry_id)
    return Summary(
        summary_id=summary_id,
        text=SEPARATOR.join(record.text for record in ordered),
        source_ids=tuple(record.entry_id for record in ordered),
        source_digests=tuple(sha256_text(record.text) for record in ordered),
    )
