"""The HTTP client against real sockets: what it refuses, what it repeats, and where the token goes."""

from __future__ import annotations

import gzip
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from afterdelete.afterlife.protocol import AdapterTimeout, Context, Created, ProtocolViolation, ProviderError
from afterdelete.afterlife.systems.http import Endpoint, HttpAdapter
from tests.afterlife_support import judge

CTX = Context("afterlife-0123")
RECEIPT = {"executed": True}


@dataclass
class Seen:
    """What a server was asked."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Server:
    """A server whose answers a test scripts."""

    url: str
    seen: list[Seen] = field(default_factory=list)


Answer = Callable[[BaseHTTPRequestHandler, int], None]


@contextmanager
def serving(answer: Answer) -> Iterator[Server]:
    """Serve on loopback; ``answer`` gets the handler and the number of the request, from 1."""
    server: Server

    class Handler(BaseHTTPRequestHandler):
        def handle_any(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            server.seen.append(Seen(self.command, self.path, dict(self.headers), body))
            answer(self, len(server.seen))

        do_GET = do_POST = do_DELETE = handle_any

        def log_message(self, format: str, *args: Any) -> None:
            """Quiet."""

    listener = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    listener.daemon_threads = True
    server = Server(f"http://127.0.0.1:{listener.server_port}")
    threading.Thread(target=listener.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield server
    finally:
        listener.shutdown()
        listener.server_close()


def send(handler: BaseHTTPRequestHandler, value: Any, status: int = 200, **headers: str) -> None:
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    handler.send_response(status)
    for name, text in headers.items():
        handler.send_header(name.replace("_", "-"), text)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


def adapter(server: Server, **changes: Any) -> HttpAdapter:
    return HttpAdapter(Endpoint(server.url, **{"timeout": 1.0, "max_bytes": 2000, **changes}))


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_refused_and_not_followed(status: int) -> None:
    with serving(lambda handler, _: send(handler, RECEIPT)) as elsewhere:
        target = elsewhere.url + "/v1/memories"
        with (
            serving(lambda handler, _: send(handler, {}, status, Location=target)) as server,
            pytest.raises(ProviderError, match="redirect"),
        ):
            adapter(server).write(CTX, "text")
        assert elsewhere.seen == []


def test_a_foreign_origin_is_never_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not through a proxy of the environment, and not through an id that looks like a path."""
    with serving(lambda handler, _: send(handler, RECEIPT)) as proxy:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        monkeypatch.setenv("no_proxy", "")
        with serving(lambda handler, _: send(handler, RECEIPT)) as server:
            adapter(server).delete(CTX, "../../admin?x=1#@evil.example/")
        assert proxy.seen == []
    assert [each.path.partition("?")[0] for each in server.seen] == ["/v1/memories"]
    assert "evil.example" not in server.seen[0].headers["Host"]


def test_an_oversized_answer_is_cut_off() -> None:
    with (
        serving(lambda handler, _: send(handler, b"[" + b" " * 5000 + b"]")) as server,
        pytest.raises(ProtocolViolation, match="more than 2000 bytes"),
    ):
        adapter(server).search(CTX, "q", 50)


def test_an_endless_answer_is_cut_off() -> None:
    def endless(handler: BaseHTTPRequestHandler, _: int) -> None:
        handler.send_response(200)
        handler.end_headers()
        try:
            while True:
                handler.wfile.write(b" " * 500)
        except OSError:
            pass

    with serving(endless) as server, pytest.raises(ProtocolViolation, match="more than 2000 bytes"):
        adapter(server).search(CTX, "q", 50)


def test_a_compressed_answer_is_refused() -> None:
    bomb = gzip.compress(b" " * 1000)
    with (
        serving(lambda handler, _: send(handler, bomb, Content_Encoding="gzip")) as server,
        pytest.raises(ProtocolViolation, match="compressed"),
    ):
        adapter(server).search(CTX, "q", 50)


def test_a_dripping_answer_ends_at_the_deadline() -> None:
    def drip(handler: BaseHTTPRequestHandler, _: int) -> None:
        handler.send_response(200)
        handler.end_headers()
        try:
            for _ in range(100):
                handler.wfile.write(b" ")
                handler.wfile.flush()
                time.sleep(0.05)
        except OSError:
            pass

    started = time.monotonic()
    with serving(drip) as server, pytest.raises(AdapterTimeout, match="did not end in time"):
        adapter(server, timeout=0.3).search(CTX, "q", 50)
    assert time.monotonic() - started < 2


def test_silence_ends_at_the_deadline() -> None:
    with (
        serving(lambda handler, _: time.sleep(1)) as server,
        pytest.raises(ProviderError, match="ReadTimeout"),
    ):
        adapter(server, timeout=0.2).write(CTX, "text")
    assert len(server.seen) == 1


