"""An agent's external memory: state, consolidation, deletion, the sealed gate, candidate writes."""
