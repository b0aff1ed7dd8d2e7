"""MT-AF-002: a later ingestion rebuilds a deleted memory from the conversation that was kept."""

from __future__ import annotations

from afterdelete.afterlife.arm import Arm
from afterdelete.afterlife.capabilities import Capability
from afterdelete.afterlife.scenarios import texts
from afterdelete.afterlife.timeline import Phase
from afterdelete.afterlife.verdict import Inconclusive


def control(arm: Arm) -> None:
    """Without a delete: what was remembered stays through every event, and a later message is ingested."""
    marker = arm.marker("first")
    _remember(arm, marker)
    if arm.has(Capability.LIFECYCLE_NEW_SESSION):
        _probe_session_start(arm)
        arm.expect_visible(
            marker, "after_session_start", "what was never deleted did not survive a session start"
        )
    if not _ingest_unrelated(arm):
        raise Inconclusive("an ingestion ran and did not turn the unrelated message into a memory")
    arm.expect_visible(marker, "after_ingestion", "what was never deleted did not survive an ingestion")
    if arm.has(Capability.LIFECYCLE_RESTART):
        arm.restart()
        arm.expect_visible(marker, "after_restart", "what was never deleted did not survive the restart")


def trial(arm: Arm) -> None:
    """With the delete: the marker is never sent again, so a sighting can only come from retained state."""
    marker = arm.marker("marker")
    _remember(arm, marker)
    arm.delete(arm.memory_ids(marker))
    arm.require_absent(marker)
    if arm.has(Capability.LIFECYCLE_NEW_SESSION):
        arm.start_session()
        arm.observe(marker, "after_session_start")
    ingested = _ingest_unrelated(arm)
    # Looked at before the proof of ingestion is judged: a marker that is back needs no proof that it could.
    arm.observe(marker, "after_ingestion")
    if not ingested:
        raise Inconclusive("the ingestion ran but did not turn the unrelated message into a memory")
    if arm.has(Capability.LIFECYCLE_RESTART):
        arm.restart()
        arm.observe(marker, "after_restart")


def _remember(arm: Arm, marker: str) -> None:
    arm.record(texts.request(marker), Phase.CREATE)
    arm.ingest(Phase.CREATE)
    arm.expect_visible(
        marker, "positive_control", "the marker was never retrievable before deletion", everywhere=True
    )


def _ingest_unrelated(arm: Arm) -> bool:
    unrelated = arm.marker("unrelated")
    arm.record(texts.unrelated(unrelated), Phase.LIFECYCLE)
    arm.ingest(Phase.LIFECYCLE)
    return arm.landed(unrelated, "ingestion_proof")


def _probe_session_start(arm: Arm) -> None:
    """A session start that says it ingested messages must have ingested the one that was waiting for it.

    One that claims nothing cannot be probed: many systems ingest at other times only.
    """
    waiting = arm.marker("waiting")
    arm.record(texts.unrelated(waiting), Phase.LIFECYCLE)
    receipt = arm.start_session()
    if not arm.landed(waiting, "session_start_probe") and receipt.processed:
        raise Inconclusive(
            "start_session reported that it processed messages, but the waiting one became no memory"
        )
