"""Scoring: from stored raw replies to one row a unit. Nothing here calls a model."""
