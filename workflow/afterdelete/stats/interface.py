"""How the response contract shapes what is scored: official outcome beside raw occurrence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from afterdelete.core.errors import AfterDeleteError
from afterdelete.scoring.schema import CONDITIONS, MAX_QUERIES, PARSES, PLACES
from afterdelete.stats.cells import Cell, Unit, load_cells

_QUERIES = tuple(f"query_{turn}" for turn in range(1, MAX_QUERIES + 1))
INTERFACE = pa.schema(
    [
        *((name, pa.string()) for name in CONDITIONS),
        ("stage", pa.string()),
        ("contract", pa.string()),
        ("world", pa.string()),
        ("n", pa.int64()),
        ("official", pa.int64()),
        ("raw", pa.int64()),
        ("unscored", pa.int64()),
        *((name, pa.int64()) for name in PARSES),
        *((f"where_{name}", pa.int64()) for name in PLACES),
        *((name, pa.int64()) for name in _QUERIES),
    ]
)


def interface(units: pa.Table) -> pa.Table:
    """One row a cell, stage (``audit`` or ``activation``) and world (``INTERFACE``), retained included.

    ``official`` counts R at the audit and A at the activation; ``raw`` counts units with the target
    anywhere in a raw reply; ``unscored`` those with the target in a reply but no official outcome. Parse
    classes are those of the last reply. ``query_k`` counts recoveries by the query that made them.
    """
    return to_interface(load_cells(units))


def to_interface(cells: Sequence[Cell]) -> pa.Table:
    """The same for loaded cells."""
    rows = [
        _row(cell, stage, world)
        for cell in cells
        for stage in ("audit", "activation")
        if stage == "audit" or cell.lifecycle
        for world in cell.worlds
    ]
    return pa.Table.from_pylist(rows, schema=INTERFACE)


def _row(cell: Cell, stage: str, world: str) -> dict[str, Any]:
    units = cell.worlds[world]
    endpoint = "R" if stage == "audit" else "A"
    parses = Counter(unit[f"{stage}_parse"] for unit in units)
    places = Counter(unit[f"{stage}_where"] for unit in units)
    return {
        **cell.conditions._asdict(),
        "stage": stage,
        "contract": getattr(cell.conditions, f"{stage}_contract"),
        "world": world,
        "n": len(units),
        "official": cell.count(world, endpoint),
        "raw": cell.count(world, f"{stage}_raw_target"),
        "unscored": sum(bool(u[f"{stage}_raw_target"]) and not u[endpoint] for u in units),
        **{name: parses[name] for name in PARSES},
        **{f"where_{name}": places[name] for name in PLACES},
        **(_by_query(cell.id, units) if stage == "audit" else {}),
    }


def _by_query(cell: str, units: list[Unit]) -> dict[str, int]:
    turns = Counter(unit["recovery_query"] for unit in units if unit["recovery_query"] is not None)
    if any(not 1 <= turn <= MAX_QUERIES for turn in turns):
        raise AfterDeleteError(
            f"cell {cell} has a recovery outside queries 1 to {MAX_QUERIES}", "score the study again"
        )
    return {name: turns[turn] for turn, name in enumerate(_QUERIES, start=1)}
