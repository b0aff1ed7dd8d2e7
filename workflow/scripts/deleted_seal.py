"""Seal the gate: descriptors of one profiles shard go into protected state."""

from afterdelete.stages.memory import seal_gate
from afterdelete.stages.runner import run_for_effect

if __name__ == "__main__":
    run_for_effect(seal_gate)
