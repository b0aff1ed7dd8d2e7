"""A job's view of its artifact: where inputs are, and that they are whole."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from afterdelete.core.artifacts import Upstream, read_artifact
from afterdelete.memory.state import State, from_table
from afterdelete.plan.node import Node, shard_range
from afterdelete.plan.study import StudyPlan


@dataclass(frozen=True)
class Job:
    """One artifact to make: a shard of a node of a planned study."""

    plan: StudyPlan
    node: Node
    shard: str
    threads: int | None = None

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of the recipe."""
        parameters: dict[str, Any] = self.node.recipe["parameters"]
        return parameters

    @property
    def results(self) -> Path:
        """Root of every output."""
        return Path(self.plan.config.main.results)

    @property
    def protected(self) -> Path:
        """The gate's protected state."""
        return Path(self.plan.config.main.protected)

    def output(self) -> Path:
        """The data file to write."""
        return self.results / self.node.path(self.shard)

    def checkpoint(self) -> Path:
        """Where an unfinished model job keeps its replies; gone once the artifact is written."""
        return self.results / ".checkpoints" / f"{self.node.stage}-{self.node.key}-{self.shard}.jsonl"

    def range(self) -> tuple[int, int]:
        """First profile index and the one after the last."""
        return shard_range(self.shard)

    def artifact(self, node: Node, shard: str | None = None) -> Path:
        """The data file of an input, of this job's shard by default."""
        return self.results / node.path(self.shard if shard is None else shard)

    def table(self, role: str) -> pa.Table:
        """The input that plays ``role``, checked against its manifest."""
        node = self.node.inputs[role]
        return read_artifact(self.artifact(node), node.key)

    def states(self, roles: tuple[str, ...]) -> dict[str, list[State]]:
        """The states of several worlds, those that are inputs of this job, in the order of ``roles``."""
        return {role: from_table(self.table(role)) for role in roles if role in self.node.inputs}

    def upstream(self) -> list[Upstream]:
        """What the manifest records as made from."""
        return [
            Upstream(role if shard == self.shard else f"{role}/{shard}", self.artifact(node, shard))
            for role, node, shard in self.node.made_from(self.shard)
        ]


def gate_file(protected: Path, profiles: Node, shard: str) -> Path:
    """Where the gate's descriptors of a profiles shard stand."""
    return protected / "gate" / f"{profiles.label}-{profiles.key}" / f"{shard}.json"
