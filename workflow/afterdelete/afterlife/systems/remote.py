"""An adapter whose system answers from somewhere else: every operation becomes one request."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from afterdelete.afterlife import wire
from afterdelete.afterlife.protocol import (
    Context,
    Created,
    Description,
    Hit,
    HookReceipt,
    MemoryAdapter,
    MemoryLifecycleHooks,
    ProtocolViolation,
    Surface,
)


class RemoteAdapter(MemoryAdapter, MemoryLifecycleHooks):
    """The operations over a transport that a subclass gives in ``_ask``."""

    @abstractmethod
    def _ask(self, op: str, args: dict[str, Any]) -> Any:
        """Carry out ``op`` over there; ``ProviderError`` if it cannot be done."""

    def describe(self) -> Description:
        return wire.description_from(self._system())

    def capabilities(self) -> frozenset[str]:
        return wire.capabilities_from(self._system().get("capabilities"))

    def objections(self) -> Mapping[str, str]:
        reasons = self._system().get("unimplemented") or {}
        if not isinstance(reasons, dict):
            raise ProtocolViolation("unimplemented maps a capability to a reason")
        return {str(name): str(reason)[:200] for name, reason in reasons.items()}

    def write(self, ctx: Context, content: str) -> HookReceipt:
        return self._receipt("write", ctx, content=content)

    def search(self, ctx: Context, query: str, limit: int) -> Sequence[Hit]:
        return wire.hits_from(self._in("search", ctx, query=query, limit=limit))

    def delete(self, ctx: Context, id: str) -> HookReceipt:
        return self._receipt("delete", ctx, id=id)

    def discard(self, ctx: Context, record: Created) -> None:
        self._in("discard", ctx, record={"kind": record.kind, "id": record.id})

    def begin_pending_write(self, ctx: Context, content: str, target_id: str | None = None) -> HookReceipt:
        return self._receipt("begin_pending_write", ctx, content=content, target_id=target_id)

    def release_pending_writes(self, ctx: Context) -> HookReceipt:
        return self._receipt("release_pending_writes", ctx)

    def record_conversation(self, ctx: Context, messages: Sequence[str]) -> HookReceipt:
        return self._receipt("record_conversation", ctx, messages=list(messages))

    def start_session(self, ctx: Context) -> HookReceipt:
        return self._receipt("start_session", ctx)

    def consolidate(self, ctx: Context) -> HookReceipt:
        return self._receipt("consolidate", ctx)

    def restart(self) -> HookReceipt:
        return wire.receipt_from(self._ask("restart", {}))

    def retrieval_surfaces(self) -> Sequence[Surface]:
        return wire.surfaces_from(self._system().get("surfaces") or [])

    def inspect_surface(self, ctx: Context, surface: str, query: str) -> Sequence[Hit]:
        return wire.hits_from(self._in("inspect_surface", ctx, surface=surface, query=query))

    def delete_thread(self, ctx: Context) -> HookReceipt:
        return self._receipt("delete_thread", ctx)

    def _system(self) -> dict[str, Any]:
        system = self._ask("system", {})
        if not isinstance(system, dict):
            raise ProtocolViolation("the answer about the system is no JSON object")
        return system

    def _in(self, op: str, ctx: Context, **args: Any) -> Any:
        return self._ask(op, {**wire.context_json(ctx), **args})

    def _receipt(self, op: str, ctx: Context, **args: Any) -> HookReceipt:
        return wire.receipt_from(self._in(op, ctx, **args))
