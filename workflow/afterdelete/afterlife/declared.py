"""Which of an adapter's declarations are believed, and which operations a system then has."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from afterdelete.afterlife.capabilities import OPERATIONS, Capability
from afterdelete.afterlife.protocol import MemoryAdapter, MemoryLifecycleHooks

_MEMORY_OPERATIONS = {"write", "search", "delete"}


@dataclass(frozen=True)
class Dropped:
    """A declared capability that is not believed, and why."""

    capability: str
    reason: str


@dataclass(frozen=True)
class Declared:
    """What an adapter may be asked for, and what it declared in vain."""

    capabilities: frozenset[Capability]
    dropped: tuple[Dropped, ...] = ()


def believed(adapter: MemoryAdapter, without: Iterable[Capability] = ()) -> Declared:
    """Split what ``adapter`` declares into what its class implements and what it does not.

    ``without`` are capabilities that the configuration tells us not to use. This looks at code, not at
    behaviour: whether an implemented hook does what it claims is the business of the control arm.
    """
    kept: set[Capability] = set()
    dropped: list[Dropped] = []
    objections = adapter.objections()
    for name in sorted(adapter.capabilities()):
        if name not in set(Capability):
            reason = "unknown to this version of the test"
        elif name in set(without):
            reason = "left out by the configuration (without)"
        else:
            reason = objections.get(name) or _disbelief(adapter, Capability(name))
        if reason:
            dropped.append(Dropped(name, reason))
        else:
            kept.add(Capability(name))
    return Declared(frozenset(kept), tuple(dropped))


def _disbelief(adapter: MemoryAdapter, capability: Capability) -> str:
    operations = OPERATIONS[capability]
    if not isinstance(adapter, MemoryLifecycleHooks) and not _MEMORY_OPERATIONS.issuperset(operations):
        return "the adapter does not implement MemoryLifecycleHooks"
    missing = [name for name in operations if not _overrides(adapter, name)]
    return f"declared, but {' and '.join(missing)} is not implemented" if missing else ""


def _overrides(adapter: MemoryAdapter, operation: str) -> bool:
    base = MemoryAdapter if operation in _MEMORY_OPERATIONS else MemoryLifecycleHooks
    return getattr(type(adapter), operation) is not getattr(base, operation)
