"""What the Afterlife tests share: judging an adapter, twisting the built-in store, the schema."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from afterdelete.afterlife.capabilities import Capability
from afterdelete.afterlife.catalogue import scenarios
from afterdelete.afterlife.guard import Limits
from afterdelete.afterlife.markers import Markers
from afterdelete.afterlife.protocol import HookReceipt, MemoryAdapter
from afterdelete.afterlife.results import result_json
from afterdelete.afterlife.runner import run_scenario
from afterdelete.afterlife.systems.builtin import BuiltinStore, Defect

ROOT = Path(__file__).resolve().parents[1]
SCHEMA = json.loads((ROOT / "schema" / "afterlife-1.0.schema.json").read_text(encoding="utf-8"))
QUICK = Limits(window=0.02, interval=0.005, call_timeout=1.0, budget=10.0)
FACTS = {
    "name": "store",
    "title": "A store",
    "configuration": {"kind": "builtin"},
    "times": {"window_ms": 20, "interval_ms": 5},
}
Twist = Callable[[Callable[..., Any]], Callable[..., Any]]


def fits_report(report: dict[str, Any]) -> dict[str, Any]:
    """``report`` if it fits the committed schema."""
    Draft202012Validator(SCHEMA).validate(report)
    return report


def fits_result(result: dict[str, Any]) -> dict[str, Any]:
    """``result`` if it fits the committed schema's part for one result."""
    Draft202012Validator({**SCHEMA["$defs"]["result"], "$defs": SCHEMA["$defs"]}).validate(result)
    return result


def judge(
    id: str,
    open_adapter: Callable[[], MemoryAdapter],
    *,
    without: Iterable[Capability] = (),
    limits: Limits = QUICK,
    markers: Markers | None = None,
) -> dict[str, Any]:
    """The result of scenario ``id``, checked against the schema and for markers that got out."""
    markers = markers or Markers()
    result = run_scenario(scenarios()[id], open_adapter, limits=limits, markers=markers, without=without)
    document = fits_result(result_json(result, FACTS, ["afterdelete afterlife test"], markers))
    text = json.dumps(document).casefold()
    assert not any(marker in text for marker in markers.all().values())
    return document


def twisted(
    defect: Defect = Defect.NONE, path: Path | None = None, **twists: Twist
) -> Callable[[], BuiltinStore]:
    """An opener of the built-in store in which each named operation is replaced by ``twist(original)``."""

    def open_store() -> BuiltinStore:
        store = BuiltinStore(defect, path)
        for name, twist in twists.items():
            setattr(store, name, twist(getattr(store, name)))
        return store

    return open_store


def always(value: Any) -> Twist:
    """A twist that answers ``value`` and does nothing."""
    return lambda original: lambda *arguments: value


def raising(error: BaseException) -> Twist:
    """A twist that raises."""

    def twist(original: Callable[..., Any]) -> Callable[..., Any]:
        def operation(*arguments: Any) -> Any:
            raise error

        return operation

    return twist


def claims(processed: int | None = 1) -> Twist:
    """A twist that says it ran and does nothing."""
    return always(HookReceipt(True, (), processed))
