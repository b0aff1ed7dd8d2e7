"""The five statuses, how a scenario ends in one, and the exit code that a set of them gives."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum


class Status(StrEnum):
    """PASS and FAIL are findings; the other three say why there is none."""

    PASS = "PASS"
    FAIL = "FAIL"
    SKIPPED = "SKIPPED"
    INCONCLUSIVE = "INCONCLUSIVE"
    ERROR = "ERROR"


class Inconclusive(Exception):
    """The run proves nothing: a control did not hold, or an event did not take place."""


class Failed(Exception):
    """The marker was there when it should not have been.

    ``event`` is the seq of the look that saw it, ``trigger`` the operation that preceded it, ``resurrected``
    whether its absence had been confirmed before.
    """

    def __init__(
        self, label: str, reason: str, *, event: int, trigger: str, resurrected: bool = True
    ) -> None:
        super().__init__(reason)
        self.label = label
        self.event = event
        self.trigger = trigger
        self.resurrected = resurrected


EXIT_PASS, EXIT_FAIL, EXIT_USAGE, EXIT_INCONCLUSIVE, EXIT_ERROR, EXIT_INTERRUPTED = 0, 1, 2, 3, 4, 130


def exit_code(statuses: Iterable[Status]) -> int:
    """1 if any FAIL, else 4 if any ERROR, else 3 if any INCONCLUSIVE or nothing ran, else 0."""
    seen = set(statuses)
    if Status.FAIL in seen:
        return EXIT_FAIL
    if Status.ERROR in seen:
        return EXIT_ERROR
    if Status.INCONCLUSIVE in seen or Status.PASS not in seen:
        return EXIT_INCONCLUSIVE
    return EXIT_PASS
