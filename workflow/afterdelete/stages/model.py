"""Stages that call the evaluated model: audit and activate. The only ones that may load an engine."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from afterdelete import auditors
from afterdelete.config.model_spec import ModelSpec, load_model_spec
from afterdelete.core.artifacts import read_artifact
from afterdelete.core.errors import AfterDeleteError
from afterdelete.engines import open_engine
from afterdelete.lifecycle import activate, audit, determinism
from afterdelete.lifecycle.checkpoint import Checkpoint
from afterdelete.lifecycle.exchange import Model
from afterdelete.plan.progress import Progress
from afterdelete.prompts.parse import parser
from afterdelete.stages.context import Job
from afterdelete.stages.fetch import model_files
from afterdelete.stages.memory import WORLD_ORDER

Made = tuple[pa.Table, dict[str, Any]]


def make_audit(job: Job) -> Made:
    """Audit the profiles of one shard in every world of the cell."""
    wanted = job.parameters
    plan = audit.AuditPlan(
        operators=wanted["operators"],
        request=wanted["request"],
        parse=parser(wanted["protocol_parser"]),
        max_queries=wanted["max_queries"],
    )
    auditor = auditors.load(wanted["auditor"]["strategy"], wanted["auditor"]["options"])
    states = job.states(WORLD_ORDER)
    return _with_model(job, lambda model: audit.run(states, auditor, plan, model))


def make_activate(job: Job) -> Made:
    """Probe every store of a commit shard in a fresh session."""
    wanted = job.parameters
    table = job.table("commit")
    parse = parser(wanted["protocol_parser"])
    return _with_model(
        job, lambda model: activate.run(table, wanted["probe"], wanted["request"], parse, model)
    )


def make_determinism(job: Job) -> Made:
    """Ask a sample of the study's audit requests again: other order, no reuse, batch 1."""
    wanted = job.parameters
    audits = {
        node.directory: pa.concat_tables(
            [read_artifact(job.artifact(node, shard), node.key) for shard in node.shards]
        )
        for node in job.node.inputs.values()
    }
    rows = determinism.sample(audits, wanted["sample"], wanted["seed"])
    spec, files = _spec_and_files(job)
    with open_engine(
        spec.model_copy(update={"batch_size": 1}), files, reuse=False, threads=job.threads
    ) as engine:
        table = determinism.ask_again(
            rows, engine, parser(wanted["protocol_parser"]), model=spec.name, kind=spec.engine
        )
        provenance = engine.provenance()
    print(determinism.line(table), file=sys.stderr, flush=True)
    return table, {"engine": provenance}


def _with_model(job: Job, work: Callable[[Model], pa.Table]) -> Made:
    with _model(job) as (model, checkpoint):
        started = time.monotonic()
        table = work(model)
        seconds = time.monotonic() - started
        provenance = {"engine": model.engine.provenance()}
    counts = {
        "asked": model.asked,
        "generated": model.generated,
        "restored": model.restored,
        "seconds": round(seconds, 3),
        "requests_per_second": round(model.generated / seconds, 3) if seconds else 0.0,
    }
    # Where replies were taken up from a checkpoint: what generated those, which may be another machine.
    earlier = {"restored_from": checkpoint.makers} if model.restored else {}
    return table, {**provenance, "requests": counts, **earlier}


@contextmanager
def _model(job: Job) -> Iterator[tuple[Model, Checkpoint]]:
    spec, files = _spec_and_files(job)
    start, stop = job.range()
    progress = Progress.of(job.results, job.node, job.shard, total=job.node.requests * (stop - start))
    with open_engine(spec, files, threads=job.threads) as engine:
        checkpoint = Checkpoint(
            job.checkpoint(),
            f"{job.node.stage}-{job.node.key}-{job.shard}",
            block=spec.batch_size,
            maker=engine.provenance(),
        )
        with closing(checkpoint):
            yield Model(engine, progress.report, checkpoint), checkpoint
    progress.finish()


def _spec_and_files(job: Job) -> tuple[ModelSpec, dict[str, Path]]:
    config = job.plan.config
    spec = load_model_spec(config.directory / "models" / f"{job.node.model}.yaml")
    if spec.identity() != job.parameters["model"]:
        raise AfterDeleteError(
            f"config/models/{job.node.model}.yaml changed since this job was planned", "run again"
        )
    return spec, model_files(spec, Path(config.main.models))
