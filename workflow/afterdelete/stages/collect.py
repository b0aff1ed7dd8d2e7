"""Joins the scores and certificates of many cells with the conditions they were made under."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from afterdelete.core.artifacts import read_artifact
from afterdelete.scoring.schema import CERTIFICATES, UNITS
from afterdelete.stages.context import Job


def units(job: Job, cells: list[dict[str, str]]) -> pa.Table:
    """Every scored (cell, profile, world) of ``cells``, with the condition columns.

    ``cells`` holds a cell id under ``cell`` and the conditions, as recipes list them.
    """
    study = job.parameters["study"]
    parts = []
    for cell in cells:
        node = job.node.inputs[f"scored-{cell['cell']}"]
        for shard in node.shards:
            scored = read_artifact(job.artifact(node, shard), node.key)
            constant = {"study": study, **cell}
            parts.append(_with_constants(scored, constant, UNITS))
    return pa.concat_tables(parts)


def certificates(job: Job) -> pa.Table:
    """Every certificate of the job's inputs, with split, memory and deletion."""
    parts = [CERTIFICATES.empty_table()]
    for role, node in job.node.inputs.items():
        if not role.startswith("certified-"):
            continue
        wanted = node.recipe["parameters"]
        split = node.inputs["profiles"].recipe["parameters"]["split"]
        constant = {"split": split, "memory": wanted["memory"], "deletion": wanted["deletion"]}
        for shard in node.shards:
            table = read_artifact(job.artifact(node, shard), node.key)
            parts.append(_with_constants(table, constant, CERTIFICATES))
    return pa.concat_tables(parts)


def _with_constants(table: pa.Table, constants: dict[str, Any], schema: pa.Schema) -> pa.Table:
    """``table`` with constant columns, in the columns and types of ``schema``."""
    columns = [
        pa.array([constants[field.name]] * table.num_rows, field.type)
        if field.name in constants
        else table.column(field.name).cast(field.type)
        for field in schema
    ]
    return pa.table(columns, schema=schema)
