"""What each configuration file may hold. config/README.md is generated from these models."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

NAME = r"[a-z0-9][a-z0-9._-]*"
Name = Annotated[str, Field(pattern=f"^{NAME}$")]
Split = Literal["train", "dev", "iid", "ood"]
Structure = Literal["atomic", "duplicated", "correlated", "compositional"]
MemoryName = Literal["flat", "hierarchical"]
DeletionName = Literal["exact", "closure", "group"]
Gate = Literal["off", "on"]
Branch = Literal["write_allowed", "no_write"]


class Strict(BaseModel):
    """Base of every model here: a key that is not declared is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Bootstrap(Strict):
    """Paired-profile bootstrap."""

    resamples: int = Field(default=10_000, ge=100, le=1_000_000, description="Resamples of an interval.")
    seed: int = Field(default=20260816, ge=0, description="Seed of the index matrix.")


class Seeds(Strict):
    """Generator seed of each split."""

    train: int = Field(default=20260828, ge=0)
    dev: int = Field(default=20260829, ge=0)
    iid: int = Field(default=20260830, ge=0)
    ood: int = Field(default=20260831, ge=0)


class Determinism(Strict):
    """The determinism check: a sample of requests is asked again under other circumstances."""

    sample: int = Field(default=24, ge=1, le=10_000, description="Requests to ask again, for each model.")
    seed: int = Field(default=20260809, ge=0, description="Seed of the sample and of the other order.")


class Main(Strict):
    """config/config.yaml: what holds for every study."""

    study: Name = Field(
        "quick", description="The study that plain `snakemake` runs: a file in config/studies."
    )
    results: str = Field("results", description="Directory of every output.")
    models: str = Field("models", description="Directory of fetched weights.")
    protected: str = Field(
        ".protected",
        description="The gate's protected state. Shared by all nodes, readable by you alone.",
    )
    shard_profiles: int = Field(
        16, ge=8, multiple_of=8, description="Profiles in one shard. Part of the inference contract."
    )
    protocol_parser: int = Field(1, description="Parser that decides what an auditor submits.")
    scoring_parser: int = Field(1, description="Parser that scores stored raw replies.")
    seeds: Seeds = Field(default=Seeds(), description="Generator seeds.")
    bootstrap: Bootstrap = Field(default=Bootstrap(), description="Intervals.")
    determinism: Determinism = Field(default=Determinism(), description="The determinism check.")


class Panel(Strict):
    """A range of profiles of one split. Panels of one split never overlap."""

    split: Split = Field(description="Split the profiles come from.")
    start: int = Field(ge=0, multiple_of=8, description="Index of the first profile.")
    stop: int = Field(gt=0, le=999_992, multiple_of=8, description="Index after the last profile.")
    structure: Structure | None = Field(None, description="Overrides the structure of every profile.")

    @model_validator(mode="after")
    def _ordered(self) -> Panel:
        if self.stop <= self.start:
            raise ValueError("stop must be above start")
        return self


class Contract(Strict):
    """A response contract: what the model is asked to answer with."""

    description: str = Field(description="One line for the report.")
    request: str = Field(min_length=1, description="Appended to every question, after a newline.")


class Operators(Strict):
    """The seven query templates and the activation probe; `{attribute}` is filled in."""

    operators: dict[Name, str] = Field(min_length=7, max_length=7, description="Query templates, in order.")
    activation_probe: str = Field(description="The probe of a fresh session; differs from every operator.")

    @model_validator(mode="after")
    def _usable(self) -> Operators:
        texts = [*self.operators.values(), self.activation_probe]
        if len(set(texts)) != len(texts):
            raise ValueError("two operators, or an operator and the activation probe, have the same text")
        for text in texts:
            if text.count("{attribute}") != 1:
                raise ValueError(f"exactly one {{attribute}} must stand in: {text}")
        if self.operators.get("direct") != "What is my {attribute}?":
            raise ValueError("the operator `direct` must read: What is my {attribute}?")
        return self


class AuditorConfig(Strict):
    """A configured auditor: a strategy (a file in afterdelete/auditors) and its options."""

    strategy: Name = Field(description="Which strategy.")
    max_queries: int = Field(10, ge=1, le=10, description="Queries an episode may ask.")
    options: dict[str, Any] = Field(default_factory=dict, description="Passed to the strategy.")


class Block(Strict):
    """A grid of cells: every combination of the listed values, on every listed panel."""

    panels: list[Split] = Field(min_length=1, description="Splits, as named under the study's `panels`.")
    memory: list[MemoryName] = Field(min_length=1)
    deletion: list[DeletionName] = Field(min_length=1)
    auditor: list[Name] = Field(min_length=1)
    audit_contract: list[Name] = Field(min_length=1)
    gate: list[Gate] = Field(
        default_factory=list, description="Omit for an audit alone; list gates to run the whole lifecycle."
    )
    activation_contract: list[Name] = Field(default_factory=list)
    write_branch: list[Branch] = ["write_allowed"]

    @model_validator(mode="after")
    def _lifecycle(self) -> Block:
        if bool(self.gate) != bool(self.activation_contract):
            raise ValueError("`gate` and `activation_contract` go together: give both, or neither")
        return self


class Control(Strict):
    """Retained twins: exposed, consolidated, never deleted. The positive control of a zero."""

    panels: list[Split] = Field(min_length=1)
    memory: list[MemoryName] = Field(min_length=1)
    auditor: list[Name] = Field(min_length=1)
    audit_contract: list[Name] = Field(min_length=1)


class Headline(Strict):
    """The cell that runs first and whose line is printed as soon as it is there."""

    panel: Split
    memory: MemoryName
    deletion: DeletionName
    auditor: Name
    audit_contract: Name


class StudyConfig(Strict):
    """config/studies/<name>.yaml: which cells to run, on which profiles, with which models."""

    description: str = Field(description="One line for the report.")
    models: list[Name] = Field(min_length=1, description="Files in config/models.")
    panels: dict[Split, Name] = Field(
        min_length=1, description="Panel of each split, from config/panels.yaml."
    )
    max_queries: int = Field(10, ge=1, le=10, description="Cap on queries an episode, over every auditor.")
    max_requests: int | None = Field(
        None, ge=1, description="Refuse to plan a study that could ask the model more than this."
    )
    headline: Headline
    cells: list[Block] = Field(min_length=1)
    controls: list[Control] = Field(default_factory=list)

    @model_validator(mode="after")
    def _panels_known(self) -> StudyConfig:
        parts: list[Block | Control] = [*self.cells, *self.controls]
        used = {panel for part in parts for panel in part.panels}
        missing = sorted((used | {self.headline.panel}) - set(self.panels))
        if missing:
            raise ValueError(f"no panel is given for: {', '.join(missing)}")
        return self
