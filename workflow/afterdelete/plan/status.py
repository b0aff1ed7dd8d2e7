"""What of a plan is finished, what is damaged, and how damage is put aside."""

from __future__ import annotations

import json
from pathlib import Path

from afterdelete.core.canonical import sha256_file
from afterdelete.core.errors import AfterDeleteError
from afterdelete.core.manifest import damage, manifest_path
from afterdelete.plan.node import Node
from afterdelete.plan.study import StudyPlan

QUARANTINE = ".quarantine"
SHOWN = 3


def data_path(plan: StudyPlan, node: Node, shard: str) -> Path:
    """The data file of an artifact."""
    return Path(plan.config.main.results) / node.path(shard)


def is_finished(plan: StudyPlan, node: Node, shard: str) -> bool:
    """Whether an artifact is there with a manifest that fits. Existence alone never decides."""
    if node.stage == "report":
        return report_problem(plan) is None
    return damage(data_path(plan, node, shard), node.key) is None


def damaged(plan: StudyPlan) -> list[tuple[Path, str]]:
    """Artifacts whose data and manifest both stand there and do not fit, with what is wrong."""
    found = []
    for node, shard in plan.artifacts():
        data = data_path(plan, node, shard)
        if node.stage != "report" and data.exists() and manifest_path(data).exists():
            problem = damage(data, node.key)
            if problem:
                found.append((data, problem))
    problem = report_problem(plan)
    manifest = report_directory(plan) / "all.json"
    if problem and manifest.exists():
        found.append((manifest, problem))
    return found


def refuse_damaged(plan: StudyPlan) -> None:
    """Raise AfterDeleteError naming the damaged artifacts of a plan, if there are any."""
    found = damaged(plan)
    if found:
        named = "; ".join(f"{path}: {problem}" for path, problem in found[:SHOWN])
        more = f" (and {len(found) - SHOWN} more)" if len(found) > SHOWN else ""
        raise AfterDeleteError(
            f"damaged artifact{'s' if len(found) > 1 else ''}: {named}{more}",
            f"run `afterdelete repair {plan.name}`, then the same command again: only these are made anew",
        )


def repair(plan: StudyPlan, thorough: bool = True) -> list[tuple[Path, str]]:
    """Move damaged artifacts to ``<results>/.quarantine``; nothing is deleted. Returns what was moved.

    ``thorough`` hashes every artifact, so a flipped byte with an untouched time is found too.
    """
    from afterdelete.core.manifest import digest_mismatch

    found = dict(damaged(plan))
    if thorough:
        for node, shard in plan.artifacts():
            data = data_path(plan, node, shard)
            if node.stage != "report" and data not in found and damage(data, node.key) is None:
                problem = digest_mismatch(data)
                if problem:
                    found[data] = problem
        problem = report_problem(plan) or report_mismatch(plan)
        manifest = report_directory(plan) / "all.json"
        if problem and manifest.exists():
            found.setdefault(manifest, problem)
    root = Path(plan.config.main.results)
    for path in found:
        for each in {path, manifest_path(path)}:
            if each.exists():
                _quarantine(root, each)
    return list(found.items())


def _quarantine(root: Path, path: Path) -> None:
    target = root / QUARANTINE / path.relative_to(root)
    number = 0
    while target.exists():
        number += 1
        target = target.with_name(f"{path.name}.{number}")
    target.parent.mkdir(parents=True, exist_ok=True)
    path.rename(target)


def report_directory(plan: StudyPlan) -> Path:
    """Where the report of this very plan stands."""
    return Path(plan.config.main.results) / plan.report.directory


def report_problem(plan: StudyPlan) -> str | None:
    """Why the report is not finished, or None: its manifest must list every file at its size."""
    directory = report_directory(plan)
    try:
        manifest = json.loads((directory / "all.json").read_text(encoding="utf-8"))
        if manifest["key"] != plan.report.key:
            return f"its manifest is of key {manifest['key']}"
        for name, seen in manifest["files"].items():
            if (directory / name).stat().st_size != seen["bytes"]:
                return f"{name} has another size than its manifest says"
    except (FileNotFoundError, NotADirectoryError) as error:
        return f"{Path(error.filename).name} is missing"
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        return f"its manifest is unreadable: {error}"
    return None


def report_mismatch(plan: StudyPlan) -> str | None:
    """The first page of a finished report whose bytes are not those of its manifest, or None."""
    directory = report_directory(plan)
    if report_problem(plan):
        return None
    listed = json.loads((directory / "all.json").read_text(encoding="utf-8"))["files"]
    for name in ("index.html", "summary.csv"):
        if name not in listed:
            return f"its manifest does not list {name}"
    for name, seen in listed.items():
        if sha256_file(directory / name) != seen.get("sha256"):
            return f"{name} has another sha256 than its manifest says"
    return None


def publish(plan: StudyPlan) -> Path:
    """Point ``report/<study>`` at the report of this plan; returns the link."""
    directory = report_directory(plan)
    link = directory.parent / plan.name
    if link.is_symlink() or not link.exists():
        temporary = link.with_name(f".{link.name}.new")
        temporary.unlink(missing_ok=True)
        temporary.symlink_to(directory.name)
        temporary.replace(link)
        return link
    raise AfterDeleteError(f"{link} is not a link", "move it away; the report stands in " + str(directory))
