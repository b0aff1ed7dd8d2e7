"""Replies of an unfinished model job, kept so that a killed or requeued job goes on where it stopped.

A checkpoint is a courtesy beside the results and never part of one: artifacts are the same with it, without
it, and with any damaged piece of it. One JSON line holds one reply; lines are appended and fsynced a block at
a time. Each line carries a hash over the job, the request and the reply, so a torn line, a flipped byte, or
the reply of another job is dropped, not trusted; a file that names another job is refused.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from afterdelete.core.canonical import canonical_json, sha256_text
from afterdelete.core.errors import AfterDeleteError
from afterdelete.engines.base import Reply


class Checkpoint:
    """The checkpoint file of one artifact, opened for reading what is there and adding to it.

    ``job`` names the artifact that the replies belong to (its key and shard); a file of another job is
    refused. ``block`` is how many consecutive requests share a computation: replies in a batch depend on
    their neighbours, so a block is taken up whole or asked again whole. ``maker`` says who generates now;
    ``makers`` lists who made the replies found.
    """

    def __init__(self, path: Path, job: str, *, block: int = 1, maker: dict[str, Any] | None = None) -> None:
        self.path = path
        self.block = block
        self.makers: list[dict[str, Any]] = []
        self._job = job
        self._maker = maker or {}
        self._known = self._read()
        self._file: int | None = None
        self._broken = False

    def known(self, request: str) -> Reply | None:
        """The reply kept for the request of this hash, or None."""
        return self._known.get(request)

    def keep(self, replies: Sequence[tuple[str, Reply]]) -> None:
        """Append one block of (request hash, reply) and put it on disk.

        A full disk costs the courtesy, not the job: it is said once, and the job goes on.
        """
        if self._broken:
            return
        lines = []
        for request, reply in replies:
            entry = {"request": request, "reply": asdict(reply)}
            lines.append(canonical_json({**entry, "check": self._check(entry)}))
        try:
            if self._file is None:
                self._file = self._open()
            self._write("".join(f"{line}\n" for line in lines))
        except OSError as error:
            self._broken = True
            print(
                f"checkpoint: cannot write {self.path}: {error.strerror or error}; "
                "this job goes on without, and starts over if it is killed",
                file=sys.stderr,
                flush=True,
            )

    def close(self) -> None:
        """Release the file; it stays on disk until its artifact is finished."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _open(self) -> int:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(self.path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o644)
        # An empty line first: what a killed writer left half-written must not swallow the next line.
        self._write("\n" + canonical_json({"job": self._job, "maker": self._maker}) + "\n")
        return self._file

    def _write(self, text: str) -> None:
        assert self._file is not None
        data = text.encode("utf-8")
        while data:
            data = data[os.write(self._file, data) :]
        os.fsync(self._file)

    def _check(self, entry: dict[str, Any]) -> str:
        return sha256_text(canonical_json([self._job, entry["request"], entry["reply"]]))

    def _read(self) -> dict[str, Reply]:
        try:
            text = self.path.read_bytes().decode("utf-8", errors="replace")
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise AfterDeleteError(
                f"cannot read {self.path}: {error.strerror}", "fix its permissions, or remove it"
            ) from error
        known: dict[str, Reply] = {}
        for line in text.split("\n"):
            entry = _parsed(line)
            if entry.keys() == {"job", "maker"}:
                self._welcome(entry)
            elif entry.keys() == {"request", "reply", "check"} and entry["check"] == self._check(entry):
                known.setdefault(entry["request"], Reply(**entry["reply"]))
        return known

    def _welcome(self, entry: dict[str, Any]) -> None:
        if entry["job"] != self._job:
            raise AfterDeleteError(
                f"{self.path} is the checkpoint of another job, {entry['job']}", "remove it and run again"
            )
        if entry.get("maker") not in self.makers:
            self.makers.append(entry["maker"])


def _parsed(line: str) -> dict[str, Any]:
    """The JSON object of a line, or an empty one for whatever else stands there."""
    try:
        entry = json.loads(line)
    except ValueError:
        return {}
    return entry if isinstance(entry, dict) else {}
