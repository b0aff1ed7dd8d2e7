"""GGUF models on the CPU through xllamacpp's server on loopback. The embedded default.

Floating-point results depend on how a prompt is cut into chunks and on what was cached before, so the
reference is fixed: *chunk one* is the part that all requests of one world state share, evaluated alone;
*chunk two* is the rest, evaluated on top. With reuse, the state after chunk one is saved and restored;
without, chunk one is computed again. Both give the same bytes, in any order, whatever ran before.
Each evaluation is checked against the number of tokens that the server says it computed.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests

from afterdelete.config.model_spec import ModelSpec
from afterdelete.core.canonical import sha256_text
from afterdelete.core.errors import AfterDeleteError
from afterdelete.core.provenance import host_provenance, usable_cpus
from afterdelete.engines.base import ChatRequest, ClosingEngine, OnReply, Reply, hash_token_ids
from afterdelete.engines.gguf import read_header
from afterdelete.engines.llama_server import ServerSession, SlotStates, start_server
from afterdelete.engines.prompts import PromptBuilder, check_trained_context
from afterdelete.engines.template import ChatTemplate, Rendered

STATE_BUDGET_BYTES = 512 * 1024 * 1024
_TIMEOUT_SECONDS = (10, 3600)


@dataclass(frozen=True)
class _Prepared:
    rendered: Rendered
    ids: list[int]
    shared: int  # how many of ids are chunk one


class LlamaCppEngine(ClosingEngine):
    """One model in one slot of one private server.

    ``state_budget_bytes`` bounds the saved states on disk; the least recently used one goes first.
    """

    def __init__(
        self,
        spec: ModelSpec,
        files: dict[str, Path],
        *,
        reuse: bool = True,
        threads: int | None = None,
        state_budget_bytes: int = STATE_BUDGET_BYTES,
    ) -> None:
        self._spec = spec
        self._reuse = reuse
        self._threads = threads or usable_cpus()
        path = _model_file(spec, files)
        header = read_header(path)
        check_trained_context(spec, header.trained_context)
        template = ChatTemplate(
            header.chat_template,
            system_role=spec.system_role,
            bos_token=header.token_text("bos_token_id"),
            eos_token=header.token_text("eos_token_id"),
            template_date=spec.template_date,
        )
        self._states = SlotStates(state_budget_bytes)
        self._prefixes: OrderedDict[str, list[int]] = OrderedDict()
        self._http: ServerSession | None
        self._server, self._http = start_server(spec, path, self._threads, self._states.directory)
        self.timings = {"prompt_tokens": 0, "prompt_seconds": 0.0, "reply_tokens": 0, "reply_seconds": 0.0}
        try:
            bos_id = header.metadata.get("tokenizer.ggml.bos_token_id")
            self._builder = PromptBuilder(
                spec,
                template,
                self._tokenize,
                controls=header.control_tokens,
                bos_id=bos_id,
                # The header's flag may be absent, so the tokenizer itself is asked.
                adds_bos=self._tokenize([("word", False)], add_special=True)[:1] == [bos_id],
            )
        except BaseException:
            self.close()
            raise

    # -- the protocol -------------------------------------------------------------------------------

    def generate(self, requests: Sequence[ChatRequest], on_reply: OnReply | None = None) -> list[Reply]:
        """See :class:`afterdelete.engines.base.Engine`. All prompts are checked before any generation."""
        prepared = [self._prepare(request) for request in requests]
        replies = []
        for index, prompt in enumerate(prepared):
            replies.append(self._reply(prompt))
            if on_reply is not None:
                on_reply(index, replies[-1])
        return replies

    def provenance(self) -> dict[str, Any]:
        import xllamacpp

        return {
            "engine": "llamacpp",
            "build": dict(xllamacpp.BUILD_INFO),
            "threads": self._threads,
            "device": "cpu",
            "dtype": self._spec.dtype,
            "reuse": self._reuse,
            **host_provenance("xllamacpp"),
        }

    @property
    def states_folder(self) -> Path:
        """Where saved states are while the engine is open."""
        return self._states.directory

    def close(self) -> None:
        self._http = None
        self._server = None  # its destructor stops the server and joins its threads
        self._states.close()

    # -- prompts ------------------------------------------------------------------------------------

    def _prepare(self, request: ChatRequest) -> _Prepared:
        prompt = self._builder.build(request)
        prefix = self._shared_prefix(prompt.rendered)
        if prompt.ids[: len(prefix)] != prefix:
            raise AfterDeleteError(
                f"{self._spec.name}: tokens of the stable part depend on the text that follows it",
                "set stable_chars to 0 for this model and report its tokenizer",
            )
        return _Prepared(prompt.rendered, prompt.ids, len(prefix))

    def _shared_prefix(self, rendered: Rendered) -> list[int]:
        """Token ids of chunk one: a function of the stable text alone, never of what follows.

        The stable text is tokenized by itself and cut before its last token that begins with a blank and
        goes on with something else: pre-tokenizers start a new word there whatever comes later. Where
        there is none, the cut is after the last control token.
        """
        stable = rendered.text[: rendered.stable_end]
        if stable in self._prefixes:
            self._prefixes.move_to_end(stable)
            return self._prefixes[stable]
        segments = rendered.segments(self._builder.literals, rendered.stable_end)
        tokens = self._pieces(segments)
        cut = 0
        for index in range(len(tokens) - 1, 0, -1):
            token, piece = tokens[index]
            if piece[:1] in (" ", "▁") and piece[1:2].strip(" ▁"):
                cut = index
                break
            if token in self._builder.controls:
                cut = index + 1
                break
        ids = [token for token, _ in tokens[:cut]]
        ids = self._builder.with_bos(ids) if ids else ids
        self._prefixes[stable] = ids
        if len(self._prefixes) > 1024:
            self._prefixes.popitem(last=False)
        return ids

    def _pieces(self, segments: Sequence[tuple[str, bool]]) -> list[tuple[int, str]]:
        tokens: list[tuple[int, str]] = []
        for text, special in segments:
            body = {"content": text, "add_special": False, "parse_special": special, "with_pieces": True}
            for token in self._post("/tokenize", body)["tokens"]:
                # A piece that is no UTF-8 by itself comes as a list of bytes; it never begins a word.
                piece = token["piece"] if isinstance(token["piece"], str) else ""
                tokens.append((token["id"], piece))
        return tokens

    def _tokenize(self, segments: Sequence[tuple[str, bool]], add_special: bool = False) -> list[int]:
        ids: list[int] = []
        for text, special in segments:
            body = {"content": text, "add_special": add_special, "parse_special": special}
            ids += self._post("/tokenize", body)["tokens"]
        return ids

    # -- generation ---------------------------------------------------------------------------------

    def _reply(self, prompt: _Prepared) -> Reply:
        if prompt.shared:
            self._chunk_one(prompt.ids[: prompt.shared])
        else:
            self._post("/slots/0?action=erase", {})
        answer = self._evaluate(prompt.ids, self._spec.max_new_tokens, cached=prompt.shared)
        if answer.get("truncated"):
            raise AfterDeleteError(
                f"{self._spec.name}: llama.cpp cut the prompt", "raise context in the model's YAML"
            )
        return Reply(
            text=answer["content"],
            finish_reason="length" if answer["stop_type"] == "limit" else "stop",
            prompt_tokens=len(prompt.ids),
            completion_tokens=answer["tokens_predicted"],
            rendered_sha256=sha256_text(prompt.rendered.text),
            token_ids_sha256=hash_token_ids(prompt.ids),
        )

    def _chunk_one(self, ids: list[int]) -> None:
        """Leave exactly chunk one in the slot, restored or computed."""
        # Erased first: a slot that still holds tokens would be reused in part, and the place of the
        # state in the cache could differ from run to run.
        self._post("/slots/0?action=erase", {})
        key = hash_token_ids(ids)
        if self._reuse and self._restore(key, ids):
            return
        self._evaluate(ids, 0, cached=0)
        if self._reuse:
            self._save(key, ids)

    def _restore(self, key: str, ids: list[int]) -> bool:
        name = self._states.find(key)
        if name is None:
            return False
        status, answer = self._send("/slots/0?action=restore", {"filename": name})
        if status == 200 and answer.get("n_restored") == len(ids):
            return True
        self._states.forget(key)
        self._post("/slots/0?action=erase", {})
        return False

    def _save(self, key: str, ids: list[int]) -> None:
        name = self._states.name(key)
        status, answer = self._send("/slots/0?action=save", {"filename": name})
        if status == 200 and answer.get("n_saved") == len(ids):
            self._states.keep(key)
        else:
            self._states.forget(key)  # a full disk costs time, never a reply

    def _evaluate(self, ids: list[int], new_tokens: int, cached: int) -> dict[str, Any]:
        body = {
            "prompt": ids,
            "n_predict": new_tokens,
            "id_slot": 0,
            "cache_prompt": True,
            "stream": False,
            **self._sampling(),
        }
        answer = self._post("/completion", body)
        timings = answer["timings"]
        if timings["cache_n"] != cached or timings["prompt_n"] != len(ids) - cached:
            raise self._broken(
                f"evaluated {timings['prompt_n']} tokens on {timings['cache_n']} cached ones, "
                f"expected {len(ids) - cached} on {cached}"
            )
        self.timings["prompt_tokens"] += timings["prompt_n"]
        self.timings["prompt_seconds"] += timings["prompt_ms"] / 1000
        if new_tokens:
            self.timings["reply_tokens"] += timings["predicted_n"]
            self.timings["reply_seconds"] += timings["predicted_ms"] / 1000
        return answer

    def _sampling(self) -> dict[str, Any]:
        """Greedy: the likeliest token, no penalties. A grammar per request would join here."""
        return {
            "samplers": ["top_k", "temperature"],
            "top_k": 1,
            "temperature": 0.0,
            "repeat_penalty": 1.0,
            "seed": self._spec.seed,
        }

    def _post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        status, answer = self._send(path, body)
        if status != 200:
            # The server's message can quote the request, so only its kind is shown.
            error = answer.get("error")
            kind = error.get("type", "error") if isinstance(error, dict) else "error"
            raise self._broken(f"answered {status} ({kind}) at {path.split('?')[0]}")
        return answer

    def _send(self, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if self._http is None:
            raise AfterDeleteError(f"{self._spec.name}: the engine is closed", "open it again")
        try:
            response = self._http.post(self._http.base + path, json=body, timeout=_TIMEOUT_SECONDS)
            answer = response.json()
        except (requests.RequestException, ValueError) as error:
            raise self._broken(f"does not answer ({type(error).__name__})") from error
        if not isinstance(answer, dict):
            raise self._broken(f"answered with no object at {path.split('?')[0]}")
        return response.status_code, answer

    def _broken(self, what: str) -> AfterDeleteError:
        return AfterDeleteError(
            f"{self._spec.name}: llama.cpp {what}",
            "run again; if it stays, check that xllamacpp is the pinned version of envs/inference.txt",
        )


def _model_file(spec: ModelSpec, files: dict[str, Path]) -> Path:
    """The file to load: a model split into several GGUF files is opened by its first."""
    try:
        return files[spec.files[0].name]
    except KeyError:
        raise AfterDeleteError(
            f"{spec.name}: {spec.files[0].name} was not fetched", "fetch the model"
        ) from None
