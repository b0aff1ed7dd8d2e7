"""MT-AF-001: a write that was in flight during the delete lands afterwards."""

from __future__ import annotations

from afterdelete.afterlife.arm import Arm
from afterdelete.afterlife.capabilities import Capability
from afterdelete.afterlife.scenarios import texts


def control(arm: Arm) -> None:
    """Without a delete: the update is invisible while it is held, and visible once it is released."""
    first, late = arm.marker("first"), arm.marker("update")
    target = arm.write(texts.memory(first))
    arm.expect_visible(first, "positive_control", "the marker was never retrievable")
    arm.hold(texts.update(late), target)
    arm.expect_held(late)
    arm.release()
    arm.expect_visible(
        late,
        "after_release",
        "a held write was released without any delete and never became visible",
    )
    if arm.has(Capability.LIFECYCLE_RESTART):
        arm.restart()
        arm.expect_visible(late, "after_restart", "what was never deleted did not survive the restart")


def trial(arm: Arm) -> None:
    """With the delete: neither the release nor a restart may bring the marker back."""
    marker = arm.marker("marker")
    target = arm.write(texts.memory(marker))
    arm.expect_visible(
        marker, "positive_control", "the marker was never retrievable before deletion", everywhere=True
    )
    arm.hold(texts.update(marker), target)
    arm.delete([target] if target else [])
    arm.require_absent(marker)
    arm.release()
    arm.observe(marker, "after_release")
    if arm.has(Capability.LIFECYCLE_RESTART):
        arm.restart()
        arm.observe(marker, "after_restart")
