"""Scoring reads stored raw replies and targets. It can never load a model."""
