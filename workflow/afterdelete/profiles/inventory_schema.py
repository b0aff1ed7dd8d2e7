"""The form of one inventory file: which lists it has, and what an entry may look like."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator

from afterdelete.profiles.schema import DOMAINS, Domain

# Printable ASCII without digits: case folding never changes a length, and nothing resembles a number.
Line = Annotated[str, StringConstraints(pattern=r"^[ -/:-~]+$", strip_whitespace=True)]
Component = Annotated[str, StringConstraints(pattern=r"^[A-Z]{3,}$")]
# Two to four lower-case words, so that "my {attribute}" reads as a user would say it.
Phrase = Annotated[str, StringConstraints(pattern=r"^[a-z]+( [a-z]+){1,3}$")]
Lines = Annotated[list[Line], Field(min_length=2)]
# Three records of one profile must be able to use three templates.
Templates = Annotated[list[Line], Field(min_length=3)]
Kinds = Annotated[dict[Line, Annotated[list[Component], Field(min_length=1)]], Field(min_length=2)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ByComponent(_Strict):
    """One list of templates for each component of a target."""

    region: Lines
    mnemonic: Lines
    number: Lines


class Entities(_Strict):
    """Who and what the records talk about."""

    teams: dict[Domain, Lines]
    tools: dict[Domain, Lines]
    people: Lines
    places: Lines

    @field_validator("teams", "tools")
    @classmethod
    def _complete(cls, value: dict[str, list[str]]) -> dict[str, list[str]]:
        return _all_domains(value)


class Inventory(_Strict):
    """Everything that one family of splits draws from."""

    agents: Lines
    regions: Kinds
    mnemonics: Kinds
    number_kinds: Annotated[list[Line], Field(min_length=2, max_length=2)] = Field(
        description="How a clue calls a number: first for even ones, then for odd ones."
    )
    attributes: dict[Domain, Annotated[list[Phrase], Field(min_length=1)]]
    entities: Entities
    record_templates: Lines
    restatement_templates: Lines
    component_templates: ByComponent
    clue_frames: ByComponent
    background_templates: dict[Domain, Templates]
    neutral_templates: Templates
    neutral_attributes: Annotated[dict[Phrase, Lines], Field(min_length=2)]

    @field_validator("attributes", "background_templates")
    @classmethod
    def _complete(cls, value: dict[str, list[str]]) -> dict[str, list[str]]:
        return _all_domains(value)

    def region_words(self) -> list[str]:
        """All regions, in file order."""
        return [word for words in self.regions.values() for word in words]

    def mnemonic_words(self) -> list[str]:
        """All mnemonics, in file order."""
        return [word for words in self.mnemonics.values() for word in words]


def _all_domains(value: dict[str, list[str]]) -> dict[str, list[str]]:
    missing = [name for name in DOMAINS if name not in value]
    if missing:
        raise ValueError(f"no entry for {', '.join(missing)}")
    return value
