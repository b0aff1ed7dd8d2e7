"""The result in a terminal: one table of plain text, and one line for one cell."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import Any

import pyarrow as pa

from afterdelete.core.errors import AfterDeleteError
from afterdelete.scoring.schema import CERTIFICATES, CONDITIONS
from afterdelete.stats.bootstrap import RESAMPLES, SEED
from afterdelete.stats.cells import Conditions, headline_rank
from afterdelete.stats.summary import summarise

_HEADER = (
    "auditor",
    "contracts",
    "gate",
    "clean",
    "forget",
    "gap [95 %]",
    "raw",
    "retained",
    "C   A   E",
    "status",
)
_RIGHT = {3, 4, 6, 7}
_WIDEST_AUDITOR = 13
_LEGEND = (
    "clean, forget: profiles with R. gap: forget minus clean; no interval where all pairs agree.",
    "raw: forget profiles with the target anywhere in a reply. retained: rate of R without deletion.",
    "C, A, E: gaps of the later stages. contracts: audit, or audit/activation where they differ.",
)


def terminal_table(summary: pa.Table) -> str:
    """A table of ``SUMMARY`` as plain text of at most about 100 columns, the headline first.

    Cells stand in blocks of one model, split, memory and deletion; the block of the headline cell comes
    first, and the headline cell first in it.
    """
    cells = _cells(summary)
    if not cells:
        return "no paired cell to report\n"
    cells.sort(key=lambda cell: headline_rank(cell[0]))
    order = {block: at for at, block in reversed(list(enumerate(_block(cell[0]) for cell in cells)))}
    cells.sort(key=lambda cell: (order[_block(cell[0])], headline_rank(cell[0])))
    rows = [_columns(*cell) for cell in cells]
    widths = [max(len(row[at]) for row in [_HEADER, *rows]) for at in range(len(_HEADER))]
    lines = [_line(_HEADER, widths)]
    lines.append("-" * len(lines[0].ljust(sum(widths) + len(widths) - 1)))
    for block, members in groupby(zip(cells, rows, strict=True), key=lambda pair: _block(pair[0][0])):
        shown = list(members)
        study, model, split, memory, deletion = block
        n = shown[0][0][1]["R"]["n"]
        lines.append(f"{split}, {memory} memory, {deletion} deletion, n = {n} ({study}, {model})")
        lines += [_line(row, widths) for _, row in shown]
    return "\n".join([*lines, "", *_LEGEND]) + "\n"


def headline_line(
    units: pa.Table,
    certificates: pa.Table | None = None,
    *,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> str:
    """One line about one paired cell, for printing as soon as it is scored.

    ``units`` holds that cell, and its retained twin if that is scored already. Raises AfterDeleteError
    unless there is exactly one paired cell.
    """
    known = CERTIFICATES.empty_table() if certificates is None else certificates
    cells = _cells(summarise(units, known, resamples=resamples, seed=seed))
    if len(cells) != 1:
        raise AfterDeleteError(f"a headline needs one paired cell, got {len(cells)}", "pass one cell's units")
    where, results = cells[0]
    row = results["R"]
    gate = f", gate {where.gate}" if where.gate else ""
    name = f"{where.split}, {where.memory} memory, {where.deletion} deletion, {where.auditor}"
    parts = [
        f"{name} ({where.audit_contract}){gate}: R {_count(row, 'forget')} of {row['n']} in forget, "
        f"{_count(row, 'clean')} of {row['n']} in clean",
        f"gap {_gap(row, places=3)}",
        f"target in {row['raw_forget']} raw",
        "retained not run" if row["retained"] is None else f"retained {row['retained']:.3f}",
        row["status"],
    ]
    return "; ".join(parts)


Results = dict[str, dict[str, Any]]


def _cells(summary: pa.Table) -> list[tuple[Conditions, Results]]:
    """Rows put together again; an R row opens a cell, so equal conditions on two panels stay apart."""
    cells: list[tuple[Conditions, Results]] = []
    for row in summary.to_pylist():
        if row["endpoint"] == "R":
            cells.append((Conditions(*(row[name] for name in CONDITIONS)), {}))
        cells[-1][1][row["endpoint"]] = row
    return cells


def _block(where: Conditions) -> tuple[str, ...]:
    return tuple(where[:5])


def _columns(where: Conditions, results: Results) -> tuple[str, ...]:
    row = results["R"]
    contracts = where.audit_contract
    if where.activation_contract not in ("", contracts):
        contracts += f"/{where.activation_contract}"
    gaps = [_short(results[name]["delta"]) if name in results else "" for name in "CAE"]
    gate = " ".join(filter(None, (where.gate or "-", where.write_branch)))
    auditor = where.auditor
    if len(auditor) > _WIDEST_AUDITOR:
        auditor = f"{auditor[: _WIDEST_AUDITOR - 1]}…"
    return (
        auditor,
        contracts,
        gate,
        str(_count(row, "clean")),
        str(_count(row, "forget")),
        _gap(row, places=2),
        str(row["raw_forget"]),
        "not run" if row["retained"] is None else _short(row["retained"]),
        " ".join(text.ljust(3) for text in gaps).rstrip() or "not run",
        row["status"],
    )


def _line(cells: Iterable[str], widths: list[int]) -> str:
    texts = zip(cells, widths, strict=True)
    padded = [t.rjust(w) if at in _RIGHT else t.ljust(w) for at, (t, w) in enumerate(texts)]
    return " ".join(padded).rstrip()


def _count(row: dict[str, Any], world: str) -> int:
    return round(row[world] * row["n"])


def _gap(row: dict[str, Any], places: int) -> str:
    show = _short if places == 2 else (lambda value: f"{value:.{places}f}")
    if row["boundary"]:
        return show(row["delta"])
    return f"{show(row['delta'])} [{show(row['ci_low'])}, {show(row['ci_high'])}]"


def _short(value: float) -> str:
    """Two decimals without the leading zero: rates and gaps never exceed 1."""
    text = f"{value + 0.0:.2f}"
    text = "0" if float(text) == 0 else text
    return text.replace("0.", ".", 1) if abs(value) < 1 else text.rstrip("0").rstrip(".")
