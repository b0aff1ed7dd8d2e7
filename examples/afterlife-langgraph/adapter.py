"""The adapter of the LangGraph application: its operations in the words of the Afterlife protocol.

`afterdelete afterlife test --system langgraph` runs it in the environment of `make env-memory-langgraph`.
"""

from __future__ import annotations

import argparse
import os
import secrets
import threading
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

os.environ["LANGSMITH_TRACING"] = "false"  # before the import: nothing may be sent anywhere

from app import MemoryApp

from afterdelete.afterlife.capabilities import Capability
from afterdelete.afterlife.protocol import (
    Context,
    Created,
    DeletionContract,
    Description,
    Hit,
    HookReceipt,
    MemoryAdapter,
    MemoryLifecycleHooks,
    ProviderError,
    Scope,
    Surface,
)
from afterdelete.afterlife.worker import serve, state_folder

_PACKAGES = ("langgraph", "langgraph-checkpoint", "langgraph-checkpoint-sqlite")
_KINDS = {"memory": "memories", "tombstone": "tombstones", "session": "session", "profile": "profile"}


class LangGraphAdapter(MemoryAdapter, MemoryLifecycleHooks):
    """A namespace is one user of the application."""

    def __init__(self, folder: Path, *, honour_tombstones: bool) -> None:
        self._app = MemoryApp(folder, honour_tombstones=honour_tombstones)
        self._held: dict[str, list[tuple[threading.Event, threading.Thread, Created]]] = {}
        self._instance = secrets.token_hex(8)

    def describe(self) -> Description:
        versions = {name: version(name) for name in _PACKAGES}
        return Description("LangGraph application", versions["langgraph"], versions, self._instance)

    def capabilities(self) -> frozenset[str]:
        return frozenset(Capability)

    def close(self) -> None:
        self._app.close()

    def write(self, ctx: Context, content: str) -> HookReceipt:
        user = ctx.namespace
        if ctx.contract is DeletionContract.THREAD_CHECKPOINT:
            # As a user would; the application derives a memory from the message, as it always does.
            self._app.say(user, [f"Please remember that {content}"])
            return HookReceipt(True, (*self._housekeeping(user), *_memories(self._app.ingest(user))))
        id = self._app.remember(user, content)
        return HookReceipt(True, (Created("memory", id), *self._housekeeping(user)))

    def search(self, ctx: Context, query: str, limit: int) -> Sequence[Hit]:
        items = self._app.memories(ctx.namespace)
        found = [Hit(item.key, item.value["text"]) for item in items if query in item.value["text"]]
        return found[:limit]

    def delete(self, ctx: Context, id: str) -> HookReceipt:
        self._app.delete_memory(ctx.namespace, id)
        return HookReceipt(True, (Created("tombstone", id),) if self._app.honour_tombstones else ())

    def discard(self, ctx: Context, record: Created) -> None:
        if record.kind != "thread" and record.kind not in _KINDS:
            raise ProviderError(f"no records of kind {record.kind} here")
        self._app.erase(ctx.namespace, _KINDS.get(record.kind, record.kind), record.id)

    def begin_pending_write(self, ctx: Context, content: str, target_id: str | None = None) -> HookReceipt:
        user = ctx.namespace
        if ctx.contract is DeletionContract.THREAD_CHECKPOINT:
            gate, run = self._app.start_run(user, [content], None)
            record = Created("thread", self._app.thread(user))
        else:
            record = Created("memory", target_id or secrets.token_hex(6))
            gate, run = self._app.start_run(user, [], (record.id, content))
        self._held.setdefault(user, []).append((gate, run, record))
        return HookReceipt(True)

    def release_pending_writes(self, ctx: Context) -> HookReceipt:
        held = self._held.pop(ctx.namespace, [])
        for gate, run, _ in held:
            gate.set()
            run.join()
        return HookReceipt(True, tuple(record for _, _, record in held), processed=len(held))

    def record_conversation(self, ctx: Context, messages: Sequence[str]) -> HookReceipt:
        self._app.say(ctx.namespace, list(messages))
        return HookReceipt(True, self._housekeeping(ctx.namespace))

    def start_session(self, ctx: Context) -> HookReceipt:
        created = self._app.start_session(ctx.namespace)
        return HookReceipt(True, (Created("session", "current"), *_memories(created)), processed=len(created))

    def consolidate(self, ctx: Context) -> HookReceipt:
        created = self._app.ingest(ctx.namespace)
        return HookReceipt(True, _memories(created), processed=len(created))

    def retrieval_surfaces(self) -> Sequence[Surface]:
        return [
            Surface("profile"),
            Surface("thread_state", Scope.THREAD),
            Surface("thread_history", Scope.THREAD),
        ]

    def inspect_surface(self, ctx: Context, surface: str, query: str) -> Sequence[Hit]:
        if surface == "profile":
            return [Hit("profile", self._app.profile(ctx.namespace))]
        threads = {"thread_state": self._app.messages, "thread_history": self._app.history}
        if surface not in threads:
            raise ProviderError(f"no surface {surface} here")
        return [Hit(thread, "\n".join(texts)) for thread, texts in threads[surface](ctx.namespace).items()]

    def delete_thread(self, ctx: Context) -> HookReceipt:
        buried = self._app.thread(ctx.namespace)
        self._app.delete_threads(ctx.namespace)
        tombstones = (Created("tombstone", buried),) if self._app.honour_tombstones else ()
        return HookReceipt(True, (Created("session", "current"), *tombstones))

    def _housekeeping(self, user: str) -> tuple[Created, ...]:
        """What a run of the graph leaves beside the memory it was for."""
        return (Created("thread", self._app.thread(user)), Created("profile", "profile"))


def _memories(ids: Sequence[str]) -> tuple[Created, ...]:
    return (*(Created("memory", id) for id in ids), Created("profile", "profile")) if ids else ()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--honour-tombstones", action="store_true")
    options = parser.parse_args()
    serve(LangGraphAdapter(state_folder(), honour_tombstones=options.honour_tombstones))
