"""The built-in store: a small SQLite-backed memory that is correct, or wrong in exactly one chosen way.

It shows what each verdict looks like without any third-party system, and calibrates the scenarios: each must
fail on its own defect and pass on the correct store.
"""

from __future__ import annotations

import secrets
import shutil
import sqlite3
import tempfile
import threading
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path

import afterdelete
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
from afterdelete.afterlife.scenarios.texts import REMEMBER

_SCHEMA = """
CREATE TABLE IF NOT EXISTS memories (
    number INTEGER PRIMARY KEY AUTOINCREMENT, namespace TEXT, id TEXT, text TEXT, UNIQUE (namespace, id)
);
CREATE TABLE IF NOT EXISTS messages (
    number INTEGER PRIMARY KEY AUTOINCREMENT, namespace TEXT, id TEXT, text TEXT
);
CREATE TABLE IF NOT EXISTS tombstones (namespace TEXT, id TEXT, UNIQUE (namespace, id));
"""
_THREAD = "thread"  # the one thread of a namespace, as its tombstone names it
_TABLES = {"memory": "memories", "message": "messages", "tombstone": "tombstones"}


class Defect(StrEnum):
    """What the store does wrong; at most one thing at a time."""

    NONE = "none"
    LATE_WRITE_RESURRECTION = "late_write_resurrection"  # a write in flight ignores the tombstone
    HISTORY_REINGESTION = "history_reingestion"  # ingestion rebuilds from all kept messages
    DELETE_WITHOUT_EFFECT = "delete_without_effect"  # a delete is confirmed and removes nothing


