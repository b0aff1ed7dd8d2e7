"""Propose submissions as writes, through the gate."""

from afterdelete.stages.memory import make_commit
from afterdelete.stages.runner import run

if __name__ == "__main__":
    run(make_commit)
