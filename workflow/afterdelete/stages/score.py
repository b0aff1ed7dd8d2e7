"""Stages that read stored replies and scores: scored, headline, summary. No engine is ever imported here."""

from __future__ import annotations

import sys

import pyarrow as pa

from afterdelete.prompts.parse import parser
from afterdelete.scoring.score import score
from afterdelete.stages.collect import certificates, units
from afterdelete.stages.context import Job
from afterdelete.stats.summary import summarise
from afterdelete.stats.terminal import headline_line


def make_scored(job: Job) -> pa.Table:
    """Score one shard of one cell."""
    inputs = job.node.inputs
    return score(
        job.table("profiles"),
        job.table("audit"),
        parser(job.parameters["scoring_parser"]),
        commit=job.table("commit") if "commit" in inputs else None,
        activation=job.table("activate") if "activate" in inputs else None,
    )


def make_summary(job: Job) -> pa.Table:
    """Every cell and endpoint of a study."""
    bootstrap = job.parameters["bootstrap"]
    return summarise(
        units(job, job.parameters["cells"]),
        certificates(job),
        resamples=bootstrap["resamples"],
        seed=bootstrap["seed"],
    )


def make_headline(job: Job) -> pa.Table:
    """The units of the headline cell alone; its line goes to the terminal at once."""
    bootstrap = job.parameters["bootstrap"]
    table = units(job, job.parameters["cells"])
    line = headline_line(table, resamples=bootstrap["resamples"], seed=bootstrap["seed"])
    print(line, file=sys.stderr, flush=True)
    return table
