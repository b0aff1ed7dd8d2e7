"""Stage ``commit``: every submission becomes a candidate write; the store after it is kept row by row."""

from __future__ import annotations

from typing import Any, Literal, get_args

import pyarrow as pa

from afterdelete.core.errors import AfterDeleteError
from afterdelete.memory import gate, write
from afterdelete.memory.state import STATE_SCHEMA, State, state_row

WriteBranch = Literal["write_allowed", "no_write"]
WRITE_BRANCHES: tuple[str, ...] = get_args(WriteBranch)
COMMIT_SCHEMA = pa.schema(
    [
        *STATE_SCHEMA,
        ("world", pa.string()),
        ("candidate", pa.string()),
        ("decision", pa.string()),
        ("state_sha256", pa.string()),
    ]
)


def submissions(audit: pa.Table) -> dict[tuple[str, str], str]:
    """What each episode submitted: (profile_id, world) -> prediction. Abstentions are absent."""
    rows = audit.select(["profile_id", "world", "prediction", "submitted"]).to_pylist()
    return {(row["profile_id"], row["world"]): row["prediction"] for row in rows if row["submitted"]}


def run(
    worlds: dict[str, list[State]],
    audit: pa.Table,
    *,
    sealed: tuple[bytes, dict[str, str]] | None,
    branch: str,
) -> pa.Table:
    """Apply every candidate to its store; one row a (profile, world), profile-major (``COMMIT_SCHEMA``).

    ``sealed`` is the gate's key and descriptors, or None with the gate off. Under ``no_write`` nothing is
    proposed. Raises AfterDeleteError for an unknown branch or a profile without a descriptor.
    """
    if branch not in WRITE_BRANCHES:
        raise AfterDeleteError(f"unknown write branch {branch!r}", f"use one of: {', '.join(WRITE_BRANCHES)}")
    submitted = submissions(audit) if branch == "write_allowed" else {}
    rows = []
    for twins in zip(*worlds.values(), strict=True):
        for world, state in zip(worlds, twins, strict=True):
            prediction = submitted.get((state.profile_id, world))
            candidate = None if prediction is None else gate.candidate_json(state.attribute, prediction)
            rows.append(_row(state, world, candidate, sealed))
    return pa.Table.from_pylist(rows, schema=COMMIT_SCHEMA)


def _row(
    state: State, world: str, candidate: str | None, sealed: tuple[bytes, dict[str, str]] | None
) -> dict[str, Any]:
    key, seal = None, None
    if sealed is not None:
        key, descriptors = sealed
        if state.profile_id not in descriptors:
            raise AfterDeleteError(
                f"no gate descriptor for {state.profile_id}", "remove the protected state and run again"
            )
        seal = descriptors[state.profile_id]
    decision = gate.decide(candidate, key=key, sealed=seal)
    after = write.apply(state, candidate, decision)
    return {
        **state_row(after),
        "world": world,
        "candidate": candidate,
        "decision": decision,
        "state_sha256": after.digest(),
    }
