"""A study as a graph: cells that agree up to a stage share that stage's node."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from afterdelete.config.load import Config
from afterdelete.config.schema import NAME as STUDY_NAME
from afterdelete.config.schema import StudyConfig
from afterdelete.core.errors import AfterDeleteError
from afterdelete.plan.builder import Builder
from afterdelete.plan.node import MODEL_STAGES, Node, shard_range


@dataclass(frozen=True)
class Cell:
    """One combination of conditions on one panel, and the nodes that give its result.

    ``deletion`` is ``none`` for a control (retained twin). Without a lifecycle ``gate``,
    ``activation_contract`` and ``write_branch`` are empty.
    """

    model: str
    split: str
    panel: str
    memory: str
    deletion: str
    auditor: str
    audit_contract: str
    gate: str = ""
    activation_contract: str = ""
    write_branch: str = ""
    nodes: dict[str, Node] = field(default_factory=dict, compare=False)

    @property
    def id(self) -> str:
        """The key of the cell's scores."""
        return self.nodes["scored"].key

    def conditions(self) -> dict[str, str]:
        """The condition columns of the summary."""
        return {
            "model": self.model,
            "split": self.split,
            "memory": self.memory,
            "deletion": self.deletion,
            "gate": self.gate,
            "auditor": self.auditor,
            "audit_contract": self.audit_contract,
            "activation_contract": self.activation_contract,
            "write_branch": self.write_branch,
        }


@dataclass
class StudyPlan:
    """Every node of a study by directory, its cells, and what it asks of the model.

    ``checks`` are nodes that are made on request only (the determinism check of each model).
    """

    name: str
    study: StudyConfig
    config: Config
    nodes: dict[str, Node]
    cells: list[Cell]
    summary: Node
    headline: Node
    report: Node
    checks: list[Node] = field(default_factory=list)

    def node(self, directory: str) -> Node:
        """The node of ``<stage>/<label>-<key>``; AfterDeleteError if the study has none such."""
        for check in self.checks:
            if check.directory == directory:
                return check
        if directory not in self.nodes:
            raise AfterDeleteError(
                f"{directory} is not part of study {self.name}",
                "the configuration changed since that job was planned: run the same command again",
            )
        return self.nodes[directory]

    def artifacts(self) -> Iterator[tuple[Node, str]]:
        """Every artifact of the study, in pipeline order."""
        for node in self.nodes.values():
            for shard in node.shards:
                yield node, shard

    @staticmethod
    def ancestors(node: Node) -> list[Node]:
        """A node and all it is made from, inputs first."""
        return list(_closure([node]).values())

    def request_bound(self) -> int:
        """The most requests this study can ask of its models, duplicates that are certain left out."""
        return sum(
            node.requests * (stop - start)
            for node in self.nodes.values()
            if node.stage in MODEL_STAGES
            for start, stop in map(shard_range, node.shards)
        )


def plan_study(config: Config, name: str | None = None) -> StudyPlan:
    """Build the graph of one study (the configured one by default). Reads configuration only.

    Raises AfterDeleteError for anything unknown and for a study above its ``max_requests``.
    """
    name = name or config.main.study
    if not re.fullmatch(STUDY_NAME, name):
        raise AfterDeleteError(
            f"{name!r} is no study name", "use the name of a file in config/studies, without .yaml"
        )
    study = config.study(name)
    builder = Builder(config, study)
    cells = _unique(_cells(study, builder))
    headline = _headline(study, cells, name)
    nodes = _closure([cell.nodes[role] for cell in cells for role in cell.nodes])
    summary = builder.summary(name, cells)
    line = builder.headline(name, headline)
    report = builder.report(name, summary, cells)
    for node in (line, summary, report):
        nodes[node.directory] = node
    checks = [builder.determinism(model, cells) for model in study.models]
    plan = StudyPlan(name, study, config, nodes, cells, summary, line, report, checks)
    bound = plan.request_bound()
    if study.max_requests is not None and bound > study.max_requests:
        raise AfterDeleteError(
            f"study {name} could ask {bound} model requests, above its max_requests {study.max_requests}",
            f"raise max_requests in {config.directory / 'studies' / (name + '.yaml')} or list fewer cells",
        )
    return plan


def _cells(study: StudyConfig, builder: Builder) -> Iterator[Cell]:
    for model, control in itertools.product(study.models, study.controls):
        for split, memory, auditor, contract in itertools.product(
            control.panels, control.memory, control.auditor, control.audit_contract
        ):
            cell = Cell(model, split, study.panels[split], memory, "none", auditor, contract)
            yield _with_nodes(cell, builder)
    for model, block in itertools.product(study.models, study.cells):
        lifecycles: list[tuple[str, str, str]] = list(
            itertools.product(block.gate, block.activation_contract, block.write_branch)
        ) or [("", "", "")]
        for split, memory, deletion, auditor, contract, (gate, activation, branch) in itertools.product(
            block.panels, block.memory, block.deletion, block.auditor, block.audit_contract, lifecycles
        ):
            cell = Cell(
                model,
                split,
                study.panels[split],
                memory,
                deletion,
                auditor,
                contract,
                gate,
                activation,
                branch,
            )
            yield _with_nodes(cell, builder)


def _with_nodes(cell: Cell, builder: Builder) -> Cell:
    cell.nodes.update(builder.cell_nodes(cell))
    return cell


def _unique(cells: Iterator[Cell]) -> list[Cell]:
    """Each cell once, in the order first listed: blocks of a study may overlap."""
    return list(dict.fromkeys(cells))


def _headline(study: StudyConfig, cells: list[Cell], name: str) -> Cell:
    wanted = study.headline
    for cell in cells:
        if (
            cell.split == wanted.panel
            and cell.memory == wanted.memory
            and cell.deletion == wanted.deletion
            and cell.auditor == wanted.auditor
            and cell.audit_contract == wanted.audit_contract
        ):
            return cell
    raise AfterDeleteError(
        f"study {name}: its headline is none of its cells", "list that cell, or name another"
    )


def _closure(nodes: list[Node]) -> dict[str, Node]:
    """All nodes and what they are made from, inputs before what uses them."""
    found: dict[str, Node] = {}

    def visit(node: Node) -> None:
        if node.directory in found:
            return
        for upstream in node.inputs.values():
            visit(upstream)
        found[node.directory] = node

    for node in nodes:
        visit(node)
    return found


def describe(plan: StudyPlan) -> dict[str, Any]:
    """Counts of a plan for people and tests: cells, nodes and artifacts by stage, request bound."""
    stages: dict[str, int] = {}
    for node in plan.nodes.values():
        stages[node.stage] = stages.get(node.stage, 0) + len(node.shards)
    return {"cells": len(plan.cells), "artifacts": stages, "requests": plan.request_bound()}
