"""Stage ``certified``: the non-interference certificate of a memory and deletion.

For flat memory and for closure and group deletion, the private prompts of forget and clean must be the
same bytes: then the evaluated model cannot tell the worlds apart, and a zero gap is proved, not only
observed. For hierarchical memory with exact deletion they may differ in the exposure's span only.
"""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa

from afterdelete.core.canonical import sha256_text
from afterdelete.core.errors import AfterDeleteError
from afterdelete.memory.consolidate import SEPARATOR
from afterdelete.memory.state import State
from afterdelete.prompts.private import render

CERTIFICATE_SCHEMA = pa.schema(
    [
        ("profile_id", pa.string()),
        ("index", pa.int64()),
        ("kind", pa.string()),
        ("holds", pa.bool_()),
        ("detail", pa.string()),
    ]
)


def kind_of(memory: str, deletion: str) -> str:
    """Which certificate a condition must meet: ``identical`` or ``span_only``."""
    return "span_only" if memory == "hierarchical" and deletion == "exact" else "identical"


def certify(forget: list[State], clean: list[State], exposures: dict[str, set[str]], kind: str) -> pa.Table:
    """Compare the private prompts of both worlds, profile by profile.

    ``exposures`` maps profile_id to the entry ids of its exposure records (evaluator-side). One row a
    profile (``CERTIFICATE_SCHEMA``); ``detail`` says at which character a failing pair differs.
    """
    rows = [
        _row(one, other, exposures[one.profile_id], kind) for one, other in zip(forget, clean, strict=True)
    ]
    return pa.Table.from_pylist(rows, schema=CERTIFICATE_SCHEMA)


def require(table: pa.Table, condition: str) -> None:
    """Raise AfterDeleteError naming the first profile whose certificate does not hold."""
    failed = [row for row in table.to_pylist() if not row["holds"]]
    if failed:
        raise AfterDeleteError(
            f"non-interference certificate fails for {condition}: {len(failed)} of {table.num_rows} "
            f"profiles, first {failed[0]['profile_id']}: {failed[0]['detail']}",
            "a world leaks into the other's prompt: trust no zero of this condition until it is mended",
        )


def _row(forget: State, clean: State, exposure: set[str], kind: str) -> dict[str, Any]:
    if forget.profile_id != clean.profile_id:
        raise AfterDeleteError("forget and clean hold different profiles", "report this as a bug")
    if kind == "span_only":
        texts = [_masked(state, exposure) for state in (forget, clean)]
    else:
        texts = [render(state).text for state in (forget, clean)]
    at = _first_difference(*texts)
    return {
        "profile_id": forget.profile_id,
        "index": forget.index,
        "kind": kind,
        "holds": at is None,
        "detail": f"sha256 {sha256_text(texts[0])[:16]}" if at is None else f"differs at character {at}",
    }


def _masked(state: State, exposure: set[str]) -> str:
    """The private prompt with the lines of exposure records cut out of every summary.

    Lines are found by lineage, not by content, so a difference anywhere else stays visible. Raises
    AfterDeleteError if a summary's lines do not match its lineage.
    """
    prompt = render(state).text
    for summary in state.summaries:
        lines = summary.text.split(SEPARATOR)
        if len(lines) != len(summary.source_ids):
            raise AfterDeleteError(
                f"{state.profile_id}: a summary does not match its lineage", "report this as a bug"
            )
        kept = [
            "" if entry_id in exposure else line
            for entry_id, line in zip(summary.source_ids, lines, strict=True)
        ]
        shown, masked = _inside(summary.text), _inside(SEPARATOR.join(kept))
        if prompt.count(shown) != 1:
            raise AfterDeleteError(
                f"{state.profile_id}: a summary does not stand exactly once in its prompt",
                "report this as a bug",
            )
        prompt = prompt.replace(shown, masked)
    return prompt


def _inside(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _first_difference(one: str, other: str) -> int | None:
    if one == other:
        return None
    for at, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return at
    return min(len(one), len(other))
