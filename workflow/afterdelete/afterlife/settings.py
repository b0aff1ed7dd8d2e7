"""The configuration of a run: which systems, which scenarios, how long to wait."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from afterdelete.afterlife.capabilities import Capability
from afterdelete.afterlife.catalogue import scenarios
from afterdelete.afterlife.guard import Limits
from afterdelete.afterlife.systems.builtin import Defect
from afterdelete.core.errors import AfterDeleteError
from afterdelete.core.yamlfile import load_yaml

_NAME = r"^[a-z0-9][a-z0-9-]{0,59}$"
_SHOWN_ERRORS = 5


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Times(_Strict):
    """Milliseconds. What a system leaves out is taken from the run, and what that leaves out from here."""

    window_ms: int = Field(
        default=500, ge=20, le=600_000, description="how long every surface is polled after an event"
    )
    interval_ms: int = Field(default=50, ge=5, le=60_000, description="pause between two looks in a window")
    call_timeout_ms: int = Field(default=5_000, ge=50, le=600_000, description="for one call to the system")
    budget_ms: int = Field(default=120_000, ge=1_000, le=3_600_000, description="for all calls of one arm")

    def limits(self) -> Limits:
        """The same in seconds."""
        return Limits(
            window=self.window_ms / 1000,
            interval=self.interval_ms / 1000,
            call_timeout=self.call_timeout_ms / 1000,
            budget=self.budget_ms / 1000,
        )


class _System(_Strict):
    title: str = Field(
        default="", max_length=120, description="what a reader of the report sees beside the name"
    )
    without: tuple[Capability, ...] = Field(default=(), description="capabilities that are not to be used")
    times: Times | None = Field(default=None, description="times for this system alone")


class BuiltinSystem(_System):
    """The built-in store."""

    kind: Literal["builtin"]
    defect: Defect = Defect.NONE


class Launch(_Strict):
    """A program that is started for the run and ended after it, from the folder of the configuration file."""

    command: tuple[str, ...] = Field(
        min_length=1, description="a first word `python` means a suitable Python"
    )
    environment: str | None = Field(
        default=None, pattern=_NAME, description="pinned environment that `python` comes from"
    )

    @field_validator("command")
    @classmethod
    def _can_be_started(cls, words: tuple[str, ...]) -> tuple[str, ...]:
        if any("\0" in word for word in words) or not words[0]:
            raise ValueError("no word may hold a NUL character, and the first must name a program")
        return words


class ProcessSystem(_System, Launch):
    """An adapter that runs in a process of its own and speaks lines of JSON on stdin and stdout."""

    kind: Literal["process"]


class HttpSystem(_System):
    """A service that implements the REST contract."""

    kind: Literal["http"]
    base_url: str | None = Field(
        default=None, description="origin and optional path prefix of a running service"
    )
    launch: Launch | None = Field(
        default=None, description="start this service instead; its first line is its URL"
    )
    token_env: str | None = Field(
        default=None, pattern=r"^[A-Z_][A-Z0-9_]*$", description="variable with the bearer token"
    )
    max_response_bytes: int = Field(default=1_048_576, ge=1_024, le=67_108_864)
    allow_plain_http: bool = Field(default=False, description="permit http:// to another machine")

    @model_validator(mode="after")
    def _one_way_to_reach_it(self) -> HttpSystem:
        if (self.base_url is None) == (self.launch is None):
            raise ValueError("give either base_url or launch")
        return self


System = Annotated[BuiltinSystem | ProcessSystem | HttpSystem, Field(discriminator="kind")]
SystemName = Annotated[str, Field(pattern=_NAME)]


class AfterlifeConfig(_Strict):
    """One configuration file."""

    seed: int | None = Field(
        default=None, ge=0, description="makes the markers repeatable; unset, they are secrets"
    )
    times: Times = Times()
    scenarios: tuple[str, ...] = Field(default_factory=lambda: tuple(scenarios()), min_length=1)
    systems: dict[SystemName, System] = Field(min_length=1)

    @field_validator("scenarios")
    @classmethod
    def _known(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        if unknown := [name for name in names if name not in scenarios()]:
            raise ValueError(f"no scenario {', '.join(unknown)}; there are {', '.join(scenarios())}")
        return names

    def limits(self, name: str) -> Limits:
        """The times that hold for system ``name``."""
        system = self.systems[name]
        if system.times is None:
            return self.times.limits()
        own = system.times.model_dump(exclude_unset=True)
        return self.times.model_copy(update=own).limits()


def load(path: Path) -> AfterlifeConfig:
    """Read and validate ``path``.

    Every mistake is an ``AfterDeleteError`` that names the file and the key, and never repeats a value: a
    value may be a secret that was put in the wrong place.
    """
    raw = load_yaml(path)
    if not isinstance(raw, dict):
        raise AfterDeleteError(f"{path} holds no mapping", "see config/afterlife/default.yaml for the keys")
    try:
        return AfterlifeConfig.model_validate(raw)
    except ValidationError as error:
        raise AfterDeleteError(f"{path}: {_mistakes(error)}", _remedy(error)) from None


def _mistakes(error: ValidationError) -> str:
    found = [f"{_key(each['loc'])}: {each['msg'].removeprefix('Value error, ')}" for each in error.errors()]
    rest = f"; and {len(found) - _SHOWN_ERRORS} more" if len(found) > _SHOWN_ERRORS else ""
    return "; ".join(found[:_SHOWN_ERRORS]) + rest


def _key(location: tuple[int | str, ...]) -> str:
    # pydantic puts the chosen kind after a system's name; a person wrote no such level.
    parts = [str(part) for part in location]
    if len(parts) > 2 and parts[0] == "systems":
        del parts[2]
    return ".".join(parts) or "the file"


def _remedy(error: ValidationError) -> str:
    keys = {str(each["loc"][-1]) for each in error.errors() if each["loc"]}
    if keys & {"token", "api_key", "password", "authorization"}:
        return (
            "a secret never belongs in a file: put it in the environment and name the variable in token_env"
        )
    return "docs/afterlife.md lists the keys and what they take"
