"""The whole report of one study, written under one directory; the same input gives the same bytes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from afterdelete.core.atomic import write_text
from afterdelete.report import pages, sentences
from afterdelete.report import replies as reply_pages
from afterdelete.report.facts import Facts, gather
from afterdelete.report.figures import charts, href
from afterdelete.report.tables import (
    certificate_rows,
    interface_rows,
    provenance_rows,
    query_rows,
    result_groups,
)
from afterdelete.stats.bootstrap import RESAMPLES, SEED
from afterdelete.stats.csvtext import to_csv
from afterdelete.stats.interface import to_interface
from afterdelete.stats.summary import to_breakdown, to_summary


def build_report(
    out: Path,
    *,
    units: pa.Table,
    replies: pa.Table,
    certificates: pa.Table,
    targets: pa.Table,
    provenance: Mapping[str, Any] | None = None,
    requests: Mapping[str, int] | None = None,
    headline: str | None = None,
    resamples: int = RESAMPLES,
    seed: int = SEED,
    templates: Path = pages.TEMPLATES,
) -> list[Path]:
    """Write the report into ``out`` and return the files written, sorted.

    Writes ``index.html``, ``summary.csv``, ``by_structure.csv``, ``by_domain.csv``, ``interface.csv``,
    ``figures/<name>.svg`` and ``replies/<cell>.html`` for every cell. ``provenance`` (engine, model,
    versions; may be nested) and ``requests`` (asked, generated, reused) are shown as given: pass nothing
    that holds a time or a path. ``headline`` is a cell id. Raises AfterDeleteError for unusable input.
    """
    facts = gather(units, certificates, resamples=resamples, seed=seed, headline=headline)
    files = {
        "summary.csv": to_csv(to_summary(facts.evaluated)),
        "by_structure.csv": to_csv(to_breakdown("structure", facts.structures)),
        "by_domain.csv": to_csv(to_breakdown("domain", facts.domains)),
        "interface.csv": to_csv(to_interface(facts.cells)),
    }
    drawn = charts(facts)
    style = pages.figure_style(templates)
    files |= {f"figures/{name}.svg": chart.standalone(style) for name, chart in drawn.items()}
    env = pages.environment(templates)
    figures = {
        name: {"panels": chart.inline(), "legend": chart.legend, "caption": pages.caption(name, templates)}
        for name, chart in drawn.items()
    }
    files["index.html"] = _index(env, facts, figures, provenance or {}, requests or {}, seed, resamples)
    known, secrets = reply_pages.index_replies(replies), reply_pages.index_targets(targets)
    files |= {f"replies/{cell.id}.html": reply_pages.page(env, cell, known, secrets) for cell in facts.cells}
    for name, text in files.items():
        write_text(out / name, text)
    return sorted(out / name for name in files)


def _index(
    env: Any,
    facts: Facts,
    figures: dict[str, Any],
    provenance: Mapping[str, Any],
    requests: Mapping[str, int],
    seed: int,
    resamples: int,
) -> str:
    head = facts.headline.cell
    return pages.render(
        env,
        "index.html.j2",
        head=head,
        head_href=href(head.id, "forget"),
        head_name=sentences.cell_name(head.conditions),
        models=sorted({each.cell.conditions.model for each in facts.evaluated}),
        answer=sentences.answer(facts),
        meaning=sentences.meaning(facts),
        figures=figures,
        groups=result_groups(facts),
        statuses=sentences.statuses(facts),
        proved=sentences.proved(facts),
        certificates=certificate_rows(facts),
        controls=sentences.controls(facts),
        interface=interface_rows(facts),
        queries=query_rows(facts),
        limits=sentences.limits(facts),
        provenance=provenance_rows(provenance),
        requests=list(requests.items()),
        seed=seed,
        resamples=resamples,
    )