@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"\xff\xfe", b"[" * 1500, b'{"executed": "yes"}', b'[{"id": 1}]', b"null", b"7"]
)
def test_garbage_is_a_violation(body: bytes) -> None:
    with serving(lambda handler, _: send(handler, body)) as server:
        with pytest.raises(ProtocolViolation):
            adapter(server).write(CTX, "text")
        result = judge("AF-003", lambda: adapter(server))
        assert result["status"] == "ERROR"


@pytest.mark.parametrize("status", [502, 503, 504])
def test_reads_are_repeated_and_nothing_else_is(status: int) -> None:
    def busy_once(handler: BaseHTTPRequestHandler, number: int) -> None:
        value: Any = [] if "search" in handler.path or "inspect" in handler.path else RECEIPT
        send(handler, value, status if number == 1 else 200)

    reads = [
        lambda a: a.search(CTX, "q", 50),
        lambda a: a.inspect_surface(CTX, "profile", "q"),
        lambda a: a.discard(CTX, Created("memory", "1")),
    ]
    for read in reads:
        with serving(busy_once) as server:
            read(adapter(server))
        assert len(server.seen) == 2
    changes = [
        lambda a: a.write(CTX, "text"),
        lambda a: a.delete(CTX, "1"),
        lambda a: a.begin_pending_write(CTX, "text"),
        lambda a: a.release_pending_writes(CTX),
        lambda a: a.record_conversation(CTX, ["text"]),
        lambda a: a.start_session(CTX),
        lambda a: a.consolidate(CTX),
        lambda a: a.restart(),
        lambda a: a.delete_thread(CTX),
    ]
    for change in changes:
        with serving(busy_once) as server, pytest.raises(ProviderError, match=f"answered {status}"):
            change(adapter(server))
        assert len(server.seen) == 1


def test_repeating_ends_within_the_deadline() -> None:
    started = time.monotonic()
    with (
        serving(lambda handler, _: send(handler, {}, 503)) as server,
        pytest.raises(ProviderError, match="answered 503"),
    ):
        adapter(server, timeout=0.6).search(CTX, "q", 50)
    assert 2 <= len(server.seen) <= 4
    assert time.monotonic() - started < 1.5


def test_no_service_is_an_error_in_time() -> None:
    with serving(lambda handler, _: None) as server:
        pass
    result = judge("AF-003", lambda: adapter(server, timeout=0.5))
    assert result["status"] == "ERROR"
    assert "no connection to the service" in result["reason"]


def test_the_token_goes_into_one_header_and_into_no_message() -> None:
    def quoting(handler: BaseHTTPRequestHandler, _: int) -> None:
        send(handler, {"error": f"bad credentials: {handler.headers['Authorization']}"}, 401)

    with serving(quoting) as server, pytest.raises(ProviderError) as caught:
        adapter(server, token="s3cr3t-token").write(CTX, "text")
    assert str(caught.value) == "the service answered 401: bad credentials: Bearer [token]"
    (request,) = server.seen
    assert request.headers["Authorization"] == "Bearer s3cr3t-token"
    assert "s3cr3t-token" not in request.path + request.body.decode()
    with serving(quoting) as server, pytest.raises(ProviderError):
        adapter(server).write(CTX, "text")
    assert "Authorization" not in server.seen[0].headers


def test_a_marker_is_never_in_an_address() -> None:
    with serving(lambda handler, _: send(handler, [])) as server:
        adapter(server).search(CTX, "afmk7secret", 50)
        adapter(server).inspect_surface(CTX, "profile", "afmk7secret")
    assert not any("afmk7secret" in each.path for each in server.seen)


def test_a_hook_that_is_advertised_and_not_served_is_an_error() -> None:
    with (
        serving(lambda handler, _: send(handler, {"error": "?"}, 501)) as server,
        pytest.raises(ProviderError, match="advertises consolidate and answers 501"),
    ):
        adapter(server).consolidate(CTX)


def test_without_a_discard_endpoint_memories_go_by_the_ordinary_delete() -> None:
    def answer(handler: BaseHTTPRequestHandler, _: int) -> None:
        send(handler, RECEIPT, 404 if "discard" in handler.path else 200)

    with serving(answer) as server:
        adapter(server).discard(CTX, Created("memory", "m 1"))
        with pytest.raises(ProviderError, match="cannot discard a record of kind message"):
            adapter(server).discard(CTX, Created("message", "2"))
    assert [each.method for each in server.seen] == ["POST", "DELETE", "POST"]
    assert "id=m+1" in server.seen[1].path
