"""Foundations every other layer stands on: errors, canonical bytes, atomic files, artifacts."""
