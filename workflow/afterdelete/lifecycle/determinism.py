"""Asking again: do the same requests give the same replies under other circumstances?

A sample of stored audit requests is asked in another order, without reuse of what requests share, and one
at a time (batch 1). A raw reply that differs is a flip; an official reading that differs is counted apart,
because a flip in white space changes no score.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from afterdelete.engines.base import ChatRequest, Engine
from afterdelete.prompts.parse import Parsed

VARIES = '"prior_audit_turns":['
SCHEMA = pa.schema(
    [
        ("model", pa.string()),
        ("engine", pa.string()),
        ("audit", pa.string()),
        ("profile_id", pa.string()),
        ("world", pa.string()),
        ("turn", pa.int32()),
        ("reply", pa.string()),
        ("reply_again", pa.string()),
        ("reply_flipped", pa.bool_()),
        ("reading_flipped", pa.bool_()),
    ]
)


def sample(audits: dict[str, pa.Table], size: int, seed: int) -> list[dict[str, Any]]:
    """``size`` stored requests over all audits, each distinct request once, in an order of their own.

    The order does not depend on how ``audits`` is ordered. Rows carry the audit's name under ``audit``.
    """
    distinct: dict[str, dict[str, Any]] = {}
    for name in sorted(audits):
        for row in audits[name].to_pylist():
            distinct.setdefault(f"{row['private_prompt']}\x00{row['question']}", {**row, "audit": name})
    rows = [distinct[text] for text in sorted(distinct)]
    chosen = random.Random(seed)
    return chosen.sample(rows, min(size, len(rows)))


def ask_again(
    rows: list[dict[str, Any]],
    engine: Engine,
    parse: Callable[[str], Parsed],
    *,
    model: str,
    kind: str,
    on_reply: Callable[[int], None] = lambda done: None,
) -> pa.Table:
    """Ask every row once more, one request at a time; one row a request (``SCHEMA``)."""
    made = []
    for done, row in enumerate(rows):
        (reply,) = engine.generate([_request(row)])
        before, after = parse(row["reply"]), parse(reply.text)
        made.append(
            {
                **{name: row[name] for name in ("audit", "profile_id", "world", "turn", "reply")},
                "model": model,
                "engine": kind,
                "reply_again": reply.text,
                "reply_flipped": reply.text != row["reply"],
                "reading_flipped": before != after,
            }
        )
        on_reply(done + 1)
    return pa.Table.from_pylist(made, schema=SCHEMA)


def _request(row: dict[str, Any]) -> ChatRequest:
    """The request as it was first asked. In an audit nothing varies before the prior turns."""
    prompt = row["private_prompt"]
    return ChatRequest(prompt, row["question"], prompt.rindex(VARIES) + 1)


def line(table: pa.Table) -> str:
    """Flip rates in one line."""
    flips, readings = (sum(table[name].to_pylist()) for name in ("reply_flipped", "reading_flipped"))
    model, engine = table["model"][0].as_py(), table["engine"][0].as_py()
    return (
        f"determinism of {model} on {engine}: {flips} of {table.num_rows} raw replies flipped, "
        f"{readings} official readings"
    )
