"""Programs that are started for a run: how a command is resolved, and how its whole family is ended."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from afterdelete.afterlife.environments import interpreter
from afterdelete.afterlife.paths import ROOT
from afterdelete.afterlife.protocol import ProviderError

_LAST_WORDS = 0.5  # seconds for a program that closed its output to end and to say why
_GRACE = 3.0  # seconds between the polite request to end and the kill


@dataclass(frozen=True)
class Command:
    """A command line of a configuration, run from the folder of its file."""

    words: tuple[str, ...]
    folder: Path
    environment: str | None = None

    def resolved(self) -> list[str]:
        """The words with a leading ``python`` replaced; ``SystemAbsent`` if its environment is not built."""
        python = str(interpreter(self.environment)) if self.environment else sys.executable
        return [python if self.words[0] == "python" else self.words[0], *self.words[1:]]


class Program:
    """A running command. Its stderr is kept in part, to say why it ended."""

    def __init__(self, command: Command, variables: Mapping[str, str]) -> None:
        library = str(ROOT / "workflow")
        # Only the standard library is assumed over there; ours is found through the path.
        path = os.pathsep.join(filter(None, [library, os.environ.get("PYTHONPATH")]))
        try:
            self.process = subprocess.Popen(
                command.resolved(),
                cwd=command.folder,
                env={**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1", **variables},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,  # a Ctrl-C is for the tester, which then ends this program itself
            )
        except OSError as error:
            raise ProviderError(f"cannot start {command.words[0]}: {error.strerror}") from error
        assert self.process.stdin
        assert self.process.stdout
        assert self.process.stderr
        self.stdin: IO[bytes] = self.process.stdin
        self.stdout: IO[bytes] = self.process.stdout
        self._complaints: deque[str] = deque(maxlen=20)
        self._listener = threading.Thread(target=self._listen, args=(self.process.stderr,), daemon=True)
        self._listener.start()

    def _listen(self, stream: IO[bytes]) -> None:
        while line := stream.readline(4096):
            self._complaints.append(line.decode("utf-8", "replace").strip())

    def epitaph(self) -> str:
        """How the program ended and what it last complained of, once it has closed its output."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(_LAST_WORDS)
        self._listener.join(_LAST_WORDS)
        code = self.process.returncode
        how = "closed its output" if code is None else f"ended with status {code}"
        last = next((line for line in reversed(self._complaints) if line), "")
        return f"the program {how}" + (f": {last}" if last else "")

    def end(self, *, gently: bool) -> None:
        """End the program and everything it started. ``gently`` first closes its stdin and waits."""
        with contextlib.suppress(OSError):
            self.stdin.close()
        if gently:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(_GRACE)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self._listener.join(1.0)
        for stream in (self.stdout, self.process.stderr):
            with contextlib.suppress(OSError):
                if stream:
                    stream.close()
