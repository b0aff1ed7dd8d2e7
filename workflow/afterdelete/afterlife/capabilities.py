"""The vocabulary of what an adapter can do."""

from __future__ import annotations

from enum import StrEnum


class Capability(StrEnum):
    """One ability that scenarios ask for."""

    MEMORY_WRITE = "MEMORY_WRITE"
    MEMORY_SEARCH = "MEMORY_SEARCH"
    MEMORY_DELETE = "MEMORY_DELETE"
    THREAD_DELETE = "THREAD_DELETE"
    LIFECYCLE_PENDING_WRITES = "LIFECYCLE_PENDING_WRITES"
    LIFECYCLE_CONVERSATION = "LIFECYCLE_CONVERSATION"
    LIFECYCLE_NEW_SESSION = "LIFECYCLE_NEW_SESSION"
    LIFECYCLE_CONSOLIDATE = "LIFECYCLE_CONSOLIDATE"
    LIFECYCLE_RESTART = "LIFECYCLE_RESTART"
    LIFECYCLE_SURFACES = "LIFECYCLE_SURFACES"


# The operations behind each capability. Those of the memory itself live in MemoryAdapter, the rest are hooks.
OPERATIONS: dict[Capability, tuple[str, ...]] = {
    Capability.MEMORY_WRITE: ("write",),
    Capability.MEMORY_SEARCH: ("search",),
    Capability.MEMORY_DELETE: ("delete",),
    Capability.THREAD_DELETE: ("delete_thread",),
    Capability.LIFECYCLE_PENDING_WRITES: ("begin_pending_write", "release_pending_writes"),
    Capability.LIFECYCLE_CONVERSATION: ("record_conversation",),
    Capability.LIFECYCLE_NEW_SESSION: ("start_session",),
    Capability.LIFECYCLE_CONSOLIDATE: ("consolidate",),
    Capability.LIFECYCLE_RESTART: ("restart",),
    Capability.LIFECYCLE_SURFACES: ("retrieval_surfaces", "inspect_surface"),
}
