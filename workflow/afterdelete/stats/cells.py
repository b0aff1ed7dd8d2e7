"""Cells: the units of one combination of conditions, checked and put in a fixed order."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import pyarrow as pa

from afterdelete.core.errors import AfterDeleteError
from afterdelete.scoring.schema import CONDITIONS, UNITS, conform

Unit = dict[str, Any]
_ID = re.compile("[0-9a-f]{16}")


class Conditions(NamedTuple):
    """The combination of conditions that a cell stands for; field order is the order of every table."""

    study: str
    model: str
    split: str
    memory: str
    deletion: str
    gate: str
    auditor: str
    audit_contract: str
    activation_contract: str
    write_branch: str

    @property
    def audit(self) -> tuple[str, ...]:
        """What the audit depends on: cells that agree here share their audit replies."""
        return (*self[:5], self.auditor, self.audit_contract)


@dataclass(frozen=True)
class Cell:
    """One cell. ``worlds`` maps a world to its units, ordered by index, then profile_id."""

    id: str
    conditions: Conditions
    worlds: dict[str, list[Unit]]

    @property
    def paired(self) -> bool:
        """Whether the cell compares forget with clean (a retained cell only serves as control)."""
        return "forget" in self.worlds

    @property
    def n(self) -> int:
        """Profiles in the cell."""
        return len(self.worlds["forget" if self.paired else "retained"])

    @property
    def lifecycle(self) -> bool:
        """Whether commitment and activation were run."""
        return self.ran("A")

    def ran(self, endpoint: str) -> bool:
        """Whether an endpoint was measured in this cell."""
        return any(unit[endpoint] is not None for units in self.worlds.values() for unit in units)

    def count(self, world: str, column: str) -> int:
        """Units of a world in which a boolean column is true."""
        return sum(bool(unit[column]) for unit in self.worlds.get(world, ()))

    def only(self, column: str, value: str) -> Cell:
        """The same cell over the profiles that have ``value`` in ``column``."""
        kept = {w: [u for u in units if u[column] == value] for w, units in self.worlds.items()}
        return replace(self, worlds={world: units for world, units in kept.items() if units})


def load_cells(units: pa.Table) -> list[Cell]:
    """Group a table of ``UNITS`` into cells, sorted by conditions.

    The order of rows never matters. Raises AfterDeleteError if a cell mixes conditions, holds a profile
    twice in a world, lacks a twin, or measured an endpoint for some units only.
    """
    groups: dict[str, list[Unit]] = {}
    for unit in conform(units, UNITS, "units").to_pylist():
        groups.setdefault(unit["cell"], []).append(unit)
    cells = [_cell(name, rows) for name, rows in groups.items()]
    return sorted(cells, key=lambda cell: (cell.conditions, cell.id))


def values(cells: Iterable[Cell], column: str) -> list[str]:
    """The distinct values that a unit column takes in some cells, sorted."""
    return sorted({u[column] for cell in cells for units in cell.worlds.values() for u in units})


def _cell(name: str, rows: list[Unit]) -> Cell:
    if not _ID.fullmatch(name):
        # The id becomes a file name, so nothing else may pass for one.
        raise _bad(repr(name), "has an id that is not 16 hex digits")
    conditions = {Conditions(*(row[column] for column in CONDITIONS)) for row in rows}
    if len(conditions) != 1:
        raise _bad(name, "mixes conditions")
    worlds: dict[str, list[Unit]] = {}
    for row in sorted(rows, key=lambda row: (row["index"], row["profile_id"])):
        worlds.setdefault(row["world"], []).append(row)
    ids = {world: [unit["profile_id"] for unit in units] for world, units in worlds.items()}
    if unknown := sorted(set(worlds) - {"clean", "forget", "retained"}):
        raise _bad(name, f"holds an unknown world {unknown[0]!r}")
    if any(len(set(each)) != len(each) for each in ids.values()):
        raise _bad(name, "holds a profile twice in one world")
    if ids.get("forget") != ids.get("clean"):
        raise _bad(name, "holds a profile without its twin world")
    for endpoint in ("R", "C", "A", "E"):
        missing = {row[endpoint] is None for row in rows}
        if len(missing) > 1 or (endpoint == "R" and True in missing):
            raise _bad(name, f"measured {endpoint} for some units only")
    return Cell(name, conditions.pop(), {world: worlds[world] for world in sorted(worlds)})


def _bad(name: str, what: str) -> AfterDeleteError:
    return AfterDeleteError(f"cell {name} {what}", "score the study again; if it stays, report this as a bug")


# What a study's headline is about, most wanted first: the default question of the whole project.
_WANTED = (
    ("memory", ("hierarchical",)),
    ("deletion", ("exact",)),
    ("auditor", ("direct",)),
    ("audit_contract", ("aligned",)),
    ("gate", ("off", "")),
    ("activation_contract", ("aligned", "")),
    ("write_branch", ("", "write_allowed")),
    ("split", ("iid",)),
)


def headline_rank(conditions: Conditions) -> tuple[object, ...]:
    """Sort key that puts the headline first: hierarchical, exact, direct, aligned, gate off, iid."""
    misses = tuple(
        wanted.index(getattr(conditions, name)) if getattr(conditions, name) in wanted else len(wanted)
        for name, wanted in _WANTED
    )
    return (*misses, conditions)
