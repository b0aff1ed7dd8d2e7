"""Recompute what a manifest claims: bytes, logical digest, rows, key, chain, frozen digest.

Nothing here runs a stage. An artifact passes when its bytes are those that were written, hold what the
manifest says, stand under the key that their recipe gives, and were made from the artifacts that stand
upstream now.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq

from afterdelete.core.artifacts import logical_digest
from afterdelete.core.canonical import content_key, sha256_file
from afterdelete.core.errors import AfterDeleteError
from afterdelete.core.manifest import malformation, manifest_path, read_manifest
from afterdelete.plan.node import Node
from afterdelete.plan.status import data_path, report_directory
from afterdelete.plan.study import StudyPlan
from afterdelete.verify.frozen import Frozen, compare

Verdict = Literal["ok", "other_machine", "differs"]


@dataclass
class Check:
    """One artifact: what was found wrong (empty: nothing), and who made it."""

    artifact: str
    stage: str
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    rows: int | None = None
    digest: str = ""
    provenance: dict[str, Any] = field(default_factory=dict)

    @property
    def verdict(self) -> Verdict:
        """``differs`` fails a verification; ``other_machine``: another processor gave other replies."""
        if self.problems:
            return "differs"
        return "other_machine" if self.notes else "ok"


def verify(plan: StudyPlan, frozen: Frozen | None) -> list[Check]:
    """Check every artifact of a study, inputs first; the report's files last."""
    checks = [_artifact(plan, node, shard) for node, shard in plan.artifacts() if node.stage != "report"]
    if frozen is not None:
        for name in compare(plan, frozen, {check.artifact: check for check in checks}):
            gone = "frozen, but no longer part of the study"
            checks.append(Check(name, name.split("/")[0], problems=[gone]))
    return [*checks, _report(plan)]


def name_of(node: Node, shard: str) -> str:
    """The name of an artifact: its path below the results, without suffix."""
    return f"{node.directory}/{shard}"


def _artifact(plan: StudyPlan, node: Node, shard: str) -> Check:
    check = Check(name_of(node, shard), node.stage)
    data = data_path(plan, node, shard)
    try:
        manifest = read_manifest(data)
    except AfterDeleteError as error:
        check.problems.append(error.problem)
        return check
    check.provenance = manifest.get("provenance") or {}
    if not data.is_file():
        check.problems.append("the data file is missing")
        return check
    if malformed := malformation(manifest):
        check.problems.append(malformed)
        return check
    check.problems += _bytes(data, manifest)
    check.problems += _key(node, shard, manifest)
    check.problems += _chain(plan, node, shard, manifest)
    if not check.problems:
        table, problems = _content(data, manifest)
        check.problems += problems
        if table is not None:
            check.rows, check.digest = table.num_rows, manifest["logical_digest"]
    return check


def _bytes(data: Path, manifest: dict[str, Any]) -> list[str]:
    if data.stat().st_size != manifest.get("bytes"):
        return [f"{data.stat().st_size} bytes, its manifest says {manifest.get('bytes')}"]
    found = sha256_file(data)
    if found != manifest.get("sha256"):
        return [f"sha256 is {found}, its manifest says {manifest.get('sha256')}"]
    return []


def _key(node: Node, shard: str, manifest: dict[str, Any]) -> list[str]:
    recipe = manifest.get("recipe")
    if not isinstance(recipe, dict):
        return ["its manifest holds no recipe"]
    problems = []
    if content_key(recipe) != manifest.get("key"):
        problems.append(
            f"its recipe gives key {content_key(recipe)}, its manifest says {manifest.get('key')}"
        )
    if manifest.get("key") != node.key:
        problems.append(f"its manifest is of key {manifest.get('key')}, the plan says {node.key}")
    if manifest.get("shard") != shard:
        problems.append(f"its manifest is of shard {manifest.get('shard')}")
    return problems


def _chain(plan: StudyPlan, node: Node, shard: str, manifest: dict[str, Any]) -> list[str]:
    """What it was made from must be what stands upstream now, by content."""
    recorded = manifest.get("upstream") or {}
    problems = []
    expected = {}
    for role, upstream, part in node.made_from(shard):
        expected[role if part == shard else f"{role}/{part}"] = (upstream, part)
    if set(recorded) != set(expected):
        problems.append("its manifest lists other inputs than its stage has")
    for role in sorted(set(recorded) & set(expected)):
        upstream, part = expected[role]
        try:
            now = read_manifest(data_path(plan, upstream, part))
        except AfterDeleteError as error:
            problems.append(f"its input {role}: {error.problem}")
            continue
        for name in ("key", "logical_digest"):
            if recorded[role].get(name) != now.get(name):
                problems.append(f"it was made from another {role} than stands there now ({name})")
                break
    return problems


def _content(data: Path, manifest: dict[str, Any]) -> tuple[pa.Table | None, list[str]]:
    try:
        table = pq.read_table(data, use_threads=False)
    except (OSError, pa.ArrowException) as error:
        return None, [f"not a readable parquet file: {error}"]
    problems = []
    if table.num_rows != manifest.get("rows"):
        problems.append(f"{table.num_rows} rows, its manifest says {manifest.get('rows')}")
    digest = logical_digest(table)
    if digest != manifest.get("logical_digest"):
        problems.append(f"logical digest is {digest}, its manifest says {manifest.get('logical_digest')}")
    return table, problems


def _report(plan: StudyPlan) -> Check:
    """Every file of the report by its own manifest; a stray file is a difference too."""
    directory = report_directory(plan)
    check = Check(plan.report.directory, "report")
    path = manifest_path(directory / "all.parquet")
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
        listed = dict(manifest["files"])
        if manifest["key"] != plan.report.key or content_key(manifest["recipe"]) != plan.report.key:
            check.problems.append(f"{path.name} is of key {manifest['key']}, the plan says {plan.report.key}")
    except FileNotFoundError:
        check.problems.append(f"{path} is missing")
        return check
    except (OSError, ValueError, KeyError, TypeError) as error:
        check.problems.append(f"{path} is unreadable: {error}")
        return check
    present = {str(p.relative_to(directory)) for p in directory.rglob("*") if p.is_file()} - {path.name}
    for name in sorted(set(listed) | present):
        if name not in present:
            check.problems.append(f"{name} is missing")
        elif name not in listed:
            check.problems.append(f"{name} does not belong to the report")
        elif sha256_file(directory / name) != listed[name]["sha256"]:
            check.problems.append(f"{name} has another sha256 than the manifest says")
    check.rows = len(listed)
    return check
