"""A service that implements the REST contract of docs/afterlife-http.openapi.yaml."""

from __future__ import annotations

import ipaddress
import json
import os
import re
import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import requests
from urllib3.exceptions import HTTPError

from afterdelete.afterlife.environments import SystemAbsent
from afterdelete.afterlife.protocol import (
    AdapterTimeout,
    Context,
    Created,
    MemoryAdapter,
    ProtocolViolation,
    ProviderError,
)
from afterdelete.afterlife.systems.programs import Program
from afterdelete.afterlife.systems.remote import RemoteAdapter
from afterdelete.core.errors import AfterDeleteError

# Reads, and a removal that may be repeated without harm. Everything else is sent once: a write or an event
# that is repeated is another write or event, and a repeated delete would hide that the first one failed.
_REPEATABLE = {"system", "search", "inspect_surface", "discard"}
_OPTIONAL = {"discard", "begin_pending_write", "release_pending_writes", "record_conversation"}
_OPTIONAL |= {"start_session", "consolidate", "restart", "delete_thread"}
_BUSY = {502, 503, 504}
_PAUSES = (0.1, 0.3, 0.9)  # seconds before each further try
_WAITS = 600  # further tries for who is there
_CHUNK = 65_536
_TOKEN = re.compile(r"[\x21-\x7e]+")
_REQUESTS = {
    "system": ("GET", "/v1/system"),
    "write": ("POST", "/v1/memories"),
    "search": ("POST", "/v1/memories/search"),  # the query is a marker, which has no place in a URL
    "delete": ("DELETE", "/v1/memories"),
    "discard": ("POST", "/v1/discard"),
    "inspect_surface": ("POST", "/v1/surfaces/inspect"),
}


@dataclass(frozen=True)
class Endpoint:
    """Where a service is and how it may be spoken to; ``timeout`` in seconds for one request."""

    base_url: str
    token: str | None = None
    timeout: float = 5.0
    max_bytes: int = 1_048_576


class _NotServed(ProviderError):
    """An optional endpoint that this service does not have."""


def checked_base_url(url: str, *, with_token: bool, allow_plain: bool) -> str:
    """``url`` without a trailing slash, if requests may be sent there; else an ``AfterDeleteError``.

    Plain http is for this machine, unless the configuration allows it; a token never goes over plain http
    to another machine.
    """
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise AfterDeleteError("base_url is not a URL", "write it as https://host:port/prefix") from error
    if parts.scheme not in {"http", "https"} or not host or parts.query or parts.fragment:
        raise AfterDeleteError("base_url is not a plain http(s) URL", "write it as https://host:port/prefix")
    if parts.username or parts.password:
        raise AfterDeleteError("base_url holds a user name or password", "use token_env for the secret")
    if parts.scheme == "http" and not _is_this_machine(host) and (with_token or not allow_plain):
        raise AfterDeleteError(
            f"base_url would send to {host} in the clear",
            "use https; without a token, allow_plain_http: true permits it",
        )
    return url.rstrip("/")


def token_from(variable: str | None) -> str | None:
    """The bearer token in environment variable ``variable``; ``SystemAbsent`` if it is not set."""
    if variable is None:
        return None
    token = os.environ.get(variable, "")
    if not token:
        raise SystemAbsent(f"the environment variable {variable} is not set; put the service's token there")
    if not _TOKEN.fullmatch(token):
        raise AfterDeleteError(
            f"the token in {variable} holds spaces or other characters", "check how it was set"
        )
    return token


class HttpAdapter(RemoteAdapter):
    """Speaks to one origin. Redirects are refused, proxies and netrc files are not looked at."""

    def __init__(self, endpoint: Endpoint, program: Program | None = None) -> None:
        self._endpoint = endpoint
        self._program = program  # the service, where it was started for this run

    def discard(self, ctx: Context, record: Created) -> None:
        try:
            super().discard(ctx, record)
        except _NotServed:  # then a memory can still go by the ordinary delete, and nothing else can
            MemoryAdapter.discard(self, ctx, record)

    def close(self) -> None:
        if self._program:
            self._program.end(gently=True)

    def _ask(self, op: str, args: dict[str, Any]) -> Any:
        deadline = time.monotonic() + self._endpoint.timeout
        # A service that restarts is asked who it is until it answers; the deadline ends that.
        pauses = (*_PAUSES, *(_PAUSES[-1:] * _WAITS if op == "system" else ())) if op in _REPEATABLE else ()
        for pause in (*pauses, None):
            last = pause is None or time.monotonic() + pause >= deadline
            try:
                status, body = self._send(op, args, deadline)
            except requests.ConnectionError as error:
                if last:
                    raise ProviderError(f"no connection to the service ({type(error).__name__})") from None
            except (requests.RequestException, HTTPError, OSError) as error:
                raise ProviderError(f"the request failed ({type(error).__name__})") from None
            else:
                if last or status not in _BUSY:
                    return self._answer(op, status, body)
            assert pause is not None
            time.sleep(pause)
        raise AssertionError("the last try returns or raises")

    def _send(self, op: str, args: dict[str, Any], deadline: float) -> tuple[int, bytes]:
        method, path = _REQUESTS.get(op) or ("POST", f"/v1/lifecycle/{op}")
        headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
        if self._endpoint.token:
            headers["Authorization"] = f"Bearer {self._endpoint.token}"
        left = max(deadline - time.monotonic(), 0.001)
        # A connection of its own for each request: nothing is shared with a call that was given up.
        with requests.Session() as session:
            session.trust_env = False
            with session.request(
                method,
                self._endpoint.base_url + path,
                params=args if method == "DELETE" else None,
                json=args if method == "POST" else None,
                headers=headers,
                timeout=left,
                allow_redirects=False,
                stream=True,
            ) as response:
                if 300 <= response.status_code < 400:
                    raise ProviderError("the service answered with a redirect, and those are refused")
                return response.status_code, self._body(response, deadline)

    def _body(self, response: requests.Response, deadline: float) -> bytes:
        if response.headers.get("Content-Encoding", "identity").lower() != "identity":
            raise ProtocolViolation("a compressed answer; the request asked for none")
        body = bytearray()
        while chunk := response.raw.read1(_CHUNK):
            body += chunk
            if len(body) > self._endpoint.max_bytes:
                raise ProtocolViolation(f"an answer of more than {self._endpoint.max_bytes} bytes")
            if time.monotonic() > deadline:
                raise AdapterTimeout("the answer did not end in time")
        return bytes(body)

    def _answer(self, op: str, status: int, body: bytes) -> Any:
        if status in {404, 501} and op in _OPTIONAL:
            raise _NotServed(f"the service advertises {op} and answers {status} to it")
        if status >= 400:
            raise ProviderError(f"the service answered {status}{self._own_words(body)}")
        if status == 204:
            return None
        try:
            return json.loads(body)
        except (ValueError, RecursionError):
            raise ProtocolViolation(f"an answer that is not JSON ({len(body)} bytes)") from None

    def _own_words(self, body: bytes) -> str:
        try:
            message = json.loads(body)["error"]
        except (ValueError, RecursionError, KeyError, TypeError):
            return ""
        words = str(message)
        if self._endpoint.token:
            words = words.replace(self._endpoint.token, "[token]")
        return f": {words}"


def _is_this_machine(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
