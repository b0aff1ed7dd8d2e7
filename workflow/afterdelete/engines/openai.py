"""Any OpenAI-compatible endpoint: vLLM, llama-server, a hosted API.

What such an endpoint hides stays unknown: the rendered text and token ids have no hashes, and nothing here
can prove that its chat template keeps the system message. Where that matters, use another engine.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import requests

from afterdelete.config.model_spec import ModelSpec
from afterdelete.core.errors import AfterDeleteError
from afterdelete.core.provenance import host_provenance
from afterdelete.engines.base import ChatRequest, ClosingEngine, OnReply, Reply
from afterdelete.engines.template import MERGE_SEPARATOR

CONNECT_SECONDS, READ_SECONDS = 10, 600
TRIES = 5
LONGEST_WAIT_SECONDS = 30.0
ANSWER_LIMIT_BYTES = 4 * 1024 * 1024
_RETRIED = (408, 429, 500, 502, 503, 504)


class OpenAIEngine(ClosingEngine):
    """Sends one request after the other. ``files``, ``reuse`` and ``threads`` mean nothing here."""

    def __init__(
        self,
        spec: ModelSpec,
        files: dict[str, Path] | None = None,
        *,
        reuse: bool = True,
        threads: int | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        if spec.system_role == "fail":
            raise AfterDeleteError(
                f"{spec.name}: system_role: fail takes no private prompt", "set system_role: native or merge"
            )
        self._spec = spec
        self._sleep = sleep
        self._url = f"{spec.base_url}/chat/completions"
        host = urlsplit(self._url).hostname or ""
        self._place = f"{host}:{urlsplit(self._url).port or urlsplit(self._url).scheme}"
        self._session = requests.Session()
        # A proxy must never see what is meant for this machine.
        self._session.trust_env = host not in ("localhost", "127.0.0.1", "::1")
        self._session.auth = _Key(_read_key(spec))

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
            "engine": "openai",
            "endpoint": self._place,
            "served_model": self._spec.served_model,
            "device": "unknown",
            "template_verified": False,
            **host_provenance("requests"),
        }

    def close(self) -> None:
        self._session.close()

    def _reply(self, request: ChatRequest) -> Reply:
        body = {
            "model": self._spec.served_model,
            "messages": self._messages(request),
            "temperature": 0,
            "top_p": 1,
            "max_tokens": self._spec.max_new_tokens,
            "seed": self._spec.seed,
            "stream": False,
        }
        answer = self._post(body)
        try:
            choice = answer["choices"][0]
            text = choice["message"].get("content") or ""
            reason = choice["finish_reason"]
            usage = answer.get("usage") or {}
            prompt_tokens = int(usage.get("prompt_tokens") or 0)
            completion_tokens = int(usage.get("completion_tokens") or 0)
        except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
            raise self._error("sent an answer without a chat completion", "check base_url") from error
        if not isinstance(text, str) or reason not in ("stop", "length"):
            raise self._error(
                f"ended a reply with {str(reason)[:40]!r} instead of stop or length",
                "turn off tools and content filters at the endpoint",
            )
        return Reply(text, reason, prompt_tokens, completion_tokens, "", "")

    def _messages(self, request: ChatRequest) -> list[dict[str, str]]:
        if self._spec.system_role == "merge":
            return [{"role": "user", "content": request.private_prompt + MERGE_SEPARATOR + request.user}]
        return [
            {"role": "system", "content": request.private_prompt},
            {"role": "user", "content": request.user},
        ]

    def _post(self, body: dict[str, Any]) -> dict[str, Any]:
        """One answer, with bounded retries. Errors quote neither the request, nor the answer, nor the key."""
        problem, wait = "", 0.0
        for attempt in range(TRIES):
            if attempt:
                self._sleep(min(LONGEST_WAIT_SECONDS, max(2.0 ** (attempt - 1), wait)))
            wait = 0.0
            try:
                with self._session.post(
                    self._url,
                    json=body,
                    timeout=(CONNECT_SECONDS, READ_SECONDS),
                    allow_redirects=False,
                    stream=True,
                ) as response:
                    status = response.status_code
                    if status == 200:
                        return self._parse(response)
                    wait = _retry_after(response)
            except requests.RequestException as error:
                problem = f"could not be reached ({type(error).__name__})"
                continue
            if 300 <= status < 400:
                raise self._error(
                    f"answered with a redirect ({status}), which is refused",
                    "write the final URL into base_url",
                )
            problem = f"answered HTTP {status}"
            if status in (401, 403):
                name = self._spec.api_key_env or "api_key_env in the model's YAML"
                raise self._error(problem, f"check the key in {name}")
            if status not in _RETRIED:
                raise self._error(problem, "check base_url, served_model and the endpoint's context length")
        raise self._error(f"{problem}, {TRIES} times", "check that the endpoint runs, then run again")

    def _parse(self, response: requests.Response) -> dict[str, Any]:
        data = b""
        for block in response.iter_content(65536):
            data += block
            if len(data) > ANSWER_LIMIT_BYTES:
                raise self._error(f"sent more than {ANSWER_LIMIT_BYTES} bytes", "check base_url")
        try:
            answer = json.loads(data)
        except ValueError as error:
            raise self._error("did not answer with JSON", "check base_url") from error
        if not isinstance(answer, dict):
            raise self._error("did not answer with a JSON object", "check base_url")
        return answer

    def _error(self, what: str, remedy: str) -> AfterDeleteError:
        return AfterDeleteError(f"{self._spec.name}: the endpoint {self._place} {what}", remedy)


class _Key(requests.auth.AuthBase):
    """Sends the key, and keeps requests from looking for another one in ~/.netrc."""

    def __init__(self, key: str | None) -> None:
        self._key = key

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        if self._key:
            request.headers["Authorization"] = f"Bearer {self._key}"
        return request

    def __repr__(self) -> str:
        return "_Key(...)"


def _read_key(spec: ModelSpec) -> str | None:
    if spec.api_key_env is None:
        return None
    key = os.environ.get(spec.api_key_env, "").strip()
    if not key:
        raise AfterDeleteError(
            f"{spec.name}: the environment variable {spec.api_key_env} is not set",
            "export it where the job runs; keys never go into a file of the project",
        )
    if not key.isascii() or not key.isprintable():
        raise AfterDeleteError(f"{spec.name}: {spec.api_key_env} holds no usable key", "export it again")
    return key


def _retry_after(response: requests.Response) -> float:
    """Seconds that the endpoint asks to wait, 0 where it does not say (or says it as a date)."""
    try:
        return max(0.0, float(response.headers.get("Retry-After", "0")))
    except ValueError:
        return 0.0
