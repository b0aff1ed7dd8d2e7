"""The report as one HTML page that needs nothing beside itself."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from afterdelete.afterlife.paths import committed

_TEMPLATE, _STYLE = "workflow/report/afterlife.html.j2", "workflow/report/afterlife.css"
_TITLES = {
    "write": "Memory written",
    "record_conversation": "Message recorded",
    "positive_control": "Retrievable: positive control",
    "begin_pending_write": "Update started and held",
    "still_held": "Held write looked for",
    "delete": "Deleted",
    "immediate_check": "Looked right after the delete",
    "release_pending_writes": "Held write released",
    "after_release": "Looked after the release",
    "start_session": "New session",
    "session_start_probe": "Looked for the waiting message",
    "after_session_start": "Looked after the session start",
    "consolidate": "Ingestion run",
    "ingestion_proof": "Did the ingestion run?",
    "after_ingestion": "Looked after the ingestion",
    "restart": "Restarted",
    "after_restart": "Looked after the restart",
    "after_window": "Looked through another window",
}


def html(report: dict[str, Any]) -> str:
    """The page for ``report``. All text is escaped; a policy in the page forbids all but its own style."""
    style = committed(_STYLE).read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    template = environment.from_string(committed(_TEMPLATE).read_text(encoding="utf-8"))
    page = template.render(
        report=report,
        systems=_systems(report["results"]),
        style=Markup(style),
        style_hash=Markup(f"sha256-{digest}"),
        shown=any("markers" in result for result in report["results"]),
    )
    return page.rstrip() + "\n"


def _systems(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    groups: dict[str, list[dict[str, Any]]] = {}
    for result in results:
        groups.setdefault(result["system"]["name"], []).append(_shown(result))
    return [_system(group) for group in groups.values()]


def _system(results: list[dict[str, Any]]) -> dict[str, Any]:
    # A system that was skipped or failed early has not told its version; another of its results may know it.
    system = next((each["system"] for each in results if each["system"]["product"]), results[0]["system"])
    dropped = {each["capability"]: each for result in results for each in result["capabilities"]["dropped"]}
    return {
        "title": system["title"],
        "product": system["product"],
        "version": system["version"],
        "versions": ", ".join(f"{package} {version}" for package, version in system["versions"].items()),
        "configuration": json.dumps(system["configuration"], ensure_ascii=False),
        "window_ms": system["times"]["window_ms"],
        "dropped": list(dropped.values()),
        "results": results,
    }


def _shown(result: dict[str, Any]) -> dict[str, Any]:
    afterlife = result.get("afterlife")
    return {
        **result,
        "afterlife": afterlife,
        "anchor": f"{result['system']['name']}-{result['scenario']['id']}".lower(),
        "timeline": _timeline(result) if afterlife else [],
        "control_timeline": [_event(event) for event in result["control"]["events"]],
    }


def _timeline(result: dict[str, Any]) -> list[dict[str, Any]]:
    """The events with ``lane``: from that event on the marker is present, deleting, absent or back."""
    lane, events = "present", []
    returned_at = result["afterlife"]["first_resurrection_event"]
    for event in result["afterlife"]["events"]:
        visible = event.get("marker_visible")
        if event["phase"] == "delete":
            lane = "deleting"
        elif lane == "deleting" and visible is not None:
            lane = "back" if visible else "absent"
        elif event["seq"] == returned_at:
            lane = "back"
        events.append({**_event(event), "lane": lane, "returned": lane == "back" and bool(visible)})
    return events


def _event(event: dict[str, Any]) -> dict[str, Any]:
    visible = event.get("marker_visible")
    return {
        "title": _TITLES.get(event["action"], event["action"].replace("_", " ").capitalize()),
        "detail": event["detail"],
        "elapsed_ms": event["elapsed_ms"],
        "look": "step" if visible is None else "seen" if visible else "unseen",
    }
