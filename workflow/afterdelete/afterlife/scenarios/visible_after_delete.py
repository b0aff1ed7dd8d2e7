"""AF-003: the delete itself does not take effect."""

from __future__ import annotations

from afterdelete.afterlife.arm import Arm
from afterdelete.afterlife.scenarios import texts


def control(arm: Arm) -> None:
    """Without a delete: the marker is still there after a window, so its absence means something."""
    marker = arm.marker("first")
    arm.write(texts.memory(marker))
    arm.expect_visible(marker, "positive_control", "the marker was never retrievable")
    arm.expect_still_visible(marker, "after_window", "a marker that nobody deleted went away by itself")


def trial(arm: Arm) -> None:
    """With the delete: the marker goes within one window and stays away through another."""
    marker = arm.marker("marker")
    target = arm.write(texts.memory(marker))
    arm.expect_visible(
        marker, "positive_control", "the marker was never retrievable before deletion", everywhere=True
    )
    arm.delete([target] if target else [])
    arm.fail_if_visible(marker)
    arm.observe(marker, "after_window")
