"""Neutral twins: what the clean world's user says where the target-bearing record stands."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import product

from afterdelete.profiles.inventory_schema import Inventory

# A twin's length in characters may differ from its exposure record's by this share of the latter.
LENGTH_PERCENT = 15

_SENTENCE_END = re.compile(r"[.!?](?=\s|$)")
_CODE_LIKE = re.compile(r"\d|\b[A-Z]{2,}\b|\b[A-Z]+-[A-Z]|\w[-_/]\w*[A-Z]")


def sentences(text: str) -> int:
    """How many sentences a text has: full stops, exclamation and question marks that end a word."""
    return len(_SENTENCE_END.findall(text))


def lengths_match(exposure: str, neutral: str) -> bool:
    """Whether the neutral text's characters are within LENGTH_PERCENT of the exposure text's."""
    return 100 * abs(len(neutral) - len(exposure)) <= LENGTH_PERCENT * len(exposure)


def code_like(text: str) -> bool:
    """Whether a text holds a digit, a token in capitals of two letters or more, or a joined capital."""
    return _CODE_LIKE.search(text) is not None


@dataclass(frozen=True)
class Twin:
    """One neutral text an exposure record, in order, all about one neutral attribute."""

    attribute: str
    texts: list[str]


class NeutralPool:
    """All neutral texts an inventory can make, by (neutral attribute, value) pair."""

    def __init__(self, inventory: Inventory) -> None:
        self._pairs: list[tuple[str, list[tuple[int, str]]]] = []
        for name, values in inventory.neutral_attributes.items():
            for value in values:
                texts = [t.format(neutral_attribute=name, value=value) for t in inventory.neutral_templates]
                self._pairs.append((name, [(sentences(text), text) for text in texts]))

    def match(self, exposure: list[str], pair: int, picks: list[int]) -> Twin | None:
        """The first pair, from ``pair`` on, that has a different matching text for every exposure record.

        ``picks``: at least one draw a record; it chooses among the texts that match. None if no pair has.
        """
        wanted = [(sentences(text), text) for text in exposure]
        for step in range(len(self._pairs)):
            name, texts = self._pairs[(pair + step) % len(self._pairs)]
            fits = []
            for (count, record), pick in zip(wanted, picks, strict=False):
                fit = [text for n, text in texts if n == count and lengths_match(record, text)]
                turn = pick % len(fit) if fit else 0
                fits.append(fit[turn:] + fit[:turn])
            # All ways to choose are tried, so whether a twin exists depends on lengths alone, not on draws.
            chosen = next((list(way) for way in product(*fits) if len(set(way)) == len(way)), None)
            if chosen is not None:
                return Twin(name, chosen)
        return None
