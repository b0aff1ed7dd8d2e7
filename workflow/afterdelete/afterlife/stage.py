"""The two steps that the workflow runs: one result, and the table of all of them."""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

from afterdelete.afterlife.report_html import html
from afterdelete.afterlife.report_junit import junit
from afterdelete.afterlife.results import report_json
from afterdelete.afterlife.session import DEFAULT_CONFIG, Session
from afterdelete.core.atomic import write_text
from afterdelete.core.errors import AfterDeleteError


def run_result() -> int:
    """Write the result of one scenario on one system. A FAIL is a finding, not a failed job."""
    parser = _parser("one scenario on one system")
    parser.add_argument("--system", required=True)
    parser.add_argument("--scenario", required=True)
    return _answered(parser, _result)


def collect() -> int:
    """Write the table and the reports over all results of a configuration."""
    parser = _parser("the table of all results")
    parser.add_argument("--results", type=Path, required=True, help="folder of the results")
    return _answered(parser, _collected)


def _parser(what: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=what)
    parser.add_argument("--config", type=Path, default=DEFAULT_CONFIG)
    parser.add_argument("output", type=Path)
    return parser


def _answered(parser: argparse.ArgumentParser, step: Callable[[argparse.Namespace], None]) -> int:
    try:
        step(parser.parse_args())
    except AfterDeleteError as error:
        print(f"afterdelete: {error}", file=sys.stderr)
        return 1
    return 0


def _result(args: argparse.Namespace) -> None:
    result = Session.read(args.config).run(args.system, args.scenario)
    write_text(args.output, json.dumps(result, indent=1, ensure_ascii=False) + "\n")


def _collected(args: argparse.Namespace) -> None:
    session = Session.read(args.config)
    paths = [args.results / session.result_file(name, id) for name, id in session.chosen([], [])]
    report = report_json(json.loads(path.read_text(encoding="utf-8")) for path in paths)
    rows = [table_row(result) for result in report["results"]]
    folder = args.output.parent
    write_text(folder / "report.json", json.dumps(report, indent=1, ensure_ascii=False) + "\n")
    write_text(folder / "junit.xml", junit(report))
    write_text(folder / "report.html", html(report))
    write_text(folder / "table.csv", _csv(rows))
    _write_table(args.output, rows, session.table_recipe())


def table_row(result: dict[str, Any]) -> dict[str, str]:
    """One row of the table: what a claim about a system has to name, and how to see it again."""
    system, afterlife = result["system"], result.get("afterlife") or {}
    return {
        "system": system["name"],
        "product": system["product"] or "",
        "version": system["version"] or "",
        "versions": json.dumps(system["versions"], sort_keys=True),
        "configuration": json.dumps(system["configuration"], sort_keys=True),
        "scenario": result["scenario"]["id"],
        "contract": afterlife.get("deletion_contract", ""),
        "status": result["status"],
        "label": result["label"] or "",
        "event": "" if result["event"] is None else str(result["event"]),
        "trigger": afterlife.get("resurrection_trigger") or "",
        "reason": result["reason"],
        "reproduce": result["reproduce"][0],
    }


def _csv(rows: list[dict[str, str]]) -> str:
    text = StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _write_table(path: Path, rows: list[dict[str, str]], recipe: dict[str, Any]) -> None:
    # Imported here: whoever only runs `afterdelete afterlife test` needs no parquet library.
    import pyarrow as pa

    from afterdelete.core.artifacts import write_artifact
    from afterdelete.core.provenance import worker

    # An earlier table of this key may hold a SKIPPED whose environment has been installed since.
    path.unlink(missing_ok=True)
    table = pa.Table.from_pylist(rows)
    write_artifact(path, table, recipe=recipe, upstream=[], provenance=worker())
