"""What a memory system implements to be tested: data types, the adapter, and its lifecycle hooks.

Only the standard library is imported here, so an adapter that runs in another environment can use it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

SEARCH = "search"  # the surface every adapter with MEMORY_SEARCH has


class DeletionContract(StrEnum):
    """What the delete under test promises."""

    MEMORY_RECORD = "memory_record"  # delete(ctx, id): this memory goes and stays away
    THREAD_CHECKPOINT = (
        "thread_checkpoint"  # delete_thread(ctx): the conversation state goes, memories may stay
    )


class Scope(StrEnum):
    """Which deletion contract answers for a surface."""

    MEMORY = "memory"
    THREAD = "thread"


@dataclass(frozen=True)
class Context:
    """Where an operation acts. An adapter must never read or change anything outside ``namespace``.

    Under ``thread_checkpoint``, ``write`` adds to the state of the namespace's thread and
    ``begin_pending_write`` holds a write to that thread; under ``memory_record`` both concern memories.
    """

    namespace: str
    contract: DeletionContract = DeletionContract.MEMORY_RECORD


@dataclass(frozen=True)
class Hit:
    """One retrievable entry: the id that ``delete`` takes, and the text an agent would read."""

    id: str
    text: str


@dataclass(frozen=True)
class Created:
    """A record that an operation brought into being, for the cleanup. ``kind`` is the adapter's own word.

    The kind ``memory`` is reserved for what ``delete(ctx, id)`` can address.
    """

    kind: str
    id: str


@dataclass(frozen=True)
class HookReceipt:
    """What an operation says it did.

    ``executed`` is False when the event did not take place. ``processed`` counts what the event worked
    through: held writes for ``release_pending_writes`` (applied or refused), messages for an ingestion;
    None where the adapter cannot tell.
    """

    executed: bool
    created: tuple[Created, ...] = ()
    processed: int | None = None


@dataclass(frozen=True)
class Surface:
    """A place an agent reads from, named by the adapter. An entry named ``search`` re-scopes the search."""

    name: str
    scope: Scope = Scope.MEMORY


@dataclass(frozen=True)
class Description:
    """Which system this is: the facts a public claim about it has to name.

    ``instance`` is any text that is new after each real start of the system; with it a restart that
    did not happen is noticed.
    """

    name: str
    version: str
    versions: Mapping[str, str] = field(default_factory=dict)
    instance: str | None = None


class ProviderError(Exception):
    """The system under test failed: it raised, died, or refused. The message may hold its own words."""


class AdapterTimeout(ProviderError):
    """A call did not return before its deadline."""


class ProtocolViolation(ProviderError):
    """An answer that the protocol does not allow: wrong shape, too long, or too many entries."""


class MemoryAdapter(ABC):
    """The five basic operations. Declare only the capabilities whose operation drives the real system."""

    @abstractmethod
    def describe(self) -> Description:
        """Name and versions of the system that answers."""

    @abstractmethod
    def capabilities(self) -> frozenset[str]:
        """Names from :class:`Capability` that this adapter says it has."""

    def objections(self) -> Mapping[str, str]:
        """Declared capabilities that the far side of a bridge does not implement, with the reason."""
        return {}

    def write(self, ctx: Context, content: str) -> HookReceipt:
        """Store ``content``; under ``memory_record`` the first created memory is what will be deleted."""
        raise NotImplementedError

    def search(self, ctx: Context, query: str, limit: int) -> Sequence[Hit]:
        """At most ``limit`` memories that the owner would be given for ``query``."""
        raise NotImplementedError

    def delete(self, ctx: Context, id: str) -> HookReceipt:
        """The delete under test, by the way a user would take."""
        raise NotImplementedError

    def discard(self, ctx: Context, record: Created) -> None:
        """Housekeeping after the test: remove one created record for good, tombstones included.

        A record that is already gone is no error. The default can remove memories only.
        """
        if record.kind != "memory":
            raise ProviderError(f"this adapter cannot discard a record of kind {record.kind}")
        self.delete(ctx, record.id)

    def recover(self) -> None:  # noqa: B027 - most adapters have nothing to recover
        """Make the system answer again after a failure, so that the cleanup can run."""

    def close(self) -> None:  # noqa: B027 - nor anything to release
        """Release what the adapter itself holds: processes, connections, temporary folders."""


class MemoryLifecycleHooks:
    """The later life of a memory. Inherit beside :class:`MemoryAdapter` and implement what is real.

    Every hook is optional; a declared capability whose hooks are not overridden is dropped and said so.
    Every record a hook creates belongs in ``receipt.created``.
    """

    def begin_pending_write(self, ctx: Context, content: str, target_id: str | None = None) -> HookReceipt:
        """Start a real write (an update of ``target_id`` if given) and hold it before it is applied."""
        raise NotImplementedError

    def release_pending_writes(self, ctx: Context) -> HookReceipt:
        """Let the namespace's held writes complete as the system would; ``processed`` tells how many."""
        raise NotImplementedError

    def record_conversation(self, ctx: Context, messages: Sequence[str]) -> HookReceipt:
        """Append user messages to the retained history."""
        raise NotImplementedError

    def start_session(self, ctx: Context) -> HookReceipt:
        """Begin a session, with whatever ingestion the system does at that moment."""
        raise NotImplementedError

    def consolidate(self, ctx: Context) -> HookReceipt:
        """Run one ingestion or consolidation cycle."""
        raise NotImplementedError

    def restart(self) -> HookReceipt:
        """Restart the isolated test instance."""
        raise NotImplementedError

    def retrieval_surfaces(self) -> Sequence[Surface]:
        """Further surfaces an agent reads."""
        raise NotImplementedError

    def inspect_surface(self, ctx: Context, surface: str, query: str) -> Sequence[Hit]:
        """What ``surface`` shows in this namespace; ``query`` may be ignored by a surface that shows all."""
        raise NotImplementedError

    def delete_thread(self, ctx: Context) -> HookReceipt:
        """Delete the namespace's conversation or checkpoint state."""
        raise NotImplementedError
