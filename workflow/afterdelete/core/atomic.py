"""Files that are either whole or absent."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from afterdelete.core.errors import AfterDeleteError


@contextmanager
def atomic_path(target: Path, mode: int = 0o644) -> Iterator[Path]:
    """Yield a temporary path beside ``target``; on success fsync it and rename it over ``target``.

    On any error the temporary file is removed and ``target`` is left as it was. ``OSError`` (a full
    disk, a read-only tree) becomes an :class:`AfterDeleteError` that names the target.
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    except OSError as error:
        raise _cannot_write(target, error) from error
    os.close(descriptor)
    temporary = Path(name)
    try:
        yield temporary
        with temporary.open("rb") as handle:
            os.fsync(handle.fileno())
        temporary.chmod(mode)
        temporary.replace(target)
        _sync_directory(target.parent)
    except OSError as error:
        raise _cannot_write(target, error) from error
    finally:
        temporary.unlink(missing_ok=True)


def write_text(target: Path, text: str, mode: int = 0o644) -> None:
    """Write ``text`` as UTF-8, atomically."""
    with atomic_path(target, mode) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_with(target: Path, writer: Callable[[Path], None], mode: int = 0o644) -> None:
    """Let ``writer`` fill a temporary file, then put it in place atomically."""
    with atomic_path(target, mode) as temporary:
        writer(temporary)


def _cannot_write(target: Path, error: OSError) -> AfterDeleteError:
    return AfterDeleteError(
        f"cannot write {target}: {error.strerror or error}",
        "free space or fix permissions there, then run the same command again; nothing half-written was kept",
    )


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