class BuiltinStore(MemoryAdapter, MemoryLifecycleHooks):
    """Memories, one conversation per namespace, and tombstones, in one SQLite file.

    ``path`` shares a store between runs; without it the store is a temporary file that ``close`` removes.
    """

    def __init__(self, defect: Defect = Defect.NONE, path: Path | None = None) -> None:
        self._defect = defect
        self._folder = None if path else Path(tempfile.mkdtemp(prefix="afterlife-"))
        self._path = path or Path(str(self._folder)) / "store.sqlite"
        self._lock = threading.RLock()
        self._held: list[_InFlight] = []
        self._open()

    def _open(self) -> None:
        self._db = sqlite3.connect(self._path, check_same_thread=False, isolation_level=None)
        self._db.executescript(_SCHEMA)
        self._instance = secrets.token_hex(8)

    def describe(self) -> Description:
        versions = {"sqlite": sqlite3.sqlite_version}
        return Description("built-in store", afterdelete.__version__, versions, self._instance)

    def capabilities(self) -> frozenset[str]:
        return frozenset(Capability)

    def close(self) -> None:
        for write in self._held:
            write.cancel()
        self._db.close()
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)

    # The memory

    def write(self, ctx: Context, content: str) -> HookReceipt:
        if ctx.contract is DeletionContract.THREAD_CHECKPOINT:
            return HookReceipt(True, (self._add_message(ctx.namespace, content),))
        return HookReceipt(True, (self._add_memory(ctx.namespace, _new_id(), content),))

    def search(self, ctx: Context, query: str, limit: int) -> Sequence[Hit]:
        sql = "SELECT id, text FROM memories WHERE namespace = ? AND instr(text, ?) ORDER BY number LIMIT ?"
        return [Hit(id, text) for id, text in self._all(sql, ctx.namespace, query, limit)]

    def delete(self, ctx: Context, id: str) -> HookReceipt:
        if self._defect is Defect.DELETE_WITHOUT_EFFECT:
            return HookReceipt(True)
        self._run("DELETE FROM memories WHERE namespace = ? AND id = ?", ctx.namespace, id)
        return HookReceipt(True, (self._bury(ctx.namespace, id),))

    def discard(self, ctx: Context, record: Created) -> None:
        if record.kind not in _TABLES:
            raise ProviderError(f"no records of kind {record.kind} here")
        self._run(
            f"DELETE FROM {_TABLES[record.kind]} WHERE namespace = ? AND id = ?", ctx.namespace, record.id
        )

    # The lifecycle

    def begin_pending_write(self, ctx: Context, content: str, target_id: str | None = None) -> HookReceipt:
        write = _InFlight(ctx.namespace, lambda: self._land(ctx, content, target_id))
        self._held.append(write)
        write.start()
        return HookReceipt(True)

    def release_pending_writes(self, ctx: Context) -> HookReceipt:
        released = [write for write in self._held if write.namespace == ctx.namespace]
        self._held = [write for write in self._held if write.namespace != ctx.namespace]
        created = [record for write in released for record in write.land()]
        return HookReceipt(True, tuple(created), processed=len(released))

    def record_conversation(self, ctx: Context, messages: Sequence[str]) -> HookReceipt:
        return HookReceipt(True, tuple(self._add_message(ctx.namespace, text) for text in messages))

    def start_session(self, ctx: Context) -> HookReceipt:
        return self._ingest(ctx.namespace)

    def consolidate(self, ctx: Context) -> HookReceipt:
        return self._ingest(ctx.namespace)

    def restart(self) -> HookReceipt:
        with self._lock:
            self._db.close()
            self._open()
        return HookReceipt(True)

    def retrieval_surfaces(self) -> Sequence[Surface]:
        return [Surface("profile"), Surface("thread", Scope.THREAD)]

    def inspect_surface(self, ctx: Context, surface: str, query: str) -> Sequence[Hit]:
        if surface == "profile":
            texts = self._all("SELECT text FROM memories WHERE namespace = ? ORDER BY number", ctx.namespace)
            return [Hit("profile", " ".join(text for (text,) in texts))]
        if surface == "thread":
            sql = "SELECT id, text FROM messages WHERE namespace = ? ORDER BY number"
            return [Hit(id, text) for id, text in self._all(sql, ctx.namespace)]
        raise ProviderError(f"no surface {surface} here")

    def delete_thread(self, ctx: Context) -> HookReceipt:
        if self._defect is Defect.DELETE_WITHOUT_EFFECT:
            return HookReceipt(True)
        self._run("DELETE FROM messages WHERE namespace = ?", ctx.namespace)
        return HookReceipt(True, (self._bury(ctx.namespace, _THREAD),))

    # The inside

    def _ingest(self, namespace: str) -> HookReceipt:
        """Turn every kept request that is no memory yet, and whose memory was not deleted, into one.

        A memory's id is made from its message's, so the tombstone of the memory also stops the message.
        """
        created = []
        with self._lock:
            for message, text in self._all("SELECT id, text FROM messages WHERE namespace = ?", namespace):
                id = f"mem_of_{message}"
                known = self._all("SELECT 1 FROM memories WHERE namespace = ? AND id = ?", namespace, id)
                buried = self._is_buried(namespace, id) and self._defect is not Defect.HISTORY_REINGESTION
                if text.startswith(REMEMBER) and not known and not buried:
                    created.append(self._add_memory(namespace, id, text.removeprefix(REMEMBER)))
        return HookReceipt(True, tuple(created), processed=len(created))

    def _land(self, ctx: Context, content: str, target_id: str | None) -> list[Created]:
        """Apply a write that was in flight, unless its target was deleted meanwhile."""
        thread = ctx.contract is DeletionContract.THREAD_CHECKPOINT
        target = _THREAD if thread else target_id
        respects = self._defect is not Defect.LATE_WRITE_RESURRECTION
        if target and respects and self._is_buried(ctx.namespace, target):
            return []
        if thread:
            return [self._add_message(ctx.namespace, content)]
        return [self._add_memory(ctx.namespace, target_id or _new_id(), content)]

    def _add_memory(self, namespace: str, id: str, text: str) -> Created:
        self._run(
            "INSERT OR REPLACE INTO memories (namespace, id, text) VALUES (?, ?, ?)", namespace, id, text
        )
        return Created("memory", id)

    def _add_message(self, namespace: str, text: str) -> Created:
        id = f"msg_{secrets.token_hex(6)}"
        self._run("INSERT INTO messages (namespace, id, text) VALUES (?, ?, ?)", namespace, id, text)
        return Created("message", id)

    def _bury(self, namespace: str, id: str) -> Created:
        self._run("INSERT OR IGNORE INTO tombstones VALUES (?, ?)", namespace, id)
        return Created("tombstone", id)

    def _is_buried(self, namespace: str, id: str) -> bool:
        return bool(self._all("SELECT 1 FROM tombstones WHERE namespace = ? AND id = ?", namespace, id))

    def _all(self, sql: str, *values: object) -> list[tuple[str, ...]]:
        with self._lock:
            return self._db.execute(sql, values).fetchall()

    def _run(self, sql: str, *values: object) -> None:
        with self._lock:
            self._db.execute(sql, values)


def _new_id() -> str:
    return f"mem_{secrets.token_hex(6)}"


class _InFlight(threading.Thread):
    """A write that has started and waits at a gate right before it is applied."""

    def __init__(self, namespace: str, apply: Callable[[], list[Created]]) -> None:
        super().__init__(name="afterlife-in-flight", daemon=True)
        self.namespace = namespace
        self._apply = apply
        self._gate = threading.Event()
        self._cancelled = False
        self._created: list[Created] = []
        self._error: Exception | None = None

    def run(self) -> None:
        self._gate.wait()
        if self._cancelled:
            return
        try:
            self._created = self._apply()
        except Exception as error:  # handed to whoever releases the write, instead of printed by the thread
            self._error = error

    def land(self) -> list[Created]:
        """Open the gate, wait for the write, and return what it created."""
        self._gate.set()
        self.join()
        if self._error:
            raise self._error
        return self._created

    def cancel(self) -> None:
        """End the thread without the write."""
        self._cancelled = True
        self._gate.set()
        self.join()
