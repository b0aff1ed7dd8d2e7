"""The one door to a system under test: deadlines, shapes, and a ledger of what was created.

Whatever a system does (hang, die, answer nonsense, flood), a call through the guard ends in a checked value
or in a :class:`ProviderError` whose text is fit to show.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from afterdelete.afterlife import wire
from afterdelete.afterlife.markers import Markers
from afterdelete.afterlife.protocol import (
    SEARCH,
    AdapterTimeout,
    Context,
    Created,
    Description,
    Hit,
    HookReceipt,
    MemoryAdapter,
    MemoryLifecycleHooks,
    ProviderError,
    Surface,
)

T = TypeVar("T")
_CLOSING = 15.0  # seconds


@dataclass(frozen=True)
class Limits:
    """Times in seconds.

    ``window`` is how long a surface is polled and ``interval`` the pause between two looks; ``call_timeout``
    bounds one call, ``budget`` all calls of one arm.
    """

    window: float = 0.5
    interval: float = 0.05
    call_timeout: float = 5.0
    budget: float = 120.0


class Guard:
    """Calls one adapter, one call at a time."""

    def __init__(self, adapter: MemoryAdapter, limits: Limits, markers: Markers) -> None:
        self.adapter = adapter
        self.limits = limits
        self.markers = markers
        self.ledger: list[tuple[Context, Created]] = []
        self.unreported: list[tuple[str, Context, tuple[Any, ...]]] = []  # operations that gave no receipt
        self._deadline = time.monotonic() + limits.budget
        self._idle = threading.Event()  # set while no call is under way
        self._idle.set()

    def new_budget(self, seconds: float) -> None:
        """Start the clock for the calls that follow."""
        self._deadline = time.monotonic() + seconds

    def call(self, operation: Callable[..., T], *arguments: Any) -> T:
        """Run ``operation`` in a thread of its own and wait for it within the deadlines.

        Raises ``AdapterTimeout`` when it does not return in time; the thread is then left behind, since
        Python cannot end it, and a result that comes later is only entered in the ledger.
        """
        name = getattr(operation, "__name__", "call")
        remaining = self._deadline - time.monotonic()
        if remaining <= 0:
            raise AdapterTimeout(f"{name}: the time budget was used up before")
        answer: queue.SimpleQueue[tuple[T | None, BaseException | None]] = queue.SimpleQueue()

        def work() -> None:
            try:
                answer.put((operation(*arguments), None))
            except BaseException as error:  # what a system raises is its answer, whatever the type
                answer.put((None, error))
            finally:
                idle.set()

        # An event of each call's own: a call that was given up must not end the waiting for a later one.
        self._idle = idle = threading.Event()
        threading.Thread(target=work, name=f"afterlife-{name}", daemon=True).start()
        try:
            value, error = answer.get(timeout=min(self.limits.call_timeout, remaining))
        except queue.Empty:
            in_time = remaining >= self.limits.call_timeout
            cause = "it did not return in time" if in_time else "the time budget ran out"
            raise AdapterTimeout(f"{name}: {cause}") from None
        if error is None:
            return value  # type: ignore[return-value]  # None is a value of T where the operation returns None
        raise self._presentable(name, error) from None

    def describe(self) -> Description:
        """Which system answers."""

        def describe() -> Description:
            return wire.description_from(wire.description_json(self.adapter.describe()))

        return self.call(describe)

    def operate(self, operation: str, ctx: Context | None, *arguments: Any) -> HookReceipt:
        """Call an operation that answers with a receipt; what it created goes into the ledger."""
        method = getattr(self.adapter, operation)

        def run() -> HookReceipt:
            receipt = wire.checked_receipt(method(*((ctx, *arguments) if ctx else arguments)))
            # Entered here, in the calling thread, so that a receipt which arrives too late still counts.
            if ctx:
                self.ledger.extend((ctx, record) for record in receipt.created)
            return receipt

        run.__name__ = operation
        try:
            return self.call(run)
        except BaseException:  # a Ctrl-C too: the operation may have taken effect
            if ctx:
                self.unreported.append((operation, ctx, arguments))
            raise

    def read(self, surface: str, ctx: Context, query: str) -> list[Hit]:
        """What ``surface`` shows for ``query``."""

        def read() -> Sequence[Hit]:
            if surface == SEARCH:
                return wire.checked_hits(
                    self.adapter.search(ctx, query, wire.SEARCH_LIMIT), wire.SEARCH_LIMIT
                )
            assert isinstance(self.adapter, MemoryLifecycleHooks)
            return wire.checked_hits(self.adapter.inspect_surface(ctx, surface, query), wire.SURFACE_LIMIT)

        read.__name__ = surface if surface == SEARCH else f"inspect_surface({surface})"
        return list(self.call(read))

    def surfaces(self) -> list[Surface]:
        """The surfaces that the adapter names beside the search."""
        assert isinstance(self.adapter, MemoryLifecycleHooks)
        hooks = self.adapter

        def retrieval_surfaces() -> list[Surface]:
            return wire.checked_surfaces(hooks.retrieval_surfaces())

        return self.call(retrieval_surfaces)

    def close(self) -> str:
        """Close the adapter, which may take some seconds to end its programs; what went wrong, or nothing."""
        guard = Guard(self.adapter, replace(self.limits, call_timeout=_CLOSING), self.markers)
        try:
            guard.call(self.adapter.close)
        except ProviderError as error:
            return str(error)
        return ""

    def settle(self) -> None:
        """Give a call that was cut short (a Ctrl-C) the chance to end and to enter its receipt."""
        self._idle.wait(self.limits.call_timeout)

    def _presentable(self, name: str, error: BaseException) -> ProviderError:
        if isinstance(error, ProviderError):
            return type(error)(self.markers.clean(f"{name}: {error}"))
        return ProviderError(self.markers.clean(f"{name} raised {type(error).__name__}: {error}"))
