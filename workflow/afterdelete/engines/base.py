"""What every engine takes and gives, and the one door through which they are opened."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self, cast

from afterdelete.core.canonical import canonical_json, sha256_text

if TYPE_CHECKING:
    from afterdelete.config.model_spec import ModelSpec

FinishReason = Literal["stop", "length"]
OnReply = Callable[[int, "Reply"], None]


@dataclass(frozen=True)
class ChatRequest:
    """One question to the evaluated model.

    ``private_prompt`` goes to the system side, ``user`` to the user turn. ``stable_chars`` counts the
    characters of ``private_prompt`` before the first one that can vary within one world state: an engine
    may reuse what it computed for them, and 0 says that nothing is shared.
    """

    private_prompt: str
    user: str
    stable_chars: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.stable_chars <= len(self.private_prompt):
            raise ValueError(
                f"stable_chars {self.stable_chars} is outside 0..{len(self.private_prompt)}, "
                "the length of the private prompt"
            )


@dataclass(frozen=True)
class Reply:
    """One raw reply: the text as generated, and what is needed to tell truncation from refusal.

    Token counts include the end-of-turn token that the model produced. ``rendered_sha256`` hashes the
    text that the model saw, ``token_ids_sha256`` the canonical JSON list of its token ids; either is ""
    where an endpoint hides it.
    """

    text: str
    finish_reason: FinishReason
    prompt_tokens: int
    completion_tokens: int
    rendered_sha256: str
    token_ids_sha256: str

    def __post_init__(self) -> None:
        # JSON can spell half a surrogate pair, which no file can hold: it becomes U+FFFD, as in any decoder.
        object.__setattr__(
            self, "text", self.text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        )


class Engine(Protocol):
    """Greedy generation of at most the spec's ``max_new_tokens`` for each request, in the given order.

    Equal requests are computed again: the layer above decides what to share. ``on_reply`` is called
    with the index in ``requests`` as soon as a reply exists. Errors are ``AfterDeleteError``.
    """

    def generate(self, requests: Sequence[ChatRequest], on_reply: OnReply | None = None) -> list[Reply]: ...

    def provenance(self) -> dict[str, Any]:
        """Who computed: engine, versions, device, threads, host. Never part of a key."""
        ...

    def close(self) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class ClosingEngine:
    """The context manager half of :class:`Engine`."""

    def close(self) -> None:
        """Release models, servers and temporary files; harmless when called twice."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


_MODULES = {
    "llamacpp": ("afterdelete.engines.llamacpp", "LlamaCppEngine"),
    "transformers": ("afterdelete.engines.transformers_engine", "TransformersEngine"),
    "openai": ("afterdelete.engines.openai", "OpenAIEngine"),
    "scripted": ("afterdelete.engines.scripted", "ScriptedEngine"),
}


def open_engine(
    spec: ModelSpec, files: dict[str, Path], *, reuse: bool = True, threads: int | None = None
) -> Engine:
    """Load the engine that ``spec`` names, on the files that :func:`afterdelete.engines.fetch` returned.

    ``reuse=False`` recomputes what requests share (same replies, slower); ``threads=None`` takes every
    CPU that this process may use. Raises ``AfterDeleteError`` when the model cannot be loaded.
    """
    module, name = _MODULES[spec.engine]
    factory = getattr(importlib.import_module(module), name)
    return cast(Engine, factory(spec, files, reuse=reuse, threads=threads))


def hash_token_ids(ids: Sequence[int]) -> str:
    """sha256 over the canonical JSON list of token ids."""
    return sha256_text(canonical_json(list(ids)))
