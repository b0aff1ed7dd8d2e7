"""From a configuration entry to an adapter that is ready to be asked."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from pathlib import Path

from afterdelete.afterlife.guard import Limits
from afterdelete.afterlife.protocol import MemoryAdapter, ProtocolViolation, ProviderError
from afterdelete.afterlife.settings import BuiltinSystem, HttpSystem, Launch, ProcessSystem
from afterdelete.afterlife.systems.builtin import BuiltinStore
from afterdelete.afterlife.systems.http import Endpoint, HttpAdapter, checked_base_url, token_from
from afterdelete.afterlife.systems.process import ProcessAdapter
from afterdelete.afterlife.systems.programs import Command, Program

_FIRST_LINE = 500  # bytes in which a started service tells its URL


def opener(
    system: BuiltinSystem | ProcessSystem | HttpSystem, folder: Path, limits: Limits
) -> Callable[[], MemoryAdapter]:
    """A function that opens a fresh adapter for ``system``; commands run from ``folder``.

    The function raises ``SystemAbsent`` when the system cannot be tried here, and ``ProviderError`` when it
    does not start.
    """
    if isinstance(system, BuiltinSystem):
        return lambda: BuiltinStore(system.defect)
    if isinstance(system, ProcessSystem):
        return lambda: ProcessAdapter(_command(system, folder))
    return lambda: _http(system, folder, limits)


def _command(launch: Launch, folder: Path) -> Command:
    return Command(launch.command, folder, launch.environment)


def _http(system: HttpSystem, folder: Path, limits: Limits) -> HttpAdapter:
    token = token_from(system.token_env)
    program = Program(_command(system.launch, folder), {}) if system.launch else None
    try:
        url = _announced(program, limits.call_timeout) if program else str(system.base_url)
        checked = checked_base_url(url, with_token=token is not None, allow_plain=system.allow_plain_http)
    except BaseException:
        if program:
            program.end(gently=False)
        raise
    return HttpAdapter(Endpoint(checked, token, limits.call_timeout, system.max_response_bytes), program)


def _announced(program: Program, timeout: float) -> str:
    """The URL that a started service prints as its first line; the rest of its output is read and dropped."""
    lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def listen() -> None:
        lines.put(program.stdout.readline(_FIRST_LINE))
        while program.stdout.read1(_FIRST_LINE):  # type: ignore[attr-defined]
            pass

    threading.Thread(target=listen, daemon=True).start()
    try:
        line = lines.get(timeout=timeout)
    except queue.Empty:
        raise ProviderError("the service that was started did not tell its URL in time") from None
    if not line:
        raise ProviderError(program.epitaph())
    url = line.decode("utf-8", "replace").strip()
    if not url.startswith("http"):
        raise ProtocolViolation("the first line of a started service is its URL")
    return url
