"""What the report knows: evaluated cells, breakdowns and controls, worked out once from the scored tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pyarrow as pa

from afterdelete.core.errors import AfterDeleteError
from afterdelete.scoring.schema import CERTIFICATES, conform
from afterdelete.stats.cells import Cell, Conditions, headline_rank, load_cells
from afterdelete.stats.summary import Evaluated, evaluate, evaluate_by, proofs


@dataclass(frozen=True)
class Certificate:
    """The certificates of one (split, memory, deletion): how many hold, of how many profiles."""

    split: str
    memory: str
    deletion: str
    kind: str
    holds: int
    n: int


@dataclass(frozen=True)
class Facts:
    """Everything a page or figure needs. ``headline`` is the cell the report opens with."""

    cells: Sequence[Cell]
    evaluated: Sequence[Evaluated]
    structures: Sequence[tuple[str, Evaluated]]
    domains: Sequence[tuple[str, Evaluated]]
    certificates: Sequence[Certificate]
    headline: Evaluated

    @property
    def audits(self) -> list[Evaluated]:
        """One evaluated cell for each distinct audit; cells that share an audit share its R."""
        return one_per_audit(self.evaluated)

    def panels(self) -> list[tuple[str, str]]:
        """(model, split) of every panel, the headline's model and split first."""
        own = self.headline.cell.conditions
        found = {(each.cell.conditions.model, each.cell.conditions.split) for each in self.evaluated}
        return sorted(found, key=lambda pair: (pair[0] != own.model, pair[0], pair[1] != own.split, pair[1]))

    def panel_title(self, panel: tuple[str, str]) -> str:
        """Split, and the model where there are several."""
        several = len({model for model, _ in self.panels()}) > 1
        return f"{panel[1]} · {panel[0]}" if several else panel[1]


def gather(
    units: pa.Table, certificates: pa.Table, *, resamples: int, seed: int, headline: str | None = None
) -> Facts:
    """Evaluate everything. ``headline`` is the id of the cell to open with (default: by rank).

    Raises AfterDeleteError if there is no paired cell, or the headline's id is unknown.
    """
    cells = load_cells(units)
    proved = proofs(certificates)
    evaluated = evaluate(cells, proved, resamples=resamples, seed=seed)
    if not evaluated:
        raise AfterDeleteError(
            "there is no paired cell to report", "score at least one forget and clean pair"
        )
    wanted = [each for each in evaluated if headline in (None, each.cell.id)]
    if not wanted:
        raise AfterDeleteError(f"no paired cell {headline} to open with", "name a cell of this study")
    parts = {
        column: evaluate_by(column, cells, proved, resamples=resamples, seed=seed)
        for column in ("structure", "domain")
    }
    return Facts(
        cells=cells,
        evaluated=evaluated,
        structures=parts["structure"],
        domains=parts["domain"],
        certificates=_certificates(certificates),
        headline=min(wanted, key=lambda each: headline_rank(each.cell.conditions)),
    )


def one_per_audit(evaluated: Iterable[Evaluated]) -> list[Evaluated]:
    """The best-ranked cell of each audit, in rank order, so that a bar leads to the fullest replies."""
    best: dict[tuple[str, ...], Evaluated] = {}
    for each in sorted(evaluated, key=lambda each: headline_rank(each.cell.conditions)):
        key = each.cell.conditions.audit
        if key not in best or (each.cell.lifecycle and not best[key].cell.lifecycle):
            best[key] = each
    return list(best.values())


def same(one: Conditions, other: Conditions, *names: str) -> bool:
    """Whether two cells agree in the named conditions."""
    return all(getattr(one, name) == getattr(other, name) for name in names)


def _certificates(table: pa.Table) -> list[Certificate]:
    groups: dict[tuple[str, str, str, str], list[bool]] = {}
    for row in conform(table, CERTIFICATES, "certificates").to_pylist():
        key = (row["split"], row["memory"], row["deletion"], row["kind"])
        groups.setdefault(key, []).append(row["holds"])
    return [Certificate(*key, holds=sum(held), n=len(held)) for key, held in sorted(groups.items())]
