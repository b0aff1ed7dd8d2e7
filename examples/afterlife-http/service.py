"""An example service for the HTTP contract in docs/afterlife-http.openapi.yaml, with chosen faults.

    python examples/afterlife-http/service.py --port 8765

The memory behind it is the built-in store; what a service in another language has to do is all in
`Handler`. The first line it prints is its URL. It ends when its standard input does.
"""

from __future__ import annotations

import argparse
import hmac
import json
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from afterdelete.afterlife.capabilities import OPERATIONS
from afterdelete.afterlife.protocol import ProviderError
from afterdelete.afterlife.systems.builtin import BuiltinStore, Defect
from afterdelete.afterlife.worker import dispatch

ROUTES = {
    ("GET", "/v1/system"): "system",
    ("POST", "/v1/memories"): "write",
    ("POST", "/v1/memories/search"): "search",
    ("DELETE", "/v1/memories"): "delete",
    ("POST", "/v1/discard"): "discard",
    ("POST", "/v1/surfaces/inspect"): "inspect_surface",
}
HOOKS = (
    "begin_pending_write",
    "release_pending_writes",
    "record_conversation",
    "start_session",
    "consolidate",
    "restart",
    "delete_thread",
)
BODY_LIMIT = 1_048_576


class Service(ThreadingHTTPServer):
    """The listening server with the store behind it."""

    daemon_threads = True

    def __init__(self, port: int, store: BuiltinStore, options: argparse.Namespace) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.store = store
        self.claim_only: set[str] = set(options.claim_only)
        self.without: set[str] = set(options.without)
        self.token = os.environ.get(options.token_env, "") if options.token_env else ""

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A tester that hangs up is no event; anything else is shown as usual."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)

    def carry_out(self, operation: str, args: dict[str, Any]) -> Any:
        """The result of one operation, or the claim of one."""
        if operation in self.claim_only:
            return {"executed": True, "created": [], "processed": 1}
        result = dispatch(self.store, operation, args)
        if operation == "system":
            result["capabilities"] = [name for name in result["capabilities"] if name not in self.without]
        return result


class Handler(BaseHTTPRequestHandler):
    """One request."""

    server: Service
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._route()

    def do_POST(self) -> None:
        self._route()

    def do_DELETE(self) -> None:
        self._route()

    def _route(self) -> None:
        url = urlsplit(self.path)
        operation = ROUTES.get((self.command, url.path))
        hook = url.path.removeprefix("/v1/lifecycle/")
        if self.command == "POST" and hook in HOOKS:
            operation = hook
        try:
            args = dict(parse_qsl(url.query)) if self.command == "DELETE" else self._body()
        except ValueError:
            return self._answer(400, {"error": "the body is no JSON object, or is too long"})
        if not self._authorized():
            return self._answer(401, {"error": "a bearer token is needed"})
        if operation is None:
            return self._answer(404, {"error": "no such endpoint"})
        try:
            result = self.server.carry_out(operation, args)
        except (KeyError, TypeError, ProviderError) as error:
            return self._answer(400, {"error": f"{type(error).__name__}: {error}"})
        return self._answer(204, None) if result is None else self._answer(200, result)

    def _authorized(self) -> bool:
        given = self.headers.get("Authorization", "")
        return not self.server.token or hmac.compare_digest(given, f"Bearer {self.server.token}")

    def _body(self) -> dict[str, Any]:
        length = int(self.headers.get("Content-Length") or 0)
        if length > BODY_LIMIT:
            raise ValueError
        body = json.loads(self.rfile.read(length) or b"{}")
        if not isinstance(body, dict):
            raise ValueError
        return body

    def _answer(self, status: int, value: Any) -> None:
        body = b"" if value is None else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """No access log: requests are about markers."""


def main() -> None:
    """Serve until standard input ends."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--defect", type=Defect, choices=list(Defect), default=Defect.NONE)
    parser.add_argument(
        "--claim-only", action="append", default=[], choices=HOOKS, help="claim it, do nothing"
    )
    parser.add_argument(
        "--without", action="append", default=[], choices=list(OPERATIONS), help="do not advertise"
    )
    parser.add_argument("--token-env", help="environment variable with the token that requests must carry")
    parser.add_argument("--store", type=Path, help="SQLite file to keep; without it the store is temporary")
    options = parser.parse_args()
    service = Service(options.port, BuiltinStore(options.defect, options.store), options)
    threading.Thread(target=service.serve_forever, daemon=True).start()
    print(f"http://127.0.0.1:{service.server_port}", flush=True)
    try:
        sys.stdin.read()
    except KeyboardInterrupt:
        pass
    finally:
        service.shutdown()
        service.store.close()


if __name__ == "__main__":
    main()
