"""Leaving a system as it was found: exactly what a run created goes, after success and after any failure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from afterdelete.afterlife.arm import Arm
from afterdelete.afterlife.capabilities import Capability
from afterdelete.afterlife.guard import Guard
from afterdelete.afterlife.markers import shows
from afterdelete.afterlife.protocol import SEARCH, AdapterTimeout, Context, Created, ProviderError

_BUDGET = 30.0  # seconds for the whole cleanup of one scenario
_SWEEPS = 3  # searches for leftovers: a released write may land while the first is under way
_PATIENCE = 3  # failed calls in a row before a system counts as gone; one that hangs counts at once


@dataclass(frozen=True)
class Cleanup:
    """What the cleanup did. ``problems`` name the namespace, so that a person can finish the work."""

    removed: int
    problems: tuple[str, ...]

    @property
    def complete(self) -> bool:
        """Whether nothing of the run is known to be left."""
        return not self.problems


class _Gone(Exception):
    """The system does not answer any more."""


class Cleaner:
    """Undoes one scenario. Nothing outside the arms' namespaces is read or removed."""

    def __init__(self, guard: Guard, capabilities: frozenset[Capability], arms: Iterable[Arm]) -> None:
        self._guard = guard
        self._capabilities = capabilities
        self._arms = list(arms)
        self._patience = _PATIENCE
        self._problems: list[str] = []
        self._removed = 0

    def run(self, *, after_failure: bool) -> Cleanup:
        """Let held writes go, discard the ledger from its end, sweep for the markers, and look once more."""
        self._guard.settle()
        self._guard.new_budget(_BUDGET)
        try:
            if after_failure:
                self._try("recover", self._guard.call, self._guard.adapter.recover)
            for arm in self._arms:
                if arm.holding:
                    self._operate("release_pending_writes", arm.ctx)
            self._learn_unreported()
            for ctx, record in reversed(list(dict.fromkeys(self._guard.ledger))):
                self._discard(ctx, record)
            for arm in self._arms:
                self._sweep(arm)
        except _Gone:
            names = ", ".join(arm.ctx.namespace for arm in self._arms)
            self._problems.append(f"the system does not answer; look for leftovers in {names}")
        return Cleanup(self._removed, tuple(self._problems))

    def _learn_unreported(self) -> None:
        """Have the receipts that failed operations never gave, as far as they can be had.

        A delete may be repeated: it changes nothing more, and its receipt names the tombstones it leaves.
        What another operation left in a thread is found by no search, and the namespace is ours alone, so
        its thread may go as a whole. What it left in the memory the sweep finds.
        """
        for operation, ctx, arguments in list(self._guard.unreported):
            if operation in {"delete", "delete_thread"}:
                self._operate(operation, ctx, *arguments)
            elif Capability.THREAD_DELETE in self._capabilities:
                self._operate("delete_thread", ctx)

    def _operate(self, operation: str, ctx: Context, *arguments: Any) -> None:
        self._try(f"{operation} in {ctx.namespace}", self._guard.operate, operation, ctx, *arguments)

    def _discard(self, ctx: Context, record: Created) -> None:
        what = f"discard a {record.kind} in {ctx.namespace}"
        if self._try(what, self._guard.call, self._guard.adapter.discard, ctx, record):
            self._removed += 1

    def _sweep(self, arm: Arm) -> None:
        left: tuple[str, ...] = ()
        for _ in range(_SWEEPS):
            for memory_id in self._leftovers(arm.ctx):
                self._discard(arm.ctx, Created("memory", memory_id))
            try:
                left = arm.shown_anywhere()
            except ProviderError as error:
                self._failed(f"look into {arm.ctx.namespace}", error)
                return
            if not left:
                return
        self._problems.append(f"a marker is still visible on {', '.join(left)} in {arm.ctx.namespace}")

    def _leftovers(self, ctx: Context) -> list[str]:
        if Capability.MEMORY_SEARCH not in self._capabilities:
            return []
        found: dict[str, None] = {}
        try:
            for marker in self._guard.markers.all().values():
                hits = self._guard.read(SEARCH, ctx, marker)
                found.update((hit.id, None) for hit in hits if shows(hit.text, marker))
        except ProviderError as error:
            self._failed(f"search {ctx.namespace}", error)
        return list(found)

    def _try(self, what: str, call: Callable[..., Any], *arguments: Any) -> bool:
        try:
            call(*arguments)
        except ProviderError as error:
            self._failed(what, error)
            return False
        self._patience = _PATIENCE
        return True

    def _failed(self, what: str, error: ProviderError) -> None:
        self._problems.append(self._guard.markers.clean(f"could not {what}: {error}", limit=300))
        self._patience = 0 if isinstance(error, AdapterTimeout) else self._patience - 1
        if self._patience <= 0:
            raise _Gone
