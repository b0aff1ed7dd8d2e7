"""The far side of a process adapter: serve one adapter over lines of JSON on stdin and stdout.

Standard library only, so that it runs in the environment of the system under test. The worker greets with
the line ``{"protocol": "afterlife/1"}``; whatever was printed before it is skipped. Then one request a line,
``{"id": 1, "op": "search", "args": {...}}``, and one answer a line, ``{"id": 1, "result": ...}`` or
``{"id": 1, "error": "what went wrong"}``. The end of stdin ends the worker.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from afterdelete.afterlife import wire
from afterdelete.afterlife.capabilities import Capability
from afterdelete.afterlife.declared import believed
from afterdelete.afterlife.protocol import MemoryAdapter, MemoryLifecycleHooks, ProviderError

GREETING = {"protocol": "afterlife/1"}
STATE_VARIABLE = "AFTERLIFE_STATE_DIR"


def state_folder() -> Path:
    """Where a worker keeps the system's files: they outlive a restart, and the tester removes them."""
    return Path(os.environ[STATE_VARIABLE])


def serve(adapter: MemoryAdapter) -> None:
    """Answer requests until stdin ends, then close the adapter."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    # A library that prints must not end up between the answers.
    sys.stdout.flush()
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())

    def tell(message: dict[str, Any]) -> None:
        answers.write(json.dumps(message) + "\n")
        answers.flush()

    tell(GREETING)
    try:
        for line in sys.stdin:
            request = json.loads(line)
            try:
                answer = {"id": request["id"], "result": dispatch(adapter, request["op"], request["args"])}
            except Exception as error:  # whatever the system raised is the answer
                text = str(error) if isinstance(error, ProviderError) else f"{type(error).__name__}: {error}"
                answer = {"id": request["id"], "error": text}
            tell(answer)
    finally:
        adapter.close()


def dispatch(adapter: MemoryAdapter, op: str, args: dict[str, Any]) -> Any:
    """Carry out one request on ``adapter`` and return the JSON form of its result."""
    return _operations(adapter)[op](args)


def system_json(adapter: MemoryAdapter) -> dict[str, Any]:
    """What a bridge tells about the system behind it, in one answer.

    ``unimplemented`` are declared capabilities without code. A restart is no such case: over a process
    bridge the tester restarts the whole worker.
    """
    found = believed(adapter)
    unimplemented = {each.capability: each.reason for each in found.dropped}
    unimplemented.pop(Capability.LIFECYCLE_RESTART, None)
    surfaces = []
    if isinstance(adapter, MemoryLifecycleHooks) and Capability.LIFECYCLE_SURFACES in found.capabilities:
        surfaces = wire.surfaces_json(adapter.retrieval_surfaces())
    return {
        **wire.description_json(adapter.describe()),
        "capabilities": sorted(adapter.capabilities()),
        "unimplemented": unimplemented,
        "surfaces": surfaces,
    }


def _operations(adapter: MemoryAdapter) -> dict[str, Callable[[dict[str, Any]], Any]]:
    def receipt(name: str, *keys: str) -> Callable[[dict[str, Any]], Any]:
        def run(args: dict[str, Any]) -> Any:
            method = getattr(adapter, name)
            return wire.receipt_json(method(wire.context_from(args), *(args[key] for key in keys)))

        return run

    def search(args: dict[str, Any]) -> Any:
        return wire.hits_json(adapter.search(wire.context_from(args), args["query"], args["limit"]))

    def inspect_surface(args: dict[str, Any]) -> Any:
        assert isinstance(adapter, MemoryLifecycleHooks)
        found = adapter.inspect_surface(wire.context_from(args), args["surface"], args["query"])
        return wire.hits_json(found)

    def discard(args: dict[str, Any]) -> None:
        adapter.discard(wire.context_from(args), wire.created_from(args["record"]))

    def restart(_: dict[str, Any]) -> Any:
        assert isinstance(adapter, MemoryLifecycleHooks)
        return wire.receipt_json(adapter.restart())

    return {
        "system": lambda _: system_json(adapter),
        "write": receipt("write", "content"),
        "search": search,
        "delete": receipt("delete", "id"),
        "discard": discard,
        "begin_pending_write": receipt("begin_pending_write", "content", "target_id"),
        "release_pending_writes": receipt("release_pending_writes"),
        "record_conversation": receipt("record_conversation", "messages"),
        "start_session": receipt("start_session"),
        "consolidate": receipt("consolidate"),
        "restart": restart,
        "inspect_surface": inspect_surface,
        "delete_thread": receipt("delete_thread"),
    }
