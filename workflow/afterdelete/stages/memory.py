"""Stages that touch memory only: profiles, worlds, consolidated, deleted, certified, commit."""

from __future__ import annotations

import pyarrow as pa

from afterdelete import profiles
from afterdelete.core.artifacts import read_artifact
from afterdelete.lifecycle import certificate, commit
from afterdelete.memory import consolidate, delete, gate, worlds
from afterdelete.memory.state import from_table, to_table
from afterdelete.stages.context import Job, gate_file

WORLD_ORDER = ("forget", "clean", "retained")


def make_profiles(job: Job) -> pa.Table:
    """Generate the profiles of one shard."""
    start, stop = job.range()
    wanted = job.parameters
    return profiles.generate(
        wanted["split"], start, stop, seed=wanted["seed"], structure=wanted["structure"] or None
    )


def make_worlds(job: Job) -> pa.Table:
    """Raw records of one world."""
    return worlds.build(job.table("profiles"), job.parameters["world"])


def make_consolidated(job: Job) -> pa.Table:
    """Derived state."""
    states = from_table(job.table("worlds"))
    return to_table(consolidate.consolidate(state, job.parameters["memory"]) for state in states)


def make_deleted(job: Job) -> pa.Table:
    """The post-deletion snapshot."""
    states = from_table(job.table("consolidated"))
    return to_table(delete.delete(state, job.parameters["deletion"]) for state in states)


def make_certified(job: Job) -> pa.Table:
    """The non-interference certificate; a failing profile is an error, and nothing is written."""
    states = job.states(("forget", "clean"))
    exposures = {
        row["profile_id"]: {item["entry_id"] for item in row["exposure"]}
        for row in job.table("profiles").select(["profile_id", "exposure"]).to_pylist()
    }
    kind = certificate.kind_of(job.parameters["memory"], job.parameters["deletion"])
    table = certificate.certify(states["forget"], states["clean"], exposures, kind)
    certificate.require(table, job.node.label)
    return table


def seal_gate(job: Job) -> None:
    """Write the gate's descriptors of a finished profiles shard (the job) into protected state."""
    rows = read_artifact(job.output(), job.node.key).select(["profile_id", "attribute", "target"]).to_pylist()
    pairs = {row["profile_id"]: (row["attribute"], row["target"]) for row in rows}
    gate.seal(job.protected, gate_file(job.protected, job.node, job.shard), pairs)


def make_commit(job: Job) -> pa.Table:
    """Candidate writes through the gate, and the store after them."""
    sealed = None
    if job.parameters["gate"] == "on":
        node = job.node.inputs["profiles"]
        sealed = gate.unseal(job.protected, gate_file(job.protected, node, job.shard))
    return commit.run(
        job.states(WORLD_ORDER), job.table("audit"), sealed=sealed, branch=job.parameters["write_branch"]
    )
