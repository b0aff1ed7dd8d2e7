"""config/README.md, generated from the models that validate the configuration.

Run ``python -m afterdelete.config.reference > config/README.md``; a test fails when the file drifts.
"""

from __future__ import annotations

import sys
import types
import typing
from typing import Any

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from afterdelete.config.model_spec import ModelSpec
from afterdelete.config.schema import AuditorConfig, Contract, Main, Operators, Panel, StudyConfig

INTRO = """# Configuration

Generated from `workflow/afterdelete/config/schema.py`; do not edit by hand.

Every file is checked when it is read: an unknown key, a wrong type or an unknown name is one line that names
the file and the key. `on` and `off` are words here, not booleans. Wording counts: every text that reaches a
model is hashed into the keys of exactly the artifacts that it made, so an edit reruns those and no others,
and undoing the edit finds the old results still there.

Your own model is one YAML in `models/`: copy `models/smollm2-135m.yaml` for a GGUF file,
`models/qwen2.5-7b-instruct.yaml` for safetensors, or `models/openai-endpoint.yaml` for any endpoint that
speaks the OpenAI protocol, then name it under `models` of a study. Your own study is one YAML in `studies/`;
give it panels of its own in `panels.yaml`, so that its profiles are new to it.
"""
_NAMES = {
    "int": "whole number",
    "str": "text",
    "float": "number",
    "bool": "`true` or `false`",
    "date": "date",
}
FILES: list[tuple[str, type[BaseModel]]] = [
    ("config.yaml", Main),
    ("studies/<name>.yaml", StudyConfig),
    ("panels.yaml: one entry a panel", Panel),
    ("contracts/<name>.yaml", Contract),
    ("operators.yaml", Operators),
    ("auditors.yaml: one entry an auditor", AuditorConfig),
    ("models/<name>.yaml", ModelSpec),
]


def reference() -> str:
    """The whole page as Markdown."""
    parts = [INTRO]
    for title, model in FILES:
        parts.append(f"## {title}\n\n{_summary(model)}\n\n{_table(model)}")
    return "\n".join(parts)


def _table(model: type[BaseModel], prefix: str = "") -> str:
    rows = ["| key | type | default | meaning |", "| --- | --- | --- | --- |"] if not prefix else []
    for name, field in model.model_fields.items():
        nested = _nested(field.annotation)
        key = f"{prefix}{name}"
        default = "required" if field.is_required() else _shown(field.get_default(call_default_factory=True))
        meaning = field.description or (_summary(nested) if nested else "")
        rows.append(f"| `{key}` | {_type(field.annotation)} | {default} | {meaning} |")
        if nested:
            inner = "[]." if typing.get_origin(field.annotation) is list else "."
            rows.append(_table(nested, f"{key}{inner}").rstrip("\n"))
    return "\n".join(rows) + "\n"


def _summary(model: type[BaseModel]) -> str:
    text = (model.__doc__ or "").strip().split("\n\n")[0]
    return " ".join(text.split())


def _nested(annotation: Any) -> type[BaseModel] | None:
    for part in (annotation, *typing.get_args(annotation)):
        if isinstance(part, type) and issubclass(part, BaseModel):
            return part
    return None


def _type(annotation: Any) -> str:
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return _type(arguments[0])
    if origin is typing.Literal:
        return " or ".join(f"`{value}`" for value in arguments)
    if origin in (types.UnionType, typing.Union):
        return " or ".join("nothing" if part is type(None) else _type(part) for part in arguments)
    if origin is list:
        return f"list of {_type(arguments[0])}"
    if origin is dict:
        return "mapping"
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return "mapping"
    return _NAMES.get(annotation.__name__, "mapping")


def _shown(value: Any) -> str:
    if value is PydanticUndefined or value is None or isinstance(value, BaseModel) or value in ([], {}):
        return ""
    return f"`{', '.join(map(str, value))}`" if isinstance(value, list) else f"`{value}`"


if __name__ == "__main__":
    sys.stdout.write(reference())
