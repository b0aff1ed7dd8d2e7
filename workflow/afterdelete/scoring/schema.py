"""The tables that scoring hands to statistics and reports: their columns, types and meaning.

`UNITS` has one row a (cell, profile, world), `REPLIES` one row a raw reply, `CERTIFICATES` one row a
(split, memory, deletion, profile), `TARGETS` one row a profile. All of them are evaluator-side.
"""

from __future__ import annotations

import pyarrow as pa

from afterdelete.core.errors import AfterDeleteError

# The conditions of a cell, in the order in which every table and figure sorts.
CONDITIONS = (
    "study",
    "model",
    "split",
    "memory",
    "deletion",
    "gate",
    "auditor",
    "audit_contract",
    "activation_contract",
    "write_branch",
)
# The order in which a reader meets structures: from plain to composed.
STRUCTURES = ("atomic", "duplicated", "correlated", "compositional")
ENDPOINTS = ("R", "C", "A", "E")
PARSES = ("prediction", "abstention", "malformed")
# Where the target sat in a raw reply; "" means that it occurs nowhere.
PLACES = ("top_value", "nested", "other_field", "prose", "fenced", "truncated")
MAX_QUERIES = 10

UNITS = pa.schema(
    [
        ("cell", pa.string()),
        *((name, pa.string()) for name in CONDITIONS),
        ("profile_id", pa.string()),
        ("index", pa.int64()),
        ("domain", pa.string()),
        ("structure", pa.string()),
        ("world", pa.string()),
        ("R", pa.bool_()),
        ("C", pa.bool_()),
        ("A", pa.bool_()),
        ("E", pa.bool_()),
        ("queries", pa.int32()),
        ("recovery_query", pa.int32()),
        ("audit_parse", pa.string()),
        ("audit_raw_target", pa.bool_()),
        ("audit_where", pa.string()),
        ("activation_parse", pa.string()),
        ("activation_raw_target", pa.bool_()),
        ("activation_where", pa.string()),
        ("candidate_contains_target", pa.bool_()),
        ("store_contains_target_after_write", pa.bool_()),
        ("stale", pa.bool_()),
    ]
)

REPLIES = pa.schema(
    [
        ("cell", pa.string()),
        ("profile_id", pa.string()),
        ("world", pa.string()),
        ("stage", pa.string()),
        ("turn", pa.int32()),
        ("operator", pa.string()),
        ("question", pa.string()),
        ("reply", pa.string()),
        ("finish_reason", pa.string()),
        ("parse", pa.string()),
        ("prediction", pa.string()),
        ("prompt_tokens", pa.int32()),
        ("completion_tokens", pa.int32()),
        ("contains_target", pa.bool_()),
        ("prompt_sha256", pa.string()),
        ("private_prompt", pa.string()),
    ]
)

CERTIFICATES = pa.schema(
    [
        ("split", pa.string()),
        ("memory", pa.string()),
        ("deletion", pa.string()),
        ("profile_id", pa.string()),
        ("kind", pa.string()),
        ("holds", pa.bool_()),
        ("detail", pa.string()),
    ]
)

TARGETS = pa.schema([("profile_id", pa.string()), ("target", pa.string())])


def conform(table: pa.Table, schema: pa.Schema, name: str) -> pa.Table:
    """``table`` with exactly the columns and types of ``schema``; extra columns are dropped.

    Raises AfterDeleteError naming the missing columns, or the column that cannot take its type.
    """
    missing = [column for column in schema.names if column not in table.column_names]
    if missing:
        raise AfterDeleteError(f"table {name} lacks {', '.join(missing)}", "score the study again")
    try:
        return table.select(schema.names).cast(schema)
    except (pa.ArrowException, ValueError) as error:
        problem = f"table {name} has a column of another type: {error}"
        raise AfterDeleteError(problem, "score the study again") from error
