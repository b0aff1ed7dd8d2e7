"""Stage versions in one place, so that planning imports no stage's code.

Raise a version when the stage's output changes for the same inputs; a committed golden digest per stage
fails a test when output changes without it.
"""

from __future__ import annotations

STAGES: dict[str, int] = {
    "profiles": 1,
    "worlds": 1,
    "consolidated": 1,
    "deleted": 1,
    "certified": 1,
    "audit": 1,
    "commit": 1,
    "activate": 1,
    "scored": 1,
    "headline": 1,
    "summary": 1,
    "report": 1,
    "determinism": 1,
}
PROMPT = 1
