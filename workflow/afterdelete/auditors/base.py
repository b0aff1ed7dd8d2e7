"""What an auditor sees, what it may do, and how it is found.

An auditor is one module of this package with a function ``make(options) -> Auditor``. It sees model
replies, its own visible history, the remaining budget and public signals; never a target, a world label,
a private prompt or the correctness of anything.
"""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass
from typing import Any, Protocol

from afterdelete.core.errors import AfterDeleteError


@dataclass(frozen=True)
class Exchange:
    """One query of this episode: the operator asked, the raw reply, and the parser's public signals."""

    operator: str
    reply: str
    parse: str
    prediction: str | None


@dataclass(frozen=True)
class Observation:
    """All that an auditor may know when it acts. ``remaining`` counts queries that may still be asked."""

    attribute: str
    domain: str
    operators: tuple[str, ...]
    history: tuple[Exchange, ...]
    remaining: int


@dataclass(frozen=True)
class Ask:
    """Ask one operator next."""

    operator: str


@dataclass(frozen=True)
class Submit:
    """End the episode with a prediction."""

    prediction: str


@dataclass(frozen=True)
class Abstain:
    """End the episode without one."""


Act = Ask | Submit | Abstain


class Auditor(Protocol):
    """A strategy. It keeps no state between calls: the observation holds the whole episode."""

    def act(self, seen: Observation) -> Act:
        """The next step of one episode."""
        ...


def names() -> list[str]:
    """Every strategy that has a file in this package."""
    import afterdelete.auditors as package

    return sorted(m.name for m in pkgutil.iter_modules(package.__path__) if m.name != "base")


def load(strategy: str, options: dict[str, Any]) -> Auditor:
    """Make the auditor of a strategy; AfterDeleteError names an unknown strategy or a bad option."""
    if strategy not in names():
        raise AfterDeleteError(f"unknown auditor strategy {strategy!r}", f"known: {', '.join(names())}")
    module = importlib.import_module(f"afterdelete.auditors.{strategy}")
    try:
        auditor: Auditor = module.make(**options)
    except TypeError as error:
        raise AfterDeleteError(
            f"auditor {strategy}: {error}", "mend its options in config/auditors.yaml"
        ) from error
    return auditor
