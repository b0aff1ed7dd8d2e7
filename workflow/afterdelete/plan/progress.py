"""Progress of model jobs: small files that a watcher sums up. Never part of a result."""

from __future__ import annotations

import contextlib
import json
import time
from dataclasses import dataclass
from pathlib import Path

from afterdelete.plan.node import Node

DIRECTORY = ".progress"
EVERY_SECONDS = 1.0


@dataclass
class Progress:
    """Counts of one job; ``total`` is a bound, since an episode may end early."""

    path: Path
    total: int
    done: int = 0
    _written: float = 0.0

    @classmethod
    def of(cls, results: Path, node: Node, shard: str, total: int) -> Progress:
        """The progress of one artifact."""
        progress = cls(_path(results, node, shard), total)
        progress._write()
        return progress

    def report(self, done: int) -> None:
        """Record how many requests are done, at most once a second."""
        self.done = done
        if time.monotonic() - self._written >= EVERY_SECONDS:
            self._write()

    def finish(self) -> None:
        """The job asked all it had to ask."""
        self.total = self.done
        self._write()

    def _write(self) -> None:
        self._written = time.monotonic()
        # Progress is a courtesy: a full disk must stop the job where it writes results, not here.
        with contextlib.suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            temporary = self.path.with_suffix(".part")
            temporary.write_text(json.dumps({"done": self.done, "total": self.total}), encoding="utf-8")
            temporary.replace(self.path)


def read(results: Path, node: Node, shard: str) -> tuple[int, int] | None:
    """(done, total) of one artifact's job, or None."""
    try:
        seen = json.loads(_path(results, node, shard).read_text(encoding="utf-8"))
        return int(seen["done"]), int(seen["total"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def forget(results: Path, node: Node, shard: str) -> None:
    """Drop what an earlier, unfinished run of this job reported."""
    with contextlib.suppress(OSError):
        _path(results, node, shard).unlink()


def _path(results: Path, node: Node, shard: str) -> Path:
    return results / DIRECTORY / f"{node.stage}-{node.key}-{shard}.json"
