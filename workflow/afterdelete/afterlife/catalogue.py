"""The scenario table: reading it, and what it says about a given system."""

from __future__ import annotations

from functools import cache
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from afterdelete.afterlife.capabilities import Capability
from afterdelete.afterlife.paths import committed
from afterdelete.afterlife.protocol import DeletionContract
from afterdelete.afterlife.timeline import Phase
from afterdelete.core.yamlfile import load_yaml

TABLE = "data/afterlife/scenarios.yaml"
_CONTRACT_NEEDS = {
    DeletionContract.MEMORY_RECORD: Capability.MEMORY_DELETE,
    DeletionContract.THREAD_CHECKPOINT: Capability.THREAD_DELETE,
}


class _Row(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Step(_Row):
    """One event of the trial arm."""

    phase: Phase
    action: str
    when: Capability | None = None


class Requirements(_Row):
    """Capabilities without which a scenario is SKIPPED."""

    all: tuple[Capability, ...]
    any: tuple[tuple[Capability, ...], ...]


class Scenario(_Row):
    """One row of the table."""

    id: str
    origin: Literal["seed", "ours"]
    title: str
    shows: str
    requires: Requirements
    contracts: tuple[DeletionContract, ...] = Field(min_length=1)
    failure_label: str
    steps: tuple[Step, ...]
    control: str

    def contract(self, capabilities: frozenset[Capability]) -> DeletionContract | None:
        """The first contract of the row that the system's deletes can meet."""
        return next((each for each in self.contracts if _CONTRACT_NEEDS[each] in capabilities), None)

    def missing(self, capabilities: frozenset[Capability]) -> list[str]:
        """What the system lacks, each as a reader would say it; empty when the scenario can run."""
        lacking = [str(name) for name in self.requires.all if name not in capabilities]
        lacking += [" or ".join(group) for group in self.requires.any if not capabilities.intersection(group)]
        # A thread is read through its surfaces; the search alone says nothing about it.
        thread = self.contract(capabilities) is DeletionContract.THREAD_CHECKPOINT
        if thread and Capability.LIFECYCLE_SURFACES not in capabilities:
            lacking.append("LIFECYCLE_SURFACES (a surface of scope thread)")
        return lacking

    def planned(self, capabilities: frozenset[Capability]) -> list[tuple[Phase, str]]:
        """Phase and action of every event that a complete trial arm leaves."""
        ingest = "consolidate" if Capability.LIFECYCLE_CONSOLIDATE in capabilities else "start_session"
        return [
            (step.phase, ingest if step.action == "ingest" else step.action)
            for step in self.steps
            if step.when is None or step.when in capabilities
        ]


class Table(_Row):
    """The whole file."""

    version: Literal[1]
    scenarios: tuple[Scenario, ...]


@cache
def scenarios() -> dict[str, Scenario]:
    """Every scenario by id, in the table's order."""
    table = Table.model_validate(load_yaml(committed(TABLE)))
    return {scenario.id: scenario for scenario in table.scenarios}
