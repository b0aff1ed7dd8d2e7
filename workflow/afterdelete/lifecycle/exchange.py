"""Asking the evaluated model: one request a row, byte-identical prompts generated once in a job."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from afterdelete.core.canonical import sha256_text
from afterdelete.engines.base import ChatRequest, Engine, Reply
from afterdelete.lifecycle.checkpoint import Checkpoint
from afterdelete.prompts.parse import Parsed
from afterdelete.prompts.private import PrivatePrompt

TURN_SCHEMA = pa.schema(
    [
        ("profile_id", pa.string()),
        ("index", pa.int64()),
        ("world", pa.string()),
        ("turn", pa.int32()),
        ("operator", pa.string()),
        ("question", pa.string()),
        ("private_prompt", pa.string()),
        ("private_prompt_sha256", pa.string()),
        ("rendered_sha256", pa.string()),
        ("token_ids_sha256", pa.string()),
        ("reply", pa.string()),
        ("finish_reason", pa.string()),
        ("prompt_tokens", pa.int32()),
        ("completion_tokens", pa.int32()),
        ("parse", pa.string()),
        ("prediction", pa.string()),
        ("submitted", pa.bool_()),
        ("generated", pa.bool_()),
    ]
)


@dataclass
class Asked:
    """One reply and whether it was generated for this request (False: the same bytes were asked before)."""

    reply: Reply
    generated: bool


@dataclass
class Model:
    """An engine with a memory of this job's replies. Deduplication is by the bytes of the whole request.

    ``progress(done)`` is called after each reply. With a checkpoint, replies of an earlier, killed run of the
    same job are taken up instead of generated; rows do not show it, the counts do.
    """

    engine: Engine
    progress: Callable[[int], None] = lambda done: None
    checkpoint: Checkpoint | None = None
    _known: dict[str, Reply] = field(default_factory=dict)
    asked: int = 0
    generated: int = 0
    restored: int = 0

    def ask(self, requests: Sequence[ChatRequest]) -> list[Asked]:
        """Replies in the order of ``requests``; each distinct request reaches the engine once."""
        keys = [sha256_text(f"{len(r.private_prompt)}:{r.private_prompt}{r.user}") for r in requests]
        fresh: dict[str, ChatRequest] = {}
        for key, request in zip(keys, requests, strict=True):
            if key not in self._known:
                fresh.setdefault(key, request)
        if fresh:
            self._answer(fresh)
        self.asked += len(requests)
        result = []
        unused = set(fresh)
        for key in keys:
            result.append(Asked(self._known[key], key in unused))
            unused.discard(key)
        return result

    def _answer(self, fresh: dict[str, ChatRequest]) -> None:
        """Fill ``_known`` for every request: first from the checkpoint, the rest from the engine.

        Only leading whole blocks are taken up, so every later block holds the requests that it would have
        held without the interruption.
        """
        order = list(fresh)
        start = self._take_up(order)
        rest = order[start:]
        if not rest:
            return
        waiting: list[tuple[str, Reply]] = []
        block = self.checkpoint.block if self.checkpoint else 1

        def one_more(index: int, reply: Reply) -> None:
            self.generated += 1
            self.progress(self.generated + self.restored)
            waiting.append((rest[index], reply))
            if self.checkpoint and (len(waiting) == block or index + 1 == len(rest)):
                self.checkpoint.keep(waiting)
                waiting.clear()

        replies = self.engine.generate([fresh[key] for key in rest], on_reply=one_more)
        self._known.update(zip(rest, replies, strict=True))

    def _take_up(self, order: list[str]) -> int:
        """Take up leading whole blocks of ``order`` from the checkpoint; how many requests that were."""
        if self.checkpoint is None:
            return 0
        size = self.checkpoint.block
        start = 0
        while start < len(order):
            block = order[start : start + size]
            kept = {key: reply for key in block if (reply := self.checkpoint.known(key))}
            if len(kept) < len(block):
                break
            self._known.update(kept)
            start += len(block)
        self.restored += start
        if start:
            self.progress(self.generated + self.restored)
        return start


def turn_row(
    *,
    profile_id: str,
    index: int,
    world: str,
    turn: int,
    operator: str,
    question: str,
    prompt: PrivatePrompt,
    asked: Asked,
    parsed: Parsed,
    submitted: bool,
) -> dict[str, Any]:
    """One raw reply as a row of ``TURN_SCHEMA``."""
    reply = asked.reply
    return {
        "profile_id": profile_id,
        "index": index,
        "world": world,
        "turn": turn,
        "operator": operator,
        "question": question,
        "private_prompt": prompt.text,
        "private_prompt_sha256": sha256_text(prompt.text),
        "rendered_sha256": reply.rendered_sha256,
        "token_ids_sha256": reply.token_ids_sha256,
        "reply": reply.text,
        "finish_reason": reply.finish_reason,
        "prompt_tokens": reply.prompt_tokens,
        "completion_tokens": reply.completion_tokens,
        "parse": parsed.parse,
        "prediction": parsed.prediction,
        "submitted": submitted,
        "generated": asked.generated,
    }


def to_table(rows: list[dict[str, Any]]) -> pa.Table:
    """Rows as a table of ``TURN_SCHEMA``."""
    return pa.Table.from_pylist(rows, schema=TURN_SCHEMA)
