"""The scenarios in code: for each id of the scenario table, a control arm and a trial arm.

What each shows, needs and does is written in data/afterlife/scenarios.yaml; a test holds the two together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from afterdelete.afterlife.arm import Arm
from afterdelete.afterlife.scenarios import late_write, reingestion, visible_after_delete


@dataclass(frozen=True)
class Script:
    """The two arms of a scenario. Returning means that the arm held; everything else is raised."""

    control: Callable[[Arm], None]
    trial: Callable[[Arm], None]


SCRIPTS = {
    "MT-AF-001": Script(late_write.control, late_write.trial),
    "MT-AF-002": Script(reingestion.control, reingestion.trial),
    "AF-003": Script(visible_after_delete.control, visible_after_delete.trial),
}
