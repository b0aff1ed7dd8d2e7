"""A node of the graph: one stage under one recipe. Its artifacts are its shards."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from afterdelete.core.canonical import content_key

KEY_VERSION = 1
MODEL_STAGES = ("audit", "activate")


def shard_name(start: int, stop: int) -> str:
    """Name of the shard that holds profiles ``start`` .. ``stop - 1``."""
    return f"{start:06d}-{stop:06d}"


def shard_range(name: str) -> tuple[int, int]:
    """The inverse of :func:`shard_name`."""
    start, stop = name.split("-")
    return int(start), int(stop)


@dataclass(frozen=True, eq=False)
class Node:
    """One stage under one recipe.

    ``recipe`` is what is hashed: key version, stage, stage version, the parameters that this stage reads,
    and the keys of what it is made from. ``requests`` bounds the model requests of one profile.
    """

    stage: str
    label: str
    recipe: dict[str, Any]
    key: str
    inputs: dict[str, Node]
    shards: tuple[str, ...]
    model: str = ""
    requests: int = 0

    @property
    def directory(self) -> str:
        """Directory below the results: ``<stage>/<label>-<key>``."""
        return f"{self.stage}/{self.label}-{self.key}"

    def made_from(self, shard: str) -> list[tuple[str, Node, str]]:
        """(role, node, shard) of everything one artifact is made from.

        A sharded stage reads the same shard of its inputs; a stage of one artifact reads all their shards.
        """
        return [
            (role, node, each)
            for role, node in self.inputs.items()
            for each in ((shard,) if shard in node.shards else node.shards)
        ]

    def path(self, shard: str) -> PurePosixPath:
        """The data file of one shard, relative to the results."""
        return PurePosixPath(f"{self.directory}/{shard}.parquet")


def make_node(
    stage: str,
    version: int,
    label: str,
    parameters: dict[str, Any],
    inputs: dict[str, Node],
    shards: tuple[str, ...],
    **extra: Any,
) -> Node:
    """Hash the recipe and build the node."""
    recipe = {
        "key_version": KEY_VERSION,
        "stage": stage,
        "stage_version": version,
        "parameters": parameters,
        "upstream": {role: node.key for role, node in inputs.items()},
    }
    return Node(stage, label, recipe, content_key(recipe), inputs, shards, **extra)
