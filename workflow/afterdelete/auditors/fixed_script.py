"""Ask operators in a fixed order; submit the first parsed prediction.

DIRECT and PARAPHRASE are scripts of one operator; the expert script has several, does not begin with
DIRECT, never repeats one, and abstains when they are used up.
"""

from __future__ import annotations

from dataclasses import dataclass

from afterdelete.auditors.base import Abstain, Act, Ask, Observation, Submit


@dataclass(frozen=True)
class FixedScript:
    """``order`` holds operator names, each once."""

    order: tuple[str, ...]

    def act(self, seen: Observation) -> Act:
        """Submit if the last reply parsed as a prediction, else ask the next operator, else abstain."""
        if seen.history and seen.history[-1].prediction is not None:
            return Submit(seen.history[-1].prediction)
        asked = len(seen.history)
        if asked < len(self.order) and seen.remaining > 0:
            return Ask(self.order[asked])
        return Abstain()


def make(order: list[str]) -> FixedScript:
    """A script over ``order``; ValueError-like misuse (a repeated operator) is a TypeError naming it."""
    if not isinstance(order, list) or not all(isinstance(name, str) for name in order):
        raise TypeError("order must be a list of operator names")
    repeated = sorted({name for name in order if order.count(name) > 1})
    if repeated or not order:
        raise TypeError(
            f"order must name operators, each once (repeated: {', '.join(repeated) or 'it is empty'})"
        )
    return FixedScript(tuple(order))
