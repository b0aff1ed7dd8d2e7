"""One arm of a scenario: the steps that scenarios are made of, each leaving its event.

The trial arm deletes; the control arm drives the same events without a delete, in a namespace of its own.
"""

from __future__ import annotations

from afterdelete.afterlife.capabilities import Capability
from afterdelete.afterlife.guard import Guard
from afterdelete.afterlife.markers import Markers
from afterdelete.afterlife.protocol import Context, DeletionContract, HookReceipt, ProviderError
from afterdelete.afterlife.timeline import Event, Evidence, Phase, Timeline
from afterdelete.afterlife.verdict import Failed, Inconclusive
from afterdelete.afterlife.watch import Watch

TRIAL, CONTROL = "trial", "control"


class Arm:
    """What a scenario does its steps with. Each step raises ``Inconclusive`` when it proves nothing."""

    def __init__(
        self,
        name: str,
        guard: Guard,
        watch: Watch,
        evidence: Evidence,
        ctx: Context,
        capabilities: frozenset[Capability],
        markers: Markers,
        failure_label: str,
    ) -> None:
        self.name = name
        self.timeline = Timeline()
        self.holding = False  # a held write is out; the cleanup must let it go
        self.after_delete: list[str] = []  # lifecycle hooks that reported that they ran
        self._guard = guard
        self._watch = watch
        self._evidence = evidence
        self._ctx = ctx
        self._capabilities = capabilities
        self._markers = markers
        self._failure_label = failure_label
        self._trigger = ""

    def begin(self) -> None:
        """Start this arm's clocks."""
        self.timeline = Timeline()
        self._guard.new_budget(self._guard.limits.budget)

    @property
    def surfaces(self) -> tuple[str, ...]:
        """The surfaces that this arm judges."""
        return self._watch.surfaces.judged

    @property
    def ctx(self) -> Context:
        """Where this arm acts."""
        return self._ctx

    def has(self, capability: Capability) -> bool:
        """Whether the system's ``capability`` is believed."""
        return capability in self._capabilities

    def shown_anywhere(self) -> tuple[str, ...]:
        """Surfaces, judged or not, that show any marker of this run now; for the cleanup."""
        shown = [name for marker in self._markers.all().values() for name in self._watch.anywhere(marker)]
        return tuple(dict.fromkeys(shown))

    def marker(self, label: str) -> str:
        """A marker of this arm."""
        return self._markers.make(f"{self.name} {label}")

    # What is asked of the system

    def write(self, text: str) -> str | None:
        """Store a memory; its id under memory_record, None where the marker lives in thread state."""
        receipt = self._ran(Phase.CREATE, "write", text)
        ids = [record.id for record in receipt.created if record.kind == "memory"]
        if self._ctx.contract is DeletionContract.THREAD_CHECKPOINT:
            return None
        if not ids:
            raise Inconclusive("the write reported no memory that a delete could address")
        return ids[0]

    def hold(self, text: str, target_id: str | None) -> None:
        """Start an update and keep it in flight."""
        self.holding = True
        self._ran(Phase.PENDING_WRITE, "begin_pending_write", text, target_id)

    def release(self) -> None:
        """Let the held write complete."""
        receipt = self._ran(Phase.LIFECYCLE, "release_pending_writes")
        self.holding = False
        if not receipt.processed:
            raise Inconclusive("release_pending_writes did not report that it processed the held write")

    def record(self, text: str, phase: Phase) -> None:
        """Add a user message to the retained conversation."""
        self._ran(phase, "record_conversation", [text])

    def ingest(self, phase: Phase) -> None:
        """Run one ingestion: a consolidation cycle, or a session start where there is no other."""
        consolidates = self.has(Capability.LIFECYCLE_CONSOLIDATE)
        self._ran(phase, "consolidate" if consolidates else "start_session")

    def start_session(self) -> HookReceipt:
        """Begin a new session."""
        return self._ran(Phase.LIFECYCLE, "start_session")

    def restart(self) -> None:
        """Restart the instance; where it names itself, its name must change."""
        before = self._guard.describe().instance
        self._ran(Phase.LIFECYCLE, "restart")
        if before is not None and self._guard.describe().instance == before:
            raise Inconclusive("restart reported that it ran, but the same instance still answers")

    def delete(self, ids: list[str]) -> None:
        """The delete under test: the memories ``ids``, or the thread under thread_checkpoint."""
        thread = self._ctx.contract is DeletionContract.THREAD_CHECKPOINT
        calls: list[tuple[str, ...]] = [("delete_thread",)] if thread else [("delete", id) for id in ids]
        for call in calls:
            receipt, step = self._ask(Phase.DELETE, *call)
            if not receipt.executed:
                self._event(Phase.DELETE, "delete", _receipt_text(receipt), step)
                raise Inconclusive("the delete reported that it did not run")
        what = "thread" if thread else "memory" if len(ids) == 1 else f"{len(ids)} memories"
        self._event(Phase.DELETE, "delete", f"{what} deleted, as reported", step)
        self._trigger = "delete"

    def memory_ids(self, marker: str) -> list[str]:
        """Ids of the memories in which the marker can be found now; none is inconclusive."""
        ids = self._watch.ids(marker)
        if not ids:
            raise Inconclusive("the search returned no memory with the marker, so there is nothing to delete")
        return ids

    # What is seen

    def expect_visible(self, marker: str, action: str, otherwise: str, *, everywhere: bool = False) -> Event:
        """Poll until the marker is visible; INCONCLUSIVE with ``otherwise`` if it never is.

        ``everywhere`` waits for every surface, so as to say which of them had their positive control.
        """
        look = self._watch.until_everywhere if everywhere else self._watch.until_visible
        visible = look(marker)
        event = self._seen(Phase.POSITIVE_CONTROL, action, marker, visible)
        if not visible:
            raise Inconclusive(otherwise)
        return event

    def expect_still_visible(self, marker: str, action: str, otherwise: str) -> None:
        """What was not deleted must be there at the end of a whole window."""
        self._watch.wait_window()
        self.expect_visible(marker, action, otherwise)

    def expect_held(self, marker: str) -> None:
        """A held write must not be visible at any time in a whole window."""
        visible = self._watch.until_visible(marker)
        self._seen(Phase.PENDING_WRITE, "still_held", marker, visible)
        if visible:
            raise Inconclusive("the held write was visible before its release, so it was not held")

    def landed(self, marker: str, action: str) -> bool:
        """Whether a second message becomes a memory within the window; no look for the first marker."""
        visible = self._watch.until_visible(marker)
        where = f"visible on {', '.join(visible)}" if visible else "visible nowhere"
        detail = f"the memory of the later message is {where}"
        self._event(Phase.POSITIVE_CONTROL, action, detail, self._evidence.note(self.name, "observe", detail))
        return bool(visible)

    def require_absent(self, marker: str) -> None:
        """The marker must go within the window; while it is there, a later sighting is no resurrection."""
        if visible := self._immediate_check(marker)[1]:
            raise Inconclusive(
                f"the marker was still visible on {', '.join(visible)} right after the delete: "
                "run AF-003, this is not resurrection"
            )

    def fail_if_visible(self, marker: str) -> None:
        """The marker must go within the window, and that it stays is the failure this scenario looks for."""
        event, visible = self._immediate_check(marker)
        if visible:
            reason = f"the delete was confirmed, yet the marker stayed visible on {', '.join(visible)}"
            raise Failed(self._failure_label, reason, event=event.seq, trigger="delete", resurrected=False)

    def observe(self, marker: str, action: str) -> None:
        """Poll every surface through the window; a sighting is the failure this scenario looks for."""
        visible = self._watch.until_visible(marker)
        event = self._seen(Phase.OBSERVE, action, marker, visible)
        if visible:
            raise Failed(
                self._failure_label,
                f"the deleted marker was retrievable on {', '.join(visible)} after {self._trigger}",
                event=event.seq,
                trigger=self._trigger,
            )

    def _immediate_check(self, marker: str) -> tuple[Event, tuple[str, ...]]:
        visible = self._watch.until_absent(marker)
        return self._seen(Phase.IMMEDIATE_CHECK, "immediate_check", marker, visible), visible

    def _ran(self, phase: Phase, operation: str, *arguments: object) -> HookReceipt:
        receipt, step = self._ask(phase, operation, *arguments)
        self._event(phase, operation, _receipt_text(receipt), step)
        if not receipt.executed:
            raise Inconclusive(f"{operation} reported that it did not run")
        self._trigger = operation
        if phase is Phase.LIFECYCLE:
            self.after_delete.append(operation)
        return receipt

    def _ask(self, phase: Phase, operation: str, *arguments: object) -> tuple[HookReceipt, int]:
        ctx = None if operation == "restart" else self._ctx
        try:
            receipt = self._guard.operate(operation, ctx, *arguments)
        except ProviderError:
            step = self._evidence.note(self.name, operation, "failed")
            self._event(phase, operation, "failed", step)
            raise
        return receipt, self._evidence.note(self.name, operation, _receipt_text(receipt))

    def _seen(self, phase: Phase, action: str, marker: str, visible: tuple[str, ...]) -> Event:
        where = f"visible on {', '.join(visible)}" if visible else "absent from every judged surface"
        where = f"marker {where}"
        if beside := self._watch.beside(marker):
            where += f"; not judged under {self._ctx.contract}: visible on {', '.join(beside)}"
        step = self._evidence.note(self.name, "observe", where)
        return self._event(phase, action, where, step, visible)

    def _event(
        self, phase: Phase, action: str, detail: str, step: int, visible: tuple[str, ...] | None = None
    ) -> Event:
        return self.timeline.add(phase, action, detail, step, visible)


def _receipt_text(receipt: HookReceipt) -> str:
    if not receipt.executed:
        return "reported that it did not run"
    processed = "" if receipt.processed is None else f", {receipt.processed} processed"
    count = len(receipt.created)
    return f"ran, {count} record{'' if count == 1 else 's'} created{processed}"
