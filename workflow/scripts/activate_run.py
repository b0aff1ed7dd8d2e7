"""Probe one shard's stores in a fresh session."""

from afterdelete.stages.model import make_activate
from afterdelete.stages.runner import run

if __name__ == "__main__":
    run(make_activate)
