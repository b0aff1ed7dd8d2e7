"""Consolidate one shard."""

from afterdelete.stages.memory import make_consolidated
from afterdelete.stages.runner import run

if __name__ == "__main__":
    run(make_consolidated)
