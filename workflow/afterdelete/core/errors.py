"""The one error type that a person is meant to read."""

from __future__ import annotations


class AfterDeleteError(Exception):
    """Bad input or a broken environment: what is wrong, and what to do about it.

    Shown as one line, without a traceback. Never put a target, a key or a reply into either part.
    """

    def __init__(self, problem: str, remedy: str = "") -> None:
        self.problem = problem
        self.remedy = remedy
        super().__init__(f"{problem} — {remedy}" if remedy else problem)
