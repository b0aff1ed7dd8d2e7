"""The pinned environments of third-party systems. They are built by `make`, never by a test run."""

from __future__ import annotations

from pathlib import Path

from afterdelete.afterlife.paths import ROOT
from afterdelete.core.canonical import sha256_file


class SystemAbsent(Exception):
    """A system cannot be tried here; the result is SKIPPED, and the text says what would change that."""


def interpreter(name: str, root: Path = ROOT) -> Path:
    """The Python of environment ``name`` (envs/<name>.txt, built into .venv-<name>).

    Raises ``SystemAbsent`` when it is not there or was built from another pin file than the committed one.
    """
    pins, complete = root / "envs" / f"{name}.txt", stamp(name, root)
    if not pins.is_file():
        raise SystemAbsent(f"there is no environment {name}: envs/{name}.txt does not exist")
    if not complete.is_file():
        raise SystemAbsent(f"environment {name} is not installed; install it with: make env-{name}")
    if complete.read_text(encoding="utf-8").strip() != sha256_file(pins):
        raise SystemAbsent(f"environment {name} was built from other pins; rebuild it with: make env-{name}")
    return complete.parent / "bin" / "python"


def stamp(name: str, root: Path = ROOT) -> Path:
    """The file that `make` writes last into an environment: the sha256 of the pins it was built from."""
    return root / f".venv-{name}" / ".complete"
