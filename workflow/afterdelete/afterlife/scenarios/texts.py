"""The sentences that carry the markers, all synthetic."""

from __future__ import annotations

REMEMBER = "Please remember that "  # a message that starts so asks to be remembered


def memory(marker: str) -> str:
    """A memory as an application would write it."""
    return f"The user's locker code is {marker}."


def update(marker: str) -> str:
    """An update of that memory."""
    return f"Correction: the user's locker code is {marker}."


def request(marker: str) -> str:
    """A user message that asks to remember the marker."""
    return f"{REMEMBER}my locker code is {marker}."


def unrelated(marker: str) -> str:
    """A later user message about something else, with a marker of its own so that it can be found."""
    return f"{REMEMBER}the meeting on Thursday is in room {marker}."
