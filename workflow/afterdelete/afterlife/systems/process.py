"""An adapter in a process of its own, spoken to in lines of JSON (the far side is worker.py)."""

from __future__ import annotations

import contextlib
import json
import queue
import shutil
import tempfile
import threading
from typing import Any

from afterdelete.afterlife.protocol import HookReceipt, ProtocolViolation, ProviderError
from afterdelete.afterlife.systems.programs import Command, Program
from afterdelete.afterlife.systems.remote import RemoteAdapter
from afterdelete.afterlife.worker import GREETING, STATE_VARIABLE

_PRINTS = 1000  # lines that a worker's libraries may print before its greeting
_LINE_LIMIT = 4 * 1024 * 1024  # bytes of one answer


class ProcessAdapter(RemoteAdapter):
    """Starts the worker, restarts it for real, and removes its state folder in the end."""

    def __init__(self, command: Command) -> None:
        self._command = command
        self._state = tempfile.mkdtemp(prefix="afterlife-")
        try:
            self._start()
        except BaseException:
            shutil.rmtree(self._state, ignore_errors=True)
            raise

    def _start(self) -> None:
        self._number = 0
        self._greeted = False
        self._answers: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._program = Program(self._command, {STATE_VARIABLE: self._state})
        self._reader = threading.Thread(target=_pump, args=(self._program, self._answers), daemon=True)
        self._reader.start()

    def _stop(self, *, gently: bool) -> None:
        self._program.end(gently=gently)
        self._reader.join()

    def restart(self) -> HookReceipt:
        """End the worker, as a deployment would, and start another on the same state."""
        self._stop(gently=True)
        self._start()
        return HookReceipt(True)

    def recover(self) -> None:
        self._stop(gently=False)
        self._start()

    def close(self) -> None:
        self._stop(gently=True)
        shutil.rmtree(self._state, ignore_errors=True)

    def _ask(self, op: str, args: dict[str, Any]) -> Any:
        # The guard allows one call at a time, and after a call that it gave up it recovers before the next.
        self._number += 1
        request = {"id": self._number, "op": op, "args": args}
        program, answers = self._program, self._answers
        try:
            program.stdin.write(json.dumps(request).encode() + b"\n")
            program.stdin.flush()
        except OSError:
            raise ProviderError(program.epitaph()) from None
        if not self._greeted:
            self._await_greeting(program, answers)
            self._greeted = True
        return _result(_next_line(program, answers), request["id"])

    def _await_greeting(self, program: Program, answers: queue.SimpleQueue[bytes]) -> None:
        for _ in range(_PRINTS):
            with contextlib.suppress(ValueError, RecursionError):
                if json.loads(_next_line(program, answers)) == GREETING:
                    return
        raise ProtocolViolation("the program does not greet as an adapter does")


def _pump(program: Program, answers: queue.SimpleQueue[bytes]) -> None:
    """Move lines from the program to ``answers``; an empty one, repeated for every waiter, marks the end."""
    try:
        while line := program.stdout.readline(_LINE_LIMIT + 1):
            answers.put(line)
    except (OSError, ValueError):  # the pipe was closed while it was read
        pass
    # A request that was given up and the one after it may both be waiting.
    for _ in range(2):
        answers.put(b"")


def _next_line(program: Program, answers: queue.SimpleQueue[bytes]) -> bytes:
    line = answers.get()
    if not line:
        raise ProviderError(program.epitaph())
    return line


def _result(line: bytes, number: object) -> Any:
    if len(line) > _LINE_LIMIT:
        raise ProtocolViolation(f"an answer of more than {_LINE_LIMIT} bytes")
    try:
        answer = json.loads(line)
    except (ValueError, RecursionError):
        raise ProtocolViolation(f"an answer that is not JSON ({len(line)} bytes)") from None
    if not isinstance(answer, dict) or answer.get("id") != number or not {"result", "error"} & set(answer):
        raise ProtocolViolation("an answer that belongs to no request")
    if "error" in answer:
        raise ProviderError(str(answer["error"]))
    return answer["result"]
