"""Stage ``worlds``: what each world's user told the agent, in order.

All worlds of a profile hold the same ids in the same order. ``forget`` and ``retained`` hold the
target-bearing exposure, ``clean`` its neutral twin.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import pyarrow as pa

from afterdelete.core.errors import AfterDeleteError
from afterdelete.memory.state import Record, State, to_table

World = Literal["forget", "clean", "retained"]
WORLDS: tuple[str, ...] = get_args(World)


def build(profiles: pa.Table, world: str) -> pa.Table:
    """Raw records of every profile in ``world``: a state table, one row a profile.

    Raises AfterDeleteError for an unknown world.
    """
    if world not in WORLDS:
        raise AfterDeleteError(f"unknown world {world!r}", f"use one of: {', '.join(WORLDS)}")
    exposure = "neutral" if world == "clean" else "exposure"
    names = [
        "profile_id",
        "index",
        "agent",
        "domain",
        "attribute",
        "background",
        exposure,
        "source_ids",
        "neighbour_ids",
    ]
    return to_table(_state(row, exposure) for row in profiles.select(names).to_pylist())


def _state(row: dict[str, Any], exposure: str) -> State:
    records = [Record(item["entry_id"], item["text"]) for item in (*row["background"], *row[exposure])]
    return State(
        profile_id=row["profile_id"],
        index=row["index"],
        agent=row["agent"],
        domain=row["domain"],
        attribute=row["attribute"],
        records=tuple(sorted(records, key=lambda record: record.entry_id)),
        source_ids=tuple(row["source_ids"]),
        neighbour_ids=tuple(row["neighbour_ids"]),
    )
