"""A result as the report has it: plain JSON, deterministic but for elapsed_ms, and without markers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import afterdelete
from afterdelete.afterlife.arm import Arm
from afterdelete.afterlife.markers import Markers
from afterdelete.afterlife.runner import Result
from afterdelete.afterlife.verdict import Status, exit_code

SCHEMA_VERSION = "1.0"


def result_json(
    result: Result,
    system: dict[str, Any],
    reproduce: list[str],
    markers: Markers,
    *,
    show_markers: bool = False,
) -> dict[str, Any]:
    """One result. ``system`` holds name, title and configuration as the person wrote them."""
    document: dict[str, Any] = {
        "scenario": {
            "id": result.scenario.id,
            "title": result.scenario.title,
            "shows": result.scenario.shows,
        },
        "system": {**system, **_description(result, markers)},
        "status": str(result.status),
        "label": result.label,
        "event": result.event,
        "reason": result.reason,
        "capabilities": _capabilities(result, markers),
        "control": {"held": result.control_held, "events": _events(result.control)},
        "cleanup": _cleanup(result),
        "evidence": result.evidence.entries,
        "elapsed_ms": result.elapsed_ms,
        "reproduce": reproduce,
    }
    if result.contract is not None:  # a scenario that was SKIPPED has no life after the delete to tell of
        document["afterlife"] = _afterlife(result, reproduce)
    if show_markers:
        document["markers"] = markers.all()
    return document


def report_json(results: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The whole report: every result, the count of each status, and the exit code that they give."""
    found = list(results)
    statuses = [Status(result["status"]) for result in found]
    return {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "afterdelete", "version": afterdelete.__version__},
        "summary": {str(status): statuses.count(status) for status in Status},
        "exit_code": exit_code(statuses),
        "results": found,
    }


def _afterlife(result: Result, reproduce: list[str]) -> dict[str, Any]:
    trial = result.trial
    return {
        "deletion_contract": str(result.contract),
        "hooks_executed": list(trial.after_delete) if trial else [],
        "surfaces_checked": list(trial.surfaces) if trial else [],
        "events": _events(trial),
        "resurrected": result.resurrected,
        "first_resurrection_event": result.event if result.resurrected else None,
        "resurrection_trigger": result.trigger if result.resurrected else None,
        "reproduce": reproduce,
    }


def _events(arm: Arm | None) -> list[dict[str, Any]]:
    return [event.as_dict() for event in arm.timeline.events] if arm else []


def _description(result: Result, markers: Markers) -> dict[str, Any]:
    found = result.description
    if found is None:
        return {"product": None, "version": None, "versions": {}}
    return {
        "product": markers.clean(found.name),
        "version": markers.clean(found.version),
        "versions": {
            markers.clean(name): markers.clean(text) for name, text in sorted(found.versions.items())
        },
    }


def _capabilities(result: Result, markers: Markers) -> dict[str, Any]:
    declared = result.declared
    return {
        "used": sorted(declared.capabilities) if declared else [],
        "dropped": [
            {"capability": markers.clean(each.capability), "reason": markers.clean(each.reason)}
            for each in (declared.dropped if declared else ())
        ],
    }


def _cleanup(result: Result) -> dict[str, Any] | None:
    if result.cleanup is None:
        return None
    return {
        "complete": result.cleanup.complete,
        "removed": result.cleanup.removed,
        "problems": list(result.cleanup.problems),
    }
