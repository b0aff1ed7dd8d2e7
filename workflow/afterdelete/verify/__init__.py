"""Proof after the fact: every artifact of a study recomputed, and compared with what was frozen."""
