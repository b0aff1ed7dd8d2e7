"""The events of one arm, and the numbered log of what was asked of the system."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Phase(StrEnum):
    """The part of a scenario an event belongs to."""

    CREATE = "create"
    POSITIVE_CONTROL = "positive_control"
    PENDING_WRITE = "pending_write"
    DELETE = "delete"
    IMMEDIATE_CHECK = "immediate_check"
    LIFECYCLE = "lifecycle"
    OBSERVE = "observe"


@dataclass(frozen=True)
class Event:
    """One step of an arm. ``elapsed_ms`` runs from the start of the arm; it alone differs between reruns.

    ``marker_visible`` and ``surfaces`` (where it was visible) are None for a step that is not a look.
    """

    seq: int
    phase: Phase
    action: str
    detail: str
    elapsed_ms: int
    evidence_step: int
    marker_visible: bool | None = None
    surfaces: tuple[str, ...] | None = None

    def as_dict(self) -> dict[str, Any]:
        """The event as the report has it; the two look fields are absent where they do not apply."""
        fields: dict[str, Any] = {
            "seq": self.seq,
            "phase": str(self.phase),
            "action": self.action,
            "detail": self.detail,
            "elapsed_ms": self.elapsed_ms,
            "evidence_step": self.evidence_step,
        }
        if self.marker_visible is not None:
            fields |= {"marker_visible": self.marker_visible, "surfaces": list(self.surfaces or ())}
        return fields


@dataclass
class Timeline:
    """The events of one arm in order."""

    events: list[Event] = field(default_factory=list)
    _start: float = field(default_factory=time.monotonic)

    def add(
        self,
        phase: Phase,
        action: str,
        detail: str,
        evidence_step: int,
        visible_on: tuple[str, ...] | None = None,
    ) -> Event:
        """Append an event; ``visible_on`` is given for a look: the surfaces that showed the marker."""
        event = Event(
            seq=len(self.events) + 1,
            phase=phase,
            action=action,
            detail=detail,
            elapsed_ms=round((time.monotonic() - self._start) * 1000),
            evidence_step=evidence_step,
            marker_visible=None if visible_on is None else bool(visible_on),
            surfaces=visible_on,
        )
        self.events.append(event)
        return event


@dataclass
class Evidence:
    """What was asked of the system in both arms, one entry per operation or per look, without contents.

    A look that is repeated through the consistency window is one entry, so the log does not depend on
    how fast the machine is.
    """

    entries: list[dict[str, Any]] = field(default_factory=list)

    def note(self, arm: str, operation: str, outcome: str) -> int:
        """Append an entry and return its step number."""
        step = len(self.entries) + 1
        self.entries.append({"step": step, "arm": arm, "operation": operation, "outcome": outcome})
        return step
