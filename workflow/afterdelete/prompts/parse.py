"""The official parser of a reply, in its two places.

The *protocol parser* decides what an auditor submits; its version belongs to ``audit`` and ``commit``.
The *scoring parser* reads stored raw replies; its version belongs to ``scored`` alone. They are looked up
by version so that one can be raised without the other.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from afterdelete.core.errors import AfterDeleteError
from afterdelete.core.jsonstrict import parse_object

ParseClass = Literal["prediction", "abstention", "malformed"]


@dataclass(frozen=True)
class Parsed:
    """Class of a reply, and its prediction where there is one."""

    parse: ParseClass
    prediction: str | None = None


def _strict_top_level_value(reply: str) -> Parsed:
    """Version 1, the paper's: strict JSON object with a nonempty top-level string ``value``.

    Whitespace around the object is allowed; fences are not stripped; duplicate keys and NaN are malformed.
    """
    answer = parse_object(reply)
    if answer is None:
        return Parsed("malformed")
    value = answer.get("value")
    if isinstance(value, str) and value:
        return Parsed("prediction", value)
    return Parsed("abstention")


def _one_fenced_block(reply: str) -> Parsed:
    """Version 2: as version 1, after taking the reply out of one Markdown fence that wraps all of it.

    Not the paper's parser; for asking what a more forgiving reader would have scored.
    """
    fenced = _FENCE.fullmatch(reply)
    return _strict_top_level_value(fenced.group(1) if fenced else reply)


_FENCE = re.compile(r"\s*```(?:json)?[ \t]*\n(.*?)\n?```\s*", re.DOTALL)
PARSERS: dict[int, Callable[[str], Parsed]] = {1: _strict_top_level_value, 2: _one_fenced_block}


def parser(version: int) -> Callable[[str], Parsed]:
    """The parser of a version; AfterDeleteError for one that does not exist."""
    if version not in PARSERS:
        raise AfterDeleteError(
            f"unknown parser version {version}", f"known versions: {', '.join(map(str, sorted(PARSERS)))}"
        )
    return PARSERS[version]
