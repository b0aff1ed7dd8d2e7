"""Stage ``report``: from scored artifacts and stored raw replies to the pages of a study."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from afterdelete.core.artifacts import read_artifact
from afterdelete.core.atomic import write_text
from afterdelete.core.canonical import sha256_file
from afterdelete.core.manifest import read_manifest
from afterdelete.plan.node import MODEL_STAGES, Node
from afterdelete.plan.status import publish, report_directory
from afterdelete.plan.study import Cell
from afterdelete.prompts.parse import parser
from afterdelete.report import build_report
from afterdelete.scoring.schema import REPLIES, TARGETS
from afterdelete.stages.collect import certificates, units
from afterdelete.stages.context import Job


def render_report(job: Job) -> None:
    """Build every page in a directory beside the final one, then put it in its place whole."""
    plan = job.plan
    bootstrap = plan.config.main.bootstrap
    out = report_directory(plan)
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{out.name}.", dir=out.parent) as temporary:
        pages = Path(temporary) / "pages"
        build_report(
            pages,
            units=units(job, job.node.inputs["summary"].recipe["parameters"]["cells"]),
            replies=_replies(job),
            certificates=certificates(job),
            targets=_targets(job),
            provenance=_provenance(job),
            requests=_requests(job),
            headline=plan.headline.recipe["parameters"]["cells"][0]["cell"],
            resamples=bootstrap.resamples,
            seed=bootstrap.seed,
        )
        listed = {
            str(path.relative_to(pages)): {"bytes": path.stat().st_size, "sha256": sha256_file(path)}
            for path in sorted(pages.rglob("*"))
            if path.is_file()
        }
        manifest = {"key": job.node.key, "recipe": job.node.recipe, "files": listed}
        write_text(pages / "all.json", json.dumps(manifest, indent=1) + "\n")
        # Snakemake makes the output directory before a job; it holds nothing that is not made anew here.
        shutil.rmtree(out, ignore_errors=True)
        pages.rename(out)
    publish(plan)


def _shards(job: Job, node: Node) -> Iterator[Path]:
    for shard in node.shards:
        yield job.artifact(node, shard)


def _rows(job: Job, node: Node) -> Iterator[dict[str, Any]]:
    for path in _shards(job, node):
        yield from read_artifact(path, node.key).to_pylist()


def _targets(job: Job) -> pa.Table:
    """Targets of every profile that the study used."""
    found = {
        row["profile_id"]: row["target"]
        for role, node in job.node.inputs.items()
        if role.startswith("profiles-")
        for row in _rows(job, node)
    }
    return pa.table([list(found), list(found.values())], schema=TARGETS)


def _replies(job: Job) -> pa.Table:
    """Every raw reply of every cell, as the scoring parser reads it."""
    parse = parser(job.plan.config.main.scoring_parser)
    targets = dict(zip(*(column.to_pylist() for column in _targets(job).columns), strict=True))
    rows = []
    for cell in job.plan.cells:
        for stage, node in _asked(cell):
            for row in _rows(job, node):
                reading = parse(row["reply"])
                rows.append(
                    {
                        **{name: row[name] for name in REPLIES.names if name in row},
                        "cell": cell.id,
                        "stage": stage,
                        "parse": reading.parse,
                        "prediction": reading.prediction,
                        "contains_target": targets[row["profile_id"]] in row["reply"],
                        "prompt_sha256": row["private_prompt_sha256"],
                    }
                )
    return pa.Table.from_pylist(rows, schema=REPLIES)


def _asked(cell: Cell) -> Iterator[tuple[str, Node]]:
    yield "audit", cell.nodes["audit"]
    if "activate" in cell.nodes:
        yield "activation", cell.nodes["activate"]


def _model_nodes(job: Job) -> list[Node]:
    return [node for node in job.node.inputs.values() if node.stage in MODEL_STAGES]


def _requests(job: Job) -> dict[str, int]:
    """How many replies the study holds, and how many of them were generated."""
    generated = [row["generated"] for node in _model_nodes(job) for row in _rows(job, node)]
    return {
        "asked": len(generated),
        "generated": sum(generated),
        "same bytes as another request of the same job": len(generated) - sum(generated),
    }


def _provenance(job: Job) -> dict[str, Any]:
    """Engine, packages and processor of the workers that called a model; no host, no time."""
    seen: dict[str, dict[str, Any]] = {}
    for node in _model_nodes(job):
        for path in _shards(job, node):
            engine = read_manifest(path)["provenance"].get("engine", {})
            shown = {name: value for name, value in engine.items() if name not in {"host", "files"}}
            seen[json.dumps([node.model, shown], sort_keys=True)] = {"model": node.model, **shown}
    each = [seen[text] for text in sorted(seen)]
    if len(each) == 1:
        return each[0]
    return {f"worker {at + 1}": worker for at, worker in enumerate(each)}
