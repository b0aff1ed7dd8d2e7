"""Reading the configuration directory: every error names the file, the key and the remedy."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from afterdelete.config.schema import AuditorConfig, Contract, Main, Operators, Panel, StudyConfig
from afterdelete.core.errors import AfterDeleteError
from afterdelete.core.yamlfile import load_yaml

Model = TypeVar("Model", bound=BaseModel)


def validate(model: type[Model], data: Any, source: Path | str) -> Model:
    """Validate ``data`` as ``model``; the first mistake becomes one AfterDeleteError."""
    try:
        return model.model_validate({} if data is None else data)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"]) or "the whole file"
        if first["type"] == "extra_forbidden":
            known = _fields_at(model, first["loc"][:-1])
            close = difflib.get_close_matches(str(first["loc"][-1]), known, n=1)
            remedy = f"did you mean `{close[0]}`?" if close else f"known keys: {', '.join(known)}"
            raise AfterDeleteError(f"{source}: unknown key `{key}`", remedy) from None
        message = str(first["msg"]).removeprefix("Value error, ")
        # What stands where the name of a key's variable belongs may be the key itself: never repeat it.
        silent = first["type"] in {"missing", "value_error"} or "api_key_env" in first["loc"]
        got = "" if silent else f" (got {first['input']!r})"
        raise AfterDeleteError(
            f"{source}: `{key}`: {message}{got}", "mend that key; see config/README.md"
        ) from None


def _fields_at(model: type[BaseModel], location: tuple[Any, ...]) -> list[str]:
    """Field names of the model that stands at ``location`` inside ``model``."""
    import typing

    current: Any = model
    for part in location:
        if not (isinstance(current, type) and issubclass(current, BaseModel)):
            return []
        if isinstance(part, str) and part in current.model_fields:
            current = current.model_fields[part].annotation
            while not isinstance(current, type) or typing.get_origin(current) is not None:
                inner = [a for a in typing.get_args(current) if a is not type(None)]
                if not inner:
                    return []
                current = inner[-1]
    return sorted(current.model_fields) if issubclass(current, BaseModel) else []


@dataclass(frozen=True)
class Config:
    """The configuration directory, read lazily; every file is validated on first use."""

    directory: Path
    overrides: tuple[tuple[str, Any], ...] = ()

    @cached_property
    def main(self) -> Main:
        """config.yaml, with command-line overrides laid over it."""
        path = self.directory / "config.yaml"
        data = load_yaml(path) or {}
        if not isinstance(data, dict):
            raise AfterDeleteError(f"{path}: must be a mapping", "see config/README.md")
        return validate(Main, {**data, **dict(self.overrides)}, path)

    def study(self, name: str) -> StudyConfig:
        """One study."""
        path = self.directory / "studies" / f"{name}.yaml"
        return validate(StudyConfig, load_yaml(path), path)

    def contract(self, name: str) -> Contract:
        """One response contract."""
        path = self.directory / "contracts" / f"{name}.yaml"
        return validate(Contract, load_yaml(path), path)

    @cached_property
    def operators(self) -> Operators:
        """The seven operators and the activation probe."""
        path = self.directory / "operators.yaml"
        return validate(Operators, load_yaml(path), path)

    @cached_property
    def panels(self) -> dict[str, Panel]:
        """The panel registry. Overlapping panels of one split are an error."""
        path = self.directory / "panels.yaml"
        panels = {
            str(name): validate(Panel, data, f"{path}: {name}") for name, data in self._named(path).items()
        }
        taken: list[tuple[str, Panel]] = []
        for name, panel in panels.items():
            for other_name, other in taken:
                if panel.split == other.split and panel.start < other.stop and other.start < panel.stop:
                    raise AfterDeleteError(
                        f"{path}: panels {other_name} and {name} overlap",
                        "panels of one split must be disjoint",
                    )
            taken.append((name, panel))
        return panels

    def panel(self, name: str) -> Panel:
        """One panel of the registry."""
        return self._pick(self.panels, name, "panel", self.directory / "panels.yaml")

    @cached_property
    def auditors(self) -> dict[str, AuditorConfig]:
        """Configured auditors by name."""
        path = self.directory / "auditors.yaml"
        return {
            str(name): validate(AuditorConfig, data, f"{path}: {name}")
            for name, data in self._named(path).items()
        }

    def auditor(self, name: str) -> AuditorConfig:
        """One configured auditor."""
        return self._pick(self.auditors, name, "auditor", self.directory / "auditors.yaml")

    @staticmethod
    def _named(path: Path) -> dict[Any, Any]:
        data = load_yaml(path)
        if not isinstance(data, dict) or not data:
            raise AfterDeleteError(f"{path}: must map names to entries", "see config/README.md")
        return data

    @staticmethod
    def _pick(entries: dict[str, Any], name: str, what: str, path: Path) -> Any:
        if name not in entries:
            raise AfterDeleteError(f"unknown {what} {name!r}", f"known in {path}: {', '.join(entries)}")
        return entries[name]
