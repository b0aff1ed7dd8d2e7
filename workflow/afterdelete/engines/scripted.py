"""Replies computed by a named script, for unit tests only. No model is involved, and none is imitated."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from afterdelete.config.model_spec import ModelSpec
from afterdelete.core.canonical import canonical_json, sha256_text
from afterdelete.core.errors import AfterDeleteError
from afterdelete.core.provenance import host_provenance
from afterdelete.engines.base import ChatRequest, ClosingEngine, FinishReason, OnReply, Reply

_CODE = re.compile(r"\b[A-Z][A-Z0-9]*(?:-[A-Z][A-Z0-9]*)+-\d{4,}\b")


def _memory_text(request: ChatRequest) -> str:
    """The memory entries in the private prompt's JSON, or all of the prompt where there is none."""
    try:
        body = json.loads(request.private_prompt[request.private_prompt.index("{") :])
        return "\n".join(body["current_flat_memory"])
    except (ValueError, KeyError, TypeError):
        return request.private_prompt


def _echo_target(request: ChatRequest) -> str:
    """The last REGION-MNEMONIC-NUMBER code in memory, in the field that the contract asks for."""
    codes = _CODE.findall(_memory_text(request))
    if not codes:
        return "{}"
    answer = {"value": codes[-1]}
    return json.dumps({"final_prediction": answer} if "final_prediction" in request.user else answer)


def _prose(request: ChatRequest) -> str:
    codes = _CODE.findall(_memory_text(request))
    return f"I believe it is {codes[-1]}, as noted earlier." if codes else "I do not recall any such record."


def _html(request: ChatRequest) -> str:
    codes = _CODE.findall(_memory_text(request))
    value = f'<img src=x onerror="alert(1)"><script>alert({codes[-1:]!r})</script>&amp;</td></table>'
    return json.dumps({"value": value})


def _malformed(request: ChatRequest) -> str:
    return _echo_target(request)[:-1] or "{"


def _long(request: ChatRequest) -> str:
    return " ".join(["again"] * 1000)


SCRIPTS: dict[str, Callable[[ChatRequest], str]] = {
    "echo-target": _echo_target,
    "empty": lambda request: "{}",
    "html": _html,
    "long": _long,
    "malformed": _malformed,
    "prose": _prose,
}


class ScriptedEngine(ClosingEngine):
    """Words stand for tokens. ``calls`` counts the requests answered, for tests that count them."""

    def __init__(
        self,
        spec: ModelSpec,
        files: dict[str, Path] | None = None,
        *,
        reuse: bool = True,
        threads: int | None = None,
    ) -> None:
        if spec.script not in SCRIPTS:
            raise AfterDeleteError(
                f"{spec.name}: there is no script {spec.script}",
                f"choose one of {', '.join(sorted(SCRIPTS))}",
            )
        self._spec = spec
        self._script = SCRIPTS[spec.script]
        self.calls = 0

    def generate(self, requests: Sequence[ChatRequest], on_reply: OnReply | None = None) -> list[Reply]:
        """See :class:`afterdelete.engines.base.Engine`."""
        replies = []
        for index, request in enumerate(requests):
            replies.append(self._reply(request))
            if on_reply is not None:
                on_reply(index, replies[-1])
        return replies

    def provenance(self) -> dict[str, Any]:
        return {
            "engine": "scripted",
            "script": self._spec.script,
            "device": "none",
            "dtype": "none",
            "threads": 1,
            **host_provenance(),
        }

    def _reply(self, request: ChatRequest) -> Reply:
        self.calls += 1
        words = self._script(request).split(" ")
        kept = words[: self._spec.max_new_tokens]
        reason: FinishReason = "length" if len(kept) < len(words) else "stop"
        return Reply(
            text=" ".join(kept),
            finish_reason=reason,
            prompt_tokens=len(request.private_prompt.split()) + len(request.user.split()),
            completion_tokens=len(kept),
            rendered_sha256=sha256_text(canonical_json([request.private_prompt, request.user])),
            token_ids_sha256="",
        )
