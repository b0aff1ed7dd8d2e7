"""Builds nodes stage by stage; the same recipe is the same node."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from afterdelete import auditors
from afterdelete.config.load import Config
from afterdelete.config.model_spec import ModelSpec, load_model_spec
from afterdelete.config.schema import AuditorConfig, Panel, StudyConfig
from afterdelete.core.errors import AfterDeleteError
from afterdelete.memory.delete import NO_DELETION
from afterdelete.plan import versions
from afterdelete.plan.node import Node, make_node, shard_name
from afterdelete.profiles import inventory_digest
from afterdelete.prompts.parse import parser

if TYPE_CHECKING:
    from afterdelete.plan.study import Cell

PAIR = ("forget", "clean")


class Builder:
    """Nodes of one study. Every method that makes a node is memoised, so cells share what they agree on."""

    def __init__(self, config: Config, study: StudyConfig) -> None:
        self.config = config
        self.study = study
        self._nodes: dict[str, Node] = {}
        self._specs: dict[str, ModelSpec] = {}
        for version in (config.main.protocol_parser, config.main.scoring_parser):
            parser(version)

    def cell_nodes(self, cell: Cell) -> dict[str, Node]:
        """The nodes of a cell by role: audit, scored, and where they apply certified, commit, activate."""
        panel = self.config.panel(cell.panel)
        if panel.split != cell.split:
            raise AfterDeleteError(
                f"panel {cell.panel} is of split {panel.split}, not {cell.split}", "mend the study's `panels`"
            )
        audit = self._audit(cell, panel)
        nodes = {"profiles": self._profiles(cell.panel), "audit": audit}
        scored_from = dict(nodes)
        if cell.deletion != NO_DELETION:
            nodes["certified"] = self._certified(cell)
        if cell.gate:
            commit = self._commit(cell, audit)
            nodes["commit"] = commit
            nodes["activate"] = self._activate(cell, panel, commit)
            scored_from |= {"commit": commit, "activate": nodes["activate"]}
        nodes["scored"] = self._node(
            "scored",
            f"{cell.split}-{cell.memory}-{cell.deletion}-{cell.auditor}-{cell.audit_contract}"
            + (f"-gate-{cell.gate}-{cell.activation_contract}" if cell.gate else ""),
            {"scoring_parser": self.config.main.scoring_parser},
            scored_from,
            cell.panel,
        )
        return nodes

    def summary(self, name: str, cells: Sequence[Cell]) -> Node:
        """All cells of a study, with intervals: one artifact, keyed by the scores it is made from."""
        parameters = {
            "study": name,
            "bootstrap": self.config.main.bootstrap.model_dump(),
            "cells": [{**cell.conditions(), "cell": cell.id} for cell in cells],
        }
        return self._single("summary", name, parameters, _by_role(cells, ("scored", "certified")))

    def headline(self, name: str, cell: Cell) -> Node:
        """The line of the headline cell, made as soon as its scores are there."""
        parameters = {
            "study": name,
            "bootstrap": self.config.main.bootstrap.model_dump(),
            "cells": [{**cell.conditions(), "cell": cell.id}],
        }
        return self._single("headline", name, parameters, _by_role([cell], ("scored",)))

    def report(self, name: str, summary: Node, cells: Sequence[Cell]) -> Node:
        """The pages of a study, down to every raw reply."""
        parameters = {"study": name, "description": self.study.description}
        inputs = {
            "summary": summary,
            **_by_role(cells, ("profiles", "scored", "audit", "activate", "certified")),
        }
        return self._single("report", name, parameters, inputs)

    def determinism(self, model: str, cells: Sequence[Cell]) -> Node:
        """Asking a sample of one model's audit requests again; not part of what a study needs."""
        audits = _by_role([cell for cell in cells if cell.model == model], ("audit",))
        parameters = {
            "model": self._model(model).identity(),
            "protocol_parser": self.config.main.protocol_parser,
            **self.config.main.determinism.model_dump(),
        }
        return make_node(
            "determinism",
            versions.STAGES["determinism"],
            model,
            parameters,
            audits,
            ("all",),
            model=model,
            requests=self.config.main.determinism.sample,
        )

    def _single(self, stage: str, name: str, parameters: dict[str, Any], inputs: dict[str, Node]) -> Node:
        return make_node(stage, versions.STAGES[stage], name, parameters, inputs, ("all",))

    def _profiles(self, panel_name: str) -> Node:
        panel = self.config.panel(panel_name)
        parameters = {
            "split": panel.split,
            "seed": getattr(self.config.main.seeds, panel.split),
            "structure": panel.structure or "",
            "inventory": _inventory(panel.split),
        }
        return self._node("profiles", panel.split, parameters, {}, panel_name)

    def _deleted(self, panel_name: str, world: str, memory: str, deletion: str) -> Node:
        profiles = self._profiles(panel_name)
        split = profiles.recipe["parameters"]["split"]
        worlds = self._node("worlds", split, {"world": world}, {"profiles": profiles}, panel_name)
        consolidated = self._node(
            "consolidated", f"{split}-{memory}", {"memory": memory}, {"worlds": worlds}, panel_name
        )
        return self._node(
            "deleted",
            f"{split}-{memory}-{deletion}",
            {"deletion": deletion},
            {"consolidated": consolidated},
            panel_name,
        )

    def _certified(self, cell: Cell) -> Node:
        inputs = {world: self._deleted(cell.panel, world, cell.memory, cell.deletion) for world in PAIR}
        inputs["profiles"] = self._profiles(cell.panel)
        return self._node(
            "certified",
            f"{cell.split}-{cell.memory}-{cell.deletion}",
            {"prompt_version": versions.PROMPT, "memory": cell.memory, "deletion": cell.deletion},
            inputs,
            cell.panel,
        )

    def _audit(self, cell: Cell, panel: Panel) -> Node:
        worlds = ("retained",) if cell.deletion == NO_DELETION else PAIR
        inputs = {world: self._deleted(cell.panel, world, cell.memory, cell.deletion) for world in worlds}
        auditor = self._auditor(cell.auditor)
        queries = min(auditor.max_queries, self.study.max_queries)
        parameters = {
            "model": self._model(cell.model).identity(),
            "prompt_version": versions.PROMPT,
            "operators": self.config.operators.operators,
            "request": self.config.contract(cell.audit_contract).request,
            "auditor": {"strategy": auditor.strategy, "options": auditor.options},
            "max_queries": queries,
            "protocol_parser": self.config.main.protocol_parser,
            "shard_profiles": self.config.main.shard_profiles,
        }
        return self._node(
            "audit",
            f"{cell.model}-{cell.split}-{cell.memory}-{cell.deletion}-{cell.auditor}-{cell.audit_contract}",
            parameters,
            inputs,
            cell.panel,
            model=cell.model,
            requests=_distinct_worlds(cell) * self._longest(auditor.options, queries),
        )

    def _auditor(self, name: str) -> AuditorConfig:
        """A configured auditor that can be made, and that knows only operators that exist."""
        auditor = self.config.auditor(name)
        try:
            auditors.load(auditor.strategy, auditor.options)
        except AfterDeleteError as error:
            raise AfterDeleteError(f"auditor {name}: {error.problem}", error.remedy) from error
        unknown = sorted(set(auditor.options.get("order", [])) - set(self.config.operators.operators))
        if unknown:
            raise AfterDeleteError(
                f"auditor {name} asks unknown operators: {', '.join(unknown)}",
                f"known in {self.config.directory / 'operators.yaml'}: "
                + ", ".join(self.config.operators.operators),
            )
        return auditor

    @staticmethod
    def _longest(options: dict[str, Any], queries: int) -> int:
        order = options.get("order")
        return min(queries, len(order)) if isinstance(order, list) else queries

    def _commit(self, cell: Cell, audit: Node) -> Node:
        parameters = {
            "gate": cell.gate,
            "write_branch": cell.write_branch,
            "protocol_parser": self.config.main.protocol_parser,
        }
        label = f"{cell.model}-{cell.split}-{cell.memory}-{cell.deletion}-gate-{cell.gate}"
        inputs = {"audit": audit, **audit.inputs}
        if cell.gate == "on":
            inputs["profiles"] = self._profiles(cell.panel)
        return self._node("commit", label, parameters, inputs, cell.panel)

    def _activate(self, cell: Cell, panel: Panel, commit: Node) -> Node:
        parameters = {
            "model": self._model(cell.model).identity(),
            "prompt_version": versions.PROMPT,
            "probe": self.config.operators.activation_probe,
            "request": self.config.contract(cell.activation_contract).request,
            "protocol_parser": self.config.main.protocol_parser,
            "shard_profiles": self.config.main.shard_profiles,
        }
        label = f"{cell.model}-{cell.split}-{cell.memory}-{cell.deletion}-gate-{cell.gate}"
        return self._node(
            "activate",
            f"{label}-{cell.activation_contract}",
            parameters,
            {"commit": commit},
            cell.panel,
            model=cell.model,
            requests=_distinct_worlds(cell),
        )

    def _model(self, name: str) -> ModelSpec:
        if name not in self._specs:
            self._specs[name] = load_model_spec(self.config.directory / "models" / f"{name}.yaml")
        return self._specs[name]

    def _node(
        self,
        stage: str,
        label: str,
        parameters: dict[str, Any],
        inputs: dict[str, Node],
        panel_name: str,
        **extra: Any,
    ) -> Node:
        """Make or find the node; two panels under one recipe share it, with the shards of both."""
        shards = self._shards(self.config.panel(panel_name))
        node = make_node(stage, versions.STAGES[stage], label, parameters, inputs, shards, **extra)
        known = self._nodes.setdefault(node.directory, node)
        if known.shards != node.shards:
            raise AfterDeleteError(
                f"study uses two panels of split {self.config.panel(panel_name).split} under one condition",
                "give each split of a study one panel",
            )
        return known

    def _shards(self, panel: Panel) -> tuple[str, ...]:
        size = self.config.main.shard_profiles
        return tuple(
            shard_name(start, min(start + size, panel.stop)) for start in range(panel.start, panel.stop, size)
        )


def _by_role(cells: Sequence[Cell], roles: tuple[str, ...]) -> dict[str, Node]:
    """The nodes of many cells as inputs of one artifact: role and key name each once."""
    return {
        f"{role}-{cell.nodes[role].key}": cell.nodes[role]
        for cell in cells
        for role in roles
        if role in cell.nodes
    }


def _distinct_worlds(cell: Cell) -> int:
    """Worlds whose requests can differ: twins of flat memory, closure and group always ask the same."""
    differs = cell.memory == "hierarchical" and cell.deletion == "exact"
    return 2 if differs else 1


@cache
def _inventory(split: str) -> str:
    return inventory_digest(split)
