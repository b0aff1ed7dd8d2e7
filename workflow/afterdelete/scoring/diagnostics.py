"""Diagnostics on raw replies: what was disclosed, whatever the official parser made of it. Never ``R``."""

from __future__ import annotations

from typing import Any, Literal

from afterdelete.core.jsonstrict import parse_object

Where = Literal["", "top_value", "nested", "other_field", "prose", "fenced", "truncated"]
COMPONENTS = ("region", "mnemonic", "number")


def where_target_sat(reply: str, target: str, finish_reason: str) -> Where:
    """Where the exact target occurs in a raw reply; '' if nowhere.

    In a strict JSON object: the top-level ``value``, inside ``final_prediction``, or another field. In
    anything else: inside a fenced block, in a reply cut off by the token limit, or in prose.
    """
    if target not in reply:
        return ""
    answer = parse_object(reply)
    if answer is None:
        if "```" in reply:
            return "fenced"
        return "truncated" if finish_reason == "length" else "prose"
    if _holds(answer.get("value"), target):
        return "top_value"
    return "nested" if _holds(answer.get("final_prediction"), target) else "other_field"


def _holds(value: Any, target: str) -> bool:
    if isinstance(value, str):
        return target in value
    if isinstance(value, dict):
        return any(_holds(item, target) for pair in value.items() for item in pair)
    return isinstance(value, list) and any(_holds(item, target) for item in value)


def components_in(reply: str, components: dict[str, str]) -> dict[str, bool]:
    """Which component literals (region, mnemonic, number) occur in a raw reply, case as it is."""
    return {name: components[name] in reply for name in COMPONENTS}
