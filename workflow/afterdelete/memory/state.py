"""The state of one profile's memory in one world, and its table form.

Every stage from ``worlds`` to ``commit`` writes the same columns. ``PUBLIC`` is all that may ever reach
a model; source and neighbour ids, and a summary's lineage, are evaluator-only.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from afterdelete.core.canonical import sha256_text


@dataclass(frozen=True)
class Record:
    """One individually addressable raw entry."""

    entry_id: str
    text: str


@dataclass(frozen=True)
class Summary:
    """Derived state: immutable text, with evaluator-only lineage to the records it was made from."""

    summary_id: str
    text: str
    source_ids: tuple[str, ...]
    source_digests: tuple[str, ...]


@dataclass(frozen=True)
class State:
    """Memory of one profile in one world; ``written`` holds accepted candidate writes."""

    profile_id: str
    index: int
    agent: str
    domain: str
    attribute: str
    records: tuple[Record, ...]
    summaries: tuple[Summary, ...] = ()
    written: tuple[Record, ...] = ()
    source_ids: tuple[str, ...] = ()
    neighbour_ids: tuple[str, ...] = ()

    def entry_texts(self) -> list[str]:
        """What a model is shown, in order: raw records by entry_id, summaries, written entries."""
        ordered = sorted(self.records, key=lambda record: record.entry_id)
        return [
            *(record.text for record in ordered),
            *(summary.text for summary in self.summaries),
            *(record.text for record in self.written),
        ]

    def digest(self) -> str:
        """Sha256 of every model-visible byte of the store, ids included."""
        parts = [f"{record.entry_id}\x1f{record.text}" for record in (*self.records, *self.written)]
        parts += [f"{summary.summary_id}\x1f{summary.text}" for summary in self.summaries]
        return sha256_text("\x1e".join(parts))

    def with_(self, **changes: Any) -> State:
        """A copy with some fields replaced."""
        return replace(self, **changes)


_RECORDS = pa.list_(pa.struct([("entry_id", pa.string()), ("text", pa.string())]))
_SUMMARIES = pa.list_(
    pa.struct(
        [
            ("summary_id", pa.string()),
            ("text", pa.string()),
            ("source_ids", pa.list_(pa.string())),
            ("source_digests", pa.list_(pa.string())),
        ]
    )
)
STATE_SCHEMA = pa.schema(
    [
        ("profile_id", pa.string()),
        ("index", pa.int64()),
        ("agent", pa.string()),
        ("domain", pa.string()),
        ("attribute", pa.string()),
        ("records", _RECORDS),
        ("summaries", _SUMMARIES),
        ("written", _RECORDS),
        ("source_ids", pa.list_(pa.string())),
        ("neighbour_ids", pa.list_(pa.string())),
    ]
)


@dataclass
class StateTable:
    """Build a state table column by column (a row of dictionaries costs ten times the memory)."""

    columns: dict[str, list[Any]] = field(default_factory=lambda: {name: [] for name in STATE_SCHEMA.names})

    def add(self, state: State) -> None:
        """Append one state."""
        row = state_row(state)
        for name, column in self.columns.items():
            column.append(row[name])


def state_row(state: State) -> dict[str, Any]:
    """One state as a plain row of ``STATE_SCHEMA``."""
    return {
        "profile_id": state.profile_id,
        "index": state.index,
        "agent": state.agent,
        "domain": state.domain,
        "attribute": state.attribute,
        "records": [_record_row(record) for record in state.records],
        "summaries": [
            {
                "summary_id": summary.summary_id,
                "text": summary.text,
                "source_ids": list(summary.source_ids),
                "source_digests": list(summary.source_digests),
            }
            for summary in state.summaries
        ],
        "written": [_record_row(record) for record in state.written],
        "source_ids": list(state.source_ids),
        "neighbour_ids": list(state.neighbour_ids),
    }


def to_table(states: Iterable[State]) -> pa.Table:
    """States as a table of ``STATE_SCHEMA``, in the order given."""
    table = StateTable()
    for state in states:
        table.add(state)
    return pa.table(table.columns, schema=STATE_SCHEMA)


def from_table(table: pa.Table) -> list[State]:
    """Read states back; columns beyond ``STATE_SCHEMA`` are ignored."""
    return [from_row(row) for row in table.select(STATE_SCHEMA.names).to_pylist()]


def from_row(row: dict[str, Any]) -> State:
    """One state from a row of ``STATE_SCHEMA``."""
    return State(
        profile_id=row["profile_id"],
        index=row["index"],
        agent=row["agent"],
        domain=row["domain"],
        attribute=row["attribute"],
        records=_records(row["records"]),
        summaries=tuple(
            Summary(s["summary_id"], s["text"], tuple(s["source_ids"]), tuple(s["source_digests"]))
            for s in row["summaries"]
        ),
        written=_records(row["written"]),
        source_ids=tuple(row["source_ids"]),
        neighbour_ids=tuple(row["neighbour_ids"]),
    )


def _record_row(record: Record) -> dict[str, str]:
    return {"entry_id": record.entry_id, "text": record.text}


def _records(rows: list[dict[str, str]]) -> tuple[Record, ...]:
    return tuple(Record(row["entry_id"], row["text"]) for row in rows)
