"""Synthetic markers, and keeping them out of everything a person or a log could read."""

from __future__ import annotations

import hashlib
import re
import secrets

_PREFIX = "afmk7"
_ALPHABET = "abcdefghijklmnopqrstuvwxyz234567"
_RANDOM_LENGTH = 20  # 100 bits: no two runs meet by chance, and no text holds one by accident
_FRAGMENT = 8  # a shorter piece says nothing about the marker
_WORD = re.compile(rf"[a-z2-7]{{{_FRAGMENT},}}", re.IGNORECASE)
_SHAPE = re.compile(rf"{_PREFIX}[a-z2-7]*", re.IGNORECASE)
MASK = "[marker]"


class Markers:
    """Makes the markers of one run and hides them again.

    Without a seed they are unpredictable. With a seed the same label gives the same marker in every run, so
    two seeded runs must not share a store at the same time. A marker is lower-case ASCII letters and
    digits: JSON, URLs and SQL carry it unchanged, so a search for it is a search for its bytes.
    """

    def __init__(self, seed: int | None = None, *, show: bool = False) -> None:
        self._seed = seed
        self._show = show
        self._made: dict[str, str] = {}

    def make(self, label: str) -> str:
        """The marker called ``label`` in this run; the same one each time it is asked for."""
        if label not in self._made:
            self._made[label] = _PREFIX + self._random(label)
        return self._made[label]

    def all(self) -> dict[str, str]:
        """Label to marker, in order of making."""
        return dict(self._made)

    def _random(self, label: str) -> str:
        if self._seed is None:
            return "".join(secrets.choice(_ALPHABET) for _ in range(_RANDOM_LENGTH))
        digest = hashlib.sha256(f"afterlife marker {self._seed} {label}".encode()).digest()
        return "".join(_ALPHABET[byte % 32] for byte in digest[:_RANDOM_LENGTH])

    def clean(self, text: str, limit: int = 200) -> str:
        """Words of the system under test made fit to show: one line, no control characters, no markers.

        Anything shaped like a marker is hidden, also another run's, and any piece of this run's markers of
        eight characters or more, since a system may have cut it. Hiding comes before shortening to ``limit``.
        """
        line = "".join(character if character.isprintable() else " " for character in text)
        if not self._show:
            line = _WORD.sub(self._mask_fragment, _SHAPE.sub(MASK, line))
        line = " ".join(line.split())
        return line if len(line) <= limit else line[: limit - 1] + "…"

    def _mask_fragment(self, match: re.Match[str]) -> str:
        word = match.group().lower()
        pieces = {word[start : start + _FRAGMENT] for start in range(len(word) - _FRAGMENT + 1)}
        known = any(piece in marker for marker in self._made.values() for piece in pieces)
        return MASK if known else match.group()


def shows(text: str, marker: str) -> bool:
    """Whether ``text`` holds ``marker``, whatever case a store folded it to."""
    return marker in text.casefold()
