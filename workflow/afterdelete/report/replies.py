"""One page a cell: every raw reply behind its numbers, with the target marked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from jinja2 import Environment

from afterdelete.report.figures import PLACE_WORDS
from afterdelete.report.pages import render
from afterdelete.report.sentences import cell_name
from afterdelete.report.visible import marked
from afterdelete.scoring.schema import REPLIES, TARGETS, conform
from afterdelete.stats.cells import Cell, Unit

_WORLDS = ("forget", "clean", "retained")
# Longer raw text is folded: it stays on the page in full, but does not push the rest away.
FOLD_CHARS = 1500

ReplyIndex = dict[str, dict[tuple[str, str], list[dict[str, Any]]]]


def index_replies(replies: pa.Table) -> ReplyIndex:
    """Replies by cell, then (profile_id, world): audit before activation, in the order asked."""
    found: ReplyIndex = {}
    rows = conform(replies, REPLIES, "replies").to_pylist()
    for row in sorted(rows, key=lambda row: (row["stage"] != "audit", row["stage"], row["turn"])):
        found.setdefault(row["cell"], {}).setdefault((row["profile_id"], row["world"]), []).append(row)
    return found


def index_targets(targets: pa.Table) -> dict[str, str]:
    """Target of each profile."""
    rows = conform(targets, TARGETS, "targets").to_pylist()
    return {row["profile_id"]: row["target"] for row in rows}


def page(env: Environment, cell: Cell, replies: ReplyIndex, targets: dict[str, str]) -> str:
    """The page of one cell."""
    own = replies.get(cell.id, {})
    worlds = [
        (world, _units(cell.worlds[world], world, own, targets)) for world in _WORLDS if world in cell.worlds
    ]
    shown = [unit for _, units in worlds for unit in units]
    return render(
        env,
        "replies.html.j2",
        cell=cell,
        name=cell_name(cell.conditions),
        worlds=worlds,
        counts=[_counts(cell, world) for world, _ in worlds],
        structures=sorted({unit["structure"] for unit in shown}),
        domains=sorted({unit["domain"] for unit in shown}),
        outcomes=_outcomes(shown),
    )


def _counts(cell: Cell, world: str) -> dict[str, Any]:
    endpoints = {name: cell.count(world, name) if cell.ran(name) else None for name in ("R", "C", "A", "E")}
    return {
        "world": world,
        "n": len(cell.worlds[world]),
        "raw": cell.count(world, "audit_raw_target"),
        **endpoints,
    }


def _units(
    units: Sequence[Unit],
    world: str,
    replies: dict[tuple[str, str], list[dict[str, Any]]],
    targets: dict[str, str],
) -> list[dict[str, Any]]:
    seen: set[str] = set()
    shown = []
    for unit in units:
        target = targets.get(unit["profile_id"], "")
        parts = [part for part in (unit["structure"], unit["domain"]) if part not in seen]
        seen.update(parts)
        shown.append(
            {
                **unit,
                "target": target,
                "outcome": outcome(unit),
                # Without the script, a link to a part of a world lands at that part's first profile.
                "anchors": [f"{world}.{part}" for part in parts],
                "badges": [(name, unit[name]) for name in ("R", "C", "A", "E") if unit[name] is not None],
                "audit_place": PLACE_WORDS.get(unit["audit_where"], ""),
                "turns": [_turn(row, target) for row in replies.get((unit["profile_id"], world), [])],
            }
        )
    return shown


def outcome(unit: Unit) -> str:
    """``recovered`` (R = 1), ``unscored`` (target in a raw audit reply, R = 0) or ``none``."""
    if unit["R"]:
        return "recovered"
    return "unscored" if unit["audit_raw_target"] else "none"


def _outcomes(units: Sequence[Unit]) -> list[tuple[str, str]]:
    words = {"recovered": "R = 1", "unscored": "target in reply, R = 0", "none": "target nowhere"}
    present = {unit["outcome"] for unit in units}
    return [(key, text) for key, text in words.items() if key in present]


def _turn(row: dict[str, Any], target: str) -> dict[str, Any]:
    return {
        **row,
        "reply_html": marked(row["reply"], target),
        "prediction_html": None if row["prediction"] is None else marked(row["prediction"], target),
        "prompt_html": marked(row["private_prompt"], target),
        "long": len(row["reply"]) > FOLD_CHARS,
        "exact": bool(target) and row["prediction"] == target,
    }
