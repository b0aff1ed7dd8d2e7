"""Engines turn private prompts and user turns into replies, greedily and reproducibly.

Importing this package imports no torch, transformers or xllamacpp: :func:`open_engine` loads the one
module that a model's YAML names.
"""

from afterdelete.engines.base import ChatRequest, Engine, Reply, open_engine

__all__ = ["ChatRequest", "Engine", "Reply", "open_engine"]
