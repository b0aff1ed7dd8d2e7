"""The endpoint engine against a small server on loopback that misbehaves on demand."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from afterdelete.config.model_spec import ModelSpec
from afterdelete.core.errors import AfterDeleteError
from afterdelete.engines.base import ChatRequest
from afterdelete.engines.openai import TRIES, OpenAIEngine

KEY = "sk-very-secret-0123"
REQUEST = ChatRequest("PRIVATE-PROMPT", "USER-TEXT")


def completion(text: str | None = '{"value":"x"}', reason: str = "stop") -> dict[str, Any]:
    return {
        "choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": reason}],
        "usage": {"prompt_tokens": 12, "completion_tokens": 7},
    }


class Endpoint:
    """Answers with the queued (status, headers, body), then with a completion."""

    def __init__(self) -> None:
        self.queue: list[tuple[int, dict[str, str], bytes]] = []
        self.seen: list[tuple[str, dict[str, str], dict[str, Any]]] = []
        self.url = ""


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    state = Endpoint()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            state.seen.append((self.path, dict(self.headers), body))
            default = (200, {}, json.dumps(completion()).encode())
            status, headers, answer = state.queue.pop(0) if state.queue else default
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    state.url = f"http://127.0.0.1:{server.server_port}/v1"
    yield state
    server.shutdown()
    server.server_close()


def make(url: str, waits: list[float] | None = None, **changes: Any) -> OpenAIEngine:
    data = {"name": "e", "license": "x", "engine": "openai", "base_url": url, "served_model": "m"}
    spec = ModelSpec.model_validate({**data, "api_key_env": "TEST_KEY", **changes})
    return OpenAIEngine(spec, sleep=(waits if waits is not None else []).append)


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_KEY", KEY)


def test_one_request_is_greedy_bounded_and_has_both_messages(endpoint: Endpoint) -> None:
    indices: list[int] = []
    with make(endpoint.url) as engine:
        replies = engine.generate([REQUEST, REQUEST], lambda index, reply: indices.append(index))
    assert replies[0].text == '{"value":"x"}'
    assert (replies[0].prompt_tokens, replies[0].completion_tokens) == (12, 7)
    assert (replies[0].rendered_sha256, replies[0].token_ids_sha256) == ("", "")
    assert indices == [0, 1]
    path, headers, body = endpoint.seen[0]
    assert path == "/v1/chat/completions"
    assert headers["Authorization"] == f"Bearer {KEY}"
    assert (body["temperature"], body["max_tokens"], body["stream"]) == (0, 96, False)
    assert [message["role"] for message in body["messages"]] == ["system", "user"]


def test_merge_sends_one_user_message(endpoint: Endpoint) -> None:
    make(endpoint.url, system_role="merge").generate([REQUEST])
    assert endpoint.seen[0][2]["messages"] == [{"role": "user", "content": "PRIVATE-PROMPT\n\nUSER-TEXT"}]


def test_busy_and_broken_answers_are_tried_again_with_growing_waits(endpoint: Endpoint) -> None:
    endpoint.queue = [(429, {"Retry-After": "7"}, b"{}"), (503, {}, b""), (500, {"Retry-After": "soon"}, b"")]
    waits: list[float] = []
    assert make(endpoint.url, waits).generate([REQUEST])[0].finish_reason == "stop"
    assert waits == [7.0, 2.0, 4.0]


def test_retries_end(endpoint: Endpoint) -> None:
    endpoint.queue = [(503, {"Retry-After": "9999"}, b"")] * TRIES
    waits: list[float] = []
    with pytest.raises(AfterDeleteError, match="HTTP 503"):
        make(endpoint.url, waits).generate([REQUEST])
    assert waits == [30.0] * (TRIES - 1)
    assert len(endpoint.seen) == TRIES


def test_a_closed_port_is_one_clear_error() -> None:
    waits: list[float] = []
    with pytest.raises(AfterDeleteError, match="could not be reached"):
        make("http://127.0.0.1:9/v1", waits).generate([REQUEST])
    assert len(waits) == TRIES - 1


@pytest.mark.parametrize(
    ("status", "headers", "body", "word"),
    [
        (302, {"Location": "http://127.0.0.1:9/elsewhere"}, b"", "redirect"),
        (401, {}, b"bad key " + KEY.encode(), "401"),
        (400, {}, b"PRIVATE-PROMPT too long", "400"),
        (200, {}, b"<html>", "JSON"),
        (200, {}, b"[]", "object"),
        (200, {}, b"{}", "completion"),
        (200, {}, json.dumps(completion("x", "content_filter")).encode(), "content_filter"),
    ],
)
def test_errors_are_final_and_quote_no_key_and_no_prompt(
    endpoint: Endpoint, status: int, headers: dict[str, str], body: bytes, word: str
) -> None:
    endpoint.queue = [(status, headers, body)]
    with pytest.raises(AfterDeleteError, match=word) as caught:
        make(endpoint.url).generate([REQUEST])
    assert len(endpoint.seen) == 1
    assert KEY not in str(caught.value)
    assert "PRIVATE-PROMPT" not in str(caught.value)


def test_an_empty_reply_is_a_reply(endpoint: Endpoint) -> None:
    endpoint.queue = [(200, {}, json.dumps(completion(None, "length")).encode())]
    reply = make(endpoint.url).generate([REQUEST])[0]
    assert (reply.text, reply.finish_reason) == ("", "length")


def test_the_key_comes_from_the_named_variable_only(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TEST_KEY")
    with pytest.raises(AfterDeleteError, match="TEST_KEY is not set"):
        make(endpoint.url)
    make(endpoint.url, api_key_env=None).generate([REQUEST])
    assert "Authorization" not in endpoint.seen[0][1]


def test_provenance_names_the_endpoint_but_not_the_key(endpoint: Endpoint) -> None:
    facts = json.dumps(make(endpoint.url).provenance())
    assert "127.0.0.1" in facts
    assert KEY not in facts
