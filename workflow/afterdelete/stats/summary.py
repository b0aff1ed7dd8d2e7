"""The summary: one row a cell and endpoint, with interval, raw occurrence, control and status."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from afterdelete.scoring.schema import CERTIFICATES, CONDITIONS, ENDPOINTS, conform
from afterdelete.stats.bootstrap import RESAMPLES, SEED, Interval, paired_intervals
from afterdelete.stats.cells import Cell, load_cells, values

_RESULT_FIELDS: list[tuple[str, pa.DataType]] = [
    ("endpoint", pa.string()),
    ("n", pa.int64()),
    ("clean", pa.float64()),
    ("forget", pa.float64()),
    ("delta", pa.float64()),
    ("ci_low", pa.float64()),
    ("ci_high", pa.float64()),
    ("boundary", pa.bool_()),
    ("raw_clean", pa.int64()),
    ("raw_forget", pa.int64()),
    ("retained", pa.float64()),
    ("status", pa.string()),
]
SUMMARY = pa.schema([*((name, pa.string()) for name in CONDITIONS), *_RESULT_FIELDS])
COUNTS: list[tuple[str, pa.DataType]] = [("clean_count", pa.int64()), ("forget_count", pa.int64())]
# The raw occurrence that stands beside an endpoint: the replies that the endpoint is read from.
_RAW = {"R": "audit_raw_target", "A": "activation_raw_target"}

# A zero by construction: (split, memory, deletion, profile_id) of each identical certificate that holds.
Proofs = set[tuple[str, str, str, str]]


@dataclass(frozen=True)
class Rate:
    """Units with an endpoint, of how many."""

    count: int
    n: int

    @property
    def mean(self) -> float:
        """The rate."""
        return self.count / self.n


@dataclass(frozen=True)
class Result:
    """One endpoint of one cell. ``interval`` is None at a boundary (all paired differences equal)."""

    endpoint: str
    clean: Rate
    forget: Rate
    interval: Interval | None
    raw_clean: int | None
    raw_forget: int | None
    retained: Rate | None
    retained_cell: str
    status: str

    @property
    def n(self) -> int:
        """Profiles."""
        return self.forget.n

    @property
    def delta(self) -> float:
        """The gap: mean of forget minus mean of clean."""
        return (self.forget.count - self.clean.count) / self.n


@dataclass(frozen=True)
class Evaluated:
    """A paired cell and its results by endpoint; endpoints that were not run are absent."""

    cell: Cell
    results: dict[str, Result]


def proofs(certificates: pa.Table) -> Proofs:
    """The certificates that prove a zero gap: kind ``identical``, and holding."""
    rows = conform(certificates, CERTIFICATES, "certificates").to_pylist()
    failed = {_proof(row) for row in rows if not (row["kind"] == "identical" and row["holds"])}
    return {_proof(row) for row in rows} - failed


def _proof(row: dict[str, Any]) -> tuple[str, str, str, str]:
    return row["split"], row["memory"], row["deletion"], row["profile_id"]


def evaluate(
    cells: Sequence[Cell],
    proved: Proofs,
    *,
    controls: Sequence[Cell] | None = None,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> list[Evaluated]:
    """Results of every paired cell, in the order given.

    ``controls`` are the cells among which retained twins are looked up (default: ``cells``).
    """
    pool = [cell for cell in (cells if controls is None else controls) if "retained" in cell.worlds]
    paired = [cell for cell in cells if cell.paired]
    jobs = [(cell, endpoint) for cell in paired for endpoint in ENDPOINTS if cell.ran(endpoint)]
    intervals = paired_intervals([_differences(*job) for job in jobs], resamples=resamples, seed=seed)
    done: dict[tuple[str, str], Result] = {
        (cell.id, endpoint): _result(cell, endpoint, interval, pool, proved)
        for (cell, endpoint), interval in zip(jobs, intervals, strict=True)
    }
    return [Evaluated(c, {e: done[c.id, e] for e in ENDPOINTS if (c.id, e) in done}) for c in paired]


def _differences(cell: Cell, endpoint: str) -> np.ndarray[Any, Any]:
    pairs = zip(cell.worlds["forget"], cell.worlds["clean"], strict=True)
    return np.array([int(f[endpoint]) - int(c[endpoint]) for f, c in pairs], dtype=np.int8)


def _result(cell: Cell, endpoint: str, interval: Interval | None, pool: list[Cell], proved: Proofs) -> Result:
    clean, forget = (Rate(cell.count(world, endpoint), cell.n) for world in ("clean", "forget"))
    raw = _RAW.get(endpoint)
    retained, twin = _retained(cell, endpoint, pool)
    status = ""
    if endpoint == "R":
        where = cell.conditions
        certain = all(
            (where.split, where.memory, where.deletion, unit["profile_id"]) in proved
            for unit in cell.worlds["forget"]
        )
        status = status_of(clean.count, forget.count, certain, retained.count if retained else None)
    return Result(
        endpoint=endpoint,
        clean=clean,
        forget=forget,
        interval=interval,
        raw_clean=cell.count("clean", raw) if raw else None,
        raw_forget=cell.count("forget", raw) if raw else None,
        retained=retained,
        retained_cell=twin,
        status=status,
    )


def status_of(clean: int, forget: int, certified: bool, retained: int | None) -> str:
    """What may be said of a cell's reconstruction, from counts; the first rule that applies.

    1. ``above_zero``: the gap is above 0.
    2. ``no_gap``: there is recovery, but no more in forget than in clean. A correct reconstruction is a
       disclosure all the same; it just cannot be attributed to the exposure. Never called a zero, even
       with a certificate: that proves equal worlds, not silent ones.
    3. ``proved_zero``: no recovery, and the identical certificate holds for every profile. The proof needs
       no control; the control is shown beside it.
    4. ``no_control``, ``inconclusive``, ``observed_zero``: no recovery, and the retained twin was not
       run, recovered nothing either, or recovered something.
    """
    if forget > clean:
        return "above_zero"
    if clean > 0:
        return "no_gap"
    if certified:
        return "proved_zero"
    if retained is None:
        return "no_control"
    return "observed_zero" if retained else "inconclusive"


def _retained(cell: Cell, endpoint: str, pool: list[Cell]) -> tuple[Rate | None, str]:
    """The positive control of a cell: the endpoint's rate in its retained twin, and the twin's cell id.

    Only R and A have one: a twin without deletion has no gate descriptor, so its writes differ in kind.
    The rate is over the profiles that both have. Among several twins: most shared profiles, then the
    same write branch and gate, then gate off.
    """
    if endpoint not in _RAW:
        return None, ""
    mine = {unit["profile_id"] for units in cell.worlds.values() for unit in units}
    best: tuple[tuple[object, ...], Rate, str] | None = None
    for twin in pool:
        if not _twins(cell, twin, endpoint):
            continue
        shared = [unit for unit in twin.worlds["retained"] if unit["profile_id"] in mine]
        if not shared:
            continue
        one, other = cell.conditions, twin.conditions
        rank = (
            -len(shared),
            one.write_branch != other.write_branch,
            one.gate != other.gate,
            other.gate != "off",
            twin.id,
        )
        if best is None or rank < best[0]:
            best = rank, Rate(sum(bool(unit[endpoint]) for unit in shared), len(shared)), twin.id
    return (best[1], best[2]) if best else (None, "")


def _twins(cell: Cell, twin: Cell, endpoint: str) -> bool:
    names = ["study", "model", "split", "memory", "auditor", "audit_contract"]
    if endpoint == "A":
        names.append("activation_contract")
    same = all(getattr(cell.conditions, name) == getattr(twin.conditions, name) for name in names)
    return same and twin.ran(endpoint)


def _row(cell: Cell, result: Result) -> dict[str, Any]:
    low, high = result.interval or (None, None)
    return {
        **cell.conditions._asdict(),
        "endpoint": result.endpoint,
        "n": result.n,
        "clean": result.clean.mean,
        "forget": result.forget.mean,
        "delta": result.delta,
        "ci_low": low,
        "ci_high": high,
        "boundary": result.interval is None,
        "raw_clean": result.raw_clean,
        "raw_forget": result.raw_forget,
        "retained": result.retained.mean if result.retained else None,
        "status": result.status,
        "clean_count": result.clean.count,
        "forget_count": result.forget.count,
    }


def to_summary(evaluated: Sequence[Evaluated]) -> pa.Table:
    """Evaluated cells as a table of ``SUMMARY``, in their order, endpoints as R, C, A, E."""
    rows = [_row(each.cell, result) for each in evaluated for result in each.results.values()]
    return pa.Table.from_pylist(rows, schema=SUMMARY)


def summarise(
    units: pa.Table, certificates: pa.Table, *, resamples: int = RESAMPLES, seed: int = SEED
) -> pa.Table:
    """One row a paired cell and endpoint (``SUMMARY``), sorted by conditions.

    ``units`` and ``certificates`` are tables of ``UNITS`` and ``CERTIFICATES``. Retained cells have no
    row of their own; they fill ``retained``. Independent of row order. AfterDeleteError for bad input.
    """
    return to_summary(evaluate(load_cells(units), proofs(certificates), resamples=resamples, seed=seed))


def evaluate_by(
    column: str,
    cells: Sequence[Cell],
    proved: Proofs,
    *,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> list[tuple[str, Evaluated]]:
    """Results within each value of ``column`` (``structure`` or ``domain``): small, descriptive cells."""
    parts: list[tuple[str, Evaluated]] = []
    for value in values(cells, column):
        subsets = [cell.only(column, value) for cell in cells]
        subsets = [cell for cell in subsets if cell.paired]
        found = evaluate(subsets, proved, controls=cells, resamples=resamples, seed=seed)
        parts += [(value, each) for each in found]
    return sorted(parts, key=lambda part: (part[1].cell.conditions, part[1].cell.id, part[0]))


def to_breakdown(column: str, parts: Sequence[tuple[str, Evaluated]]) -> pa.Table:
    """Parts as a table: the columns of ``SUMMARY`` after ``column``, then the counts of both worlds."""
    names = [(name, pa.string()) for name in (*CONDITIONS, column)]
    schema = pa.schema([*names, *_RESULT_FIELDS, *COUNTS])
    rows = [
        {**_row(part.cell, result), column: value}
        for value, part in parts
        for result in part.results.values()
    ]
    return pa.Table.from_pylist(rows, schema=schema)


def breakdown(
    units: pa.Table,
    certificates: pa.Table,
    column: str,
    *,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> pa.Table:
    """The summary within each ``structure`` or ``domain``, with the counts of both worlds."""
    cells = load_cells(units)
    return to_breakdown(
        column, evaluate_by(column, cells, proofs(certificates), resamples=resamples, seed=seed)
    )
