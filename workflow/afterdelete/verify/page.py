"""The verification as a table for a terminal and as a page for a browser."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from afterdelete.core.atomic import write_text
from afterdelete.report.pages import environment, render
from afterdelete.verify.check import Check, Verdict

VERDICTS: dict[Verdict, str] = {
    "ok": "verified",
    "other_machine": "verified; replies differ from those frozen on another processor or engine",
    "differs": "differs",
}


def terminal(checks: list[Check], frozen: bool) -> str:
    """One line a stage, then every artifact that is not simply verified, and why."""
    stages = list(dict.fromkeys(check.stage for check in checks))
    counts = {stage: Counter(check.verdict for check in checks if check.stage == stage) for stage in stages}
    lines = [f"{'stage':<14}{'artifacts':>10}{'verified':>10}{'other machine':>15}{'differ':>8}"]
    for stage, count in counts.items():
        lines.append(
            f"{stage:<14}{sum(count.values()):>10}{count['ok']:>10}{count['other_machine']:>15}"
            f"{count['differs']:>8}"
        )
    lines += [f"DIFFERS {c.artifact}: {problem}" for c in checks for problem in c.problems]
    lines += [f"note    {c.artifact}: {note}" for c in checks for note in c.notes]
    lines.append("compared with the frozen file" if frozen else "no frozen file for this study: not compared")
    return "\n".join(lines)


def write_page(path: Path, study: str, checks: list[Check], frozen: bool) -> None:
    """Write the page: verdict of every artifact, and the worker that made it."""
    counts = Counter(check.verdict for check in checks)
    page = render(
        environment(),
        "verify.html.j2",
        study=study,
        frozen=frozen,
        counts=[(VERDICTS[name], counts[name]) for name in VERDICTS if counts[name]],
        rows=[_row(check) for check in checks],
    )
    write_text(path, page)


def _row(check: Check) -> dict[str, Any]:
    provenance = check.provenance
    engine = provenance.get("engine") or {}
    worker = {
        "host": provenance.get("host"),
        "processor": provenance.get("cpu"),
        "device": engine.get("device"),
        "driver": engine.get("driver"),
        "engine": engine.get("engine"),
        "engine build": _flat(engine.get("build")),
        "dtype": engine.get("dtype"),
        "packages": _flat({**(provenance.get("packages") or {}), **(engine.get("packages") or {})}),
        "wall seconds": provenance.get("wall_seconds"),
        "requests": _flat(provenance.get("requests")),
        "Slurm job": provenance.get("slurm_job_id"),
    }
    return {
        "artifact": check.artifact,
        "stage": check.stage,
        "verdict": check.verdict,
        "says": VERDICTS[check.verdict],
        "findings": [*check.problems, *check.notes],
        "rows": check.rows,
        "digest": check.digest,
        "worker": {name: value for name, value in worker.items() if value not in (None, "", {})},
    }


def _flat(values: Any) -> str:
    if not isinstance(values, dict):
        return "" if values is None else str(values)
    return ", ".join(f"{name} {value}" for name, value in sorted(values.items()))
