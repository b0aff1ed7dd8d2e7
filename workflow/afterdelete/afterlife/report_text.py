"""The report for a terminal."""

from __future__ import annotations

from typing import Any

from afterdelete.afterlife.verdict import Status

_QUIET = {Status.PASS, Status.SKIPPED}


def table_lines(report: dict[str, Any]) -> list[str]:
    """A table of statuses: a row for each system, a column for each scenario."""
    rows: dict[str, dict[str, str]] = {}
    columns: dict[str, None] = {}
    for result in report["results"]:
        id = result["scenario"]["id"]
        columns[id] = None
        rows.setdefault(result["system"]["name"], {})[id] = result["status"]
    first = max(map(len, ["system", *rows]))
    widths = {id: max(len(id), *(len(row.get(id, "")) for row in rows.values())) for id in columns}
    lines = ["  ".join(["system".ljust(first), *(id.ljust(widths[id]) for id in columns)])]
    for name, row in rows.items():
        lines.append("  ".join([name.ljust(first), *(row.get(id, "-").ljust(widths[id]) for id in columns)]))
    return [line.rstrip() for line in lines]


def finding_lines(report: dict[str, Any]) -> list[str]:
    """For every result but a PASS: what happened and how to see it again."""
    lines: list[str] = []
    for result in report["results"]:
        status = Status(result["status"])
        if status is Status.PASS:
            continue
        label = f" {result['label']}" if result["label"] else ""
        lines.append(f"{status}{label}  {result['system']['name']}  {result['scenario']['id']}")
        lines.append(f"  {result['reason']}")
        if status not in _QUIET:
            lines += [f"  {line}" for line in timeline_lines(result)]
            lines += [f"  reproduce: {command}" for command in result["reproduce"]]
    return lines


def timeline_lines(result: dict[str, Any]) -> list[str]:
    """The events of the trial arm, one a line; the look that made a FAIL is pointed at."""
    return [
        f"{'>' if event['seq'] == result['event'] else ' '}"
        f"{event['seq']:>3}  {event['phase']:<16}  {event['action']}: {event['detail']}"
        for event in result.get("afterlife", {}).get("events", [])
    ]


def leftover_lines(report: dict[str, Any]) -> list[str]:
    """What the cleanup could not remove."""
    return [
        f"left behind by {result['system']['name']} {result['scenario']['id']}: {problem}"
        for result in report["results"]
        for problem in (result["cleanup"] or {}).get("problems", [])
    ]
