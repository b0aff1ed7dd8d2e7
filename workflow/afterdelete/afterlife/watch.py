"""Looking for a marker on every surface, once or through the consistency window."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from afterdelete.afterlife.guard import Guard
from afterdelete.afterlife.markers import shows
from afterdelete.afterlife.protocol import SEARCH, Context, DeletionContract, Hit, Scope, Surface
from afterdelete.afterlife.verdict import Inconclusive

_SETTLED_LOOKS = 3  # looks in a row without the marker before an absence counts: replicas may disagree


@dataclass(frozen=True)
class Surfaces:
    """The surfaces a deletion contract answers for, and the others."""

    judged: tuple[str, ...]
    unjudged: tuple[str, ...]


def divide(surfaces: list[Surface], contract: DeletionContract) -> Surfaces:
    """Memory surfaces are judged under memory_record, thread surfaces under thread_checkpoint.

    The search is a memory surface unless the adapter lists it otherwise.
    """
    scopes = {SEARCH: Scope.MEMORY} | {surface.name: surface.scope for surface in surfaces}
    wanted = Scope.MEMORY if contract is DeletionContract.MEMORY_RECORD else Scope.THREAD
    return Surfaces(
        judged=tuple(name for name, scope in scopes.items() if scope is wanted),
        unjudged=tuple(name for name, scope in scopes.items() if scope is not wanted),
    )


class Watch:
    """Polls the surfaces of one namespace.

    Every judged look also asks for a decoy, a marker that was never written: a surface that shows it (one
    that echoes the question, say) proves nothing, and the result is INCONCLUSIVE.
    """

    def __init__(self, guard: Guard, ctx: Context, surfaces: Surfaces, decoy: str) -> None:
        self._guard = guard
        self._ctx = ctx
        self._decoy = decoy
        self.surfaces = surfaces

    def look(self, marker: str) -> tuple[str, ...]:
        """The judged surfaces that show ``marker`` now."""
        visible = []
        for surface in self.surfaces.judged:
            hits = self._read(surface, marker)
            if _any_shows([*hits, *self._read(surface, self._decoy)], self._decoy):
                raise Inconclusive(
                    f"a marker that was never written appeared on {surface}, so what it shows is no evidence"
                )
            if _any_shows(hits, marker):
                visible.append(surface)
        return tuple(visible)

    def beside(self, marker: str) -> tuple[str, ...]:
        """The surfaces outside the deletion contract that show ``marker`` now."""
        return self._showing(self.surfaces.unjudged, marker)

    def anywhere(self, marker: str) -> tuple[str, ...]:
        """All surfaces that show ``marker`` now, without asking for the decoy."""
        return self._showing(self.surfaces.judged + self.surfaces.unjudged, marker)

    def ids(self, marker: str) -> list[str]:
        """Ids of the memories that a search for ``marker`` returns and that hold it."""
        return [hit.id for hit in self._read(SEARCH, marker) if shows(hit.text, marker)]

    def until_everywhere(self, marker: str) -> tuple[str, ...]:
        """Poll until every judged surface shows ``marker`` or the window ends; return where it was seen."""
        seen: set[str] = set()

        def all_seen() -> bool:
            seen.update(self.look(marker))
            return seen.issuperset(self.surfaces.judged)

        self._poll(all_seen)
        return tuple(name for name in self.surfaces.judged if name in seen)

    def until_visible(self, marker: str) -> tuple[str, ...]:
        """Poll until some judged surface shows ``marker``; an empty answer covers the whole window."""
        return self._poll_for(lambda visible: bool(visible), marker)

    def until_absent(self, marker: str) -> tuple[str, ...]:
        """Poll until several looks in a row show no ``marker``, or the window ends; return where it is.

        An absence that is not yet settled when the window ends is given the looks that it lacks.
        """
        absences = 0

        def settled(visible: tuple[str, ...]) -> bool:
            nonlocal absences
            absences = 0 if visible else absences + 1
            return absences >= _SETTLED_LOOKS

        last = self._poll_for(settled, marker)
        while 0 < absences < _SETTLED_LOOKS:
            time.sleep(self._guard.limits.interval)
            last = self.look(marker)
            settled(last)
        return last

    def wait_window(self) -> None:
        """Let one consistency window pass."""
        time.sleep(self._guard.limits.window)

    def _poll_for(self, done: Callable[[tuple[str, ...]], bool], marker: str) -> tuple[str, ...]:
        last: tuple[str, ...] = ()

        def step() -> bool:
            nonlocal last
            last = self.look(marker)
            return done(last)

        self._poll(step)
        return last

    def _poll(self, done: Callable[[], bool]) -> None:
        limits = self._guard.limits
        end = time.monotonic() + limits.window
        while not done() and (left := end - time.monotonic()) > 0:
            time.sleep(min(limits.interval, left))

    def _showing(self, surfaces: tuple[str, ...], marker: str) -> tuple[str, ...]:
        return tuple(name for name in surfaces if _any_shows(self._read(name, marker), marker))

    def _read(self, surface: str, query: str) -> list[Hit]:
        return self._guard.read(surface, self._ctx, query)


def _any_shows(hits: list[Hit], marker: str) -> bool:
    return any(shows(hit.text, marker) or shows(hit.id, marker) for hit in hits)
