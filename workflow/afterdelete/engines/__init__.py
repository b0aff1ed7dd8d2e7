"""Engines turn private prompts and user turns into replies, greedily and reproducibly.

Importing this package imports no torch, transformers or xllamacpp: :func:`open_engine` loads the one
module that a model's YAML names.
"""

from afterdelete.engines.base import ChatRequest, Engine, Reply, open_engine
from afterdelete.engines.spec import ModelSpec, load_model_spec

__all__ = ["ChatRequest", "Engine", "ModelSpec", "Reply", "load_model_spec", "open_engine"]
