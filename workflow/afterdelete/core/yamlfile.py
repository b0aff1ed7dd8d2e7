"""YAML as people mean it: `off` and `on` are words, a repeated key is an error."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from afterdelete.core.errors import AfterDeleteError


class _Loader(yaml.SafeLoader):
    """Safe loader with the booleans of YAML 1.2 only, so that ``gate: off`` stays a word."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:bool"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"^(?:true|false)$"), list("tf"))


def _mapping(loader: _Loader, node: yaml.MappingNode) -> dict[Any, Any]:
    seen: set[Any] = set()
    for key_node, _ in node.value:
        key = loader.construct_object(key_node, deep=True)
        if key in seen:
            raise yaml.constructor.ConstructorError(
                None, None, f"key {key!r} stands twice", key_node.start_mark
            )
        seen.add(key)
    return loader.construct_mapping(node, deep=True)


_Loader.add_constructor("tag:yaml.org,2002:map", _mapping)


def load_yaml(path: Path) -> Any:
    """Parse one YAML file. Errors name the file, the line and what to do."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        known = sorted(p.stem for p in path.parent.glob("*.yaml")) if path.parent.is_dir() else []
        hint = f"known there: {', '.join(known)}" if known else "check the name"
        raise AfterDeleteError(f"{path} does not exist", hint) from None
    except (OSError, UnicodeDecodeError) as error:
        raise AfterDeleteError(f"cannot read {path}: {error}", "make it a readable UTF-8 file") from error
    try:
        return yaml.load(text, Loader=_Loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" line {mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or str(error)
        raise AfterDeleteError(f"{path}{where}: not valid YAML: {problem}", "mend that line") from error
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        # PyYAML's own constructors: a date of month 13, `!!int x`, a list as a key, nesting without end.
        raise AfterDeleteError(f"{path}: not valid YAML: {error}", "quote that value") from error
