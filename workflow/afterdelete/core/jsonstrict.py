"""Strict JSON: no duplicate keys, no NaN or infinities, no text that UTF-8 cannot hold."""

from __future__ import annotations

import json
from typing import Any


class _Refused(ValueError):
    pass


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise _Refused("a key stands twice")
    return result


def _constant(name: str) -> Any:
    raise _Refused(f"{name} is not JSON")


def parse_strict(text: str) -> Any:
    """The JSON value of ``text``; surrounding JSON whitespace is allowed.

    Raises ValueError for anything that is not one strict JSON value: duplicate keys, NaN, infinities,
    nesting too deep to parse, and lone surrogates (they have no UTF-8 form, so nothing could store them).
    """
    try:
        value = json.loads(text, object_pairs_hook=_pairs, parse_constant=_constant)
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except RecursionError as error:
        raise _Refused("nested too deep") from error
    return value


def parse_object(text: str) -> dict[str, Any] | None:
    """The JSON object of ``text`` by the rules of :func:`parse_strict`, or None."""
    try:
        value = parse_strict(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
