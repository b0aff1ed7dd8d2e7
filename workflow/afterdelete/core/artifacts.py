"""Artifacts: one parquet file and the manifest that makes it trustworthy.

A manifest holds the key, the recipe that was hashed into it, what it was made from, the sha256 of the
bytes, a logical digest that survives another platform or parquet writer, and the provenance of the
worker. A data file without a matching manifest does not count as finished.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from afterdelete.core.atomic import write_text, write_with
from afterdelete.core.canonical import canonical_json, content_key, sha256_file
from afterdelete.core.errors import AfterDeleteError

MANIFEST_VERSION = 1
REPAIR = "run `afterdelete repair`, then the same command again: only this artifact is made anew"


def manifest_path(data: Path) -> Path:
    """The manifest beside a data file: same name, suffix ``.json``."""
    return data.with_suffix(".json")


def logical_digest(table: pa.Table) -> str:
    """Sha256 over column names, types and the sorted canonical JSON of every row.

    Independent of row order, compression, writer version and platform.
    """
    digest = hashlib.sha256()
    digest.update(canonical_json([[field.name, str(field.type)] for field in table.schema]).encode())
    for line in sorted(canonical_json(row) for row in table.to_pylist()):
        digest.update(b"\n")
        digest.update(line.encode())
    return digest.hexdigest()


@dataclass(frozen=True)
class Upstream:
    """One input of an artifact: the role it plays, and its data file."""

    role: str
    path: Path


def write_artifact(
    data: Path,
    table: pa.Table,
    *,
    recipe: dict[str, Any],
    shard: str,
    upstream: list[Upstream],
    provenance: dict[str, Any],
) -> dict[str, Any]:
    """Write ``table`` to ``data`` and its manifest beside it; return the manifest.

    If a whole artifact of the same key stands there already (another writer was faster) it is kept and
    this one is dropped: the earlier one may already have readers.
    """
    with _writing(data):
        if damage(data, content_key(recipe)) is None and not digest_mismatch(data):
            return read_manifest(data)
        write_with(data, lambda temporary: pq.write_table(table, temporary, compression="zstd"))
        manifest = {
            "manifest_version": MANIFEST_VERSION,
            "key": content_key(recipe),
            "shard": shard,
            "recipe": recipe,
            "upstream": {item.role: _fingerprint(item.path) for item in upstream},
            "bytes": data.stat().st_size,
            "sha256": sha256_file(data),
            "logical_digest": logical_digest(table),
            "rows": table.num_rows,
            "provenance": provenance,
        }
        write_text(manifest_path(data), json.dumps(manifest, indent=1, ensure_ascii=False) + "\n")
    return manifest


def read_manifest(data: Path) -> dict[str, Any]:
    """Parse the manifest beside ``data``; errors name it."""
    path = manifest_path(data)
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise AfterDeleteError(f"{path} is missing", REPAIR) from None
    except (OSError, ValueError) as error:
        raise AfterDeleteError(f"{path} is unreadable: {error}", REPAIR) from error
    if not isinstance(manifest, dict):
        raise AfterDeleteError(f"{path} is not a manifest", REPAIR)
    return manifest


def read_artifact(data: Path, key: str | None = None) -> pa.Table:
    """Read a parquet artifact after checking its bytes against its manifest (and its key, if given).

    Raises AfterDeleteError naming the file and the first thing that differs.
    """
    problem = damage(data, key) or digest_mismatch(data)
    if problem:
        raise AfterDeleteError(f"{data}: {problem}", REPAIR)
    try:
        # One thread: these are small files, and worker threads would only compete with a running model.
        return pq.read_table(data, use_threads=False)
    except (OSError, pa.ArrowException) as error:
        raise AfterDeleteError(f"{data}: not a readable parquet file: {error}", REPAIR) from error


def damage(data: Path, key: str | None = None) -> str | None:
    """What a look without reading the data finds wrong, or None. Cheap enough for planning.

    Finds: missing data or manifest, another recipe's manifest, another size, and bytes that were
    touched after the manifest was written (then the sha256 decides).
    """
    try:
        status = data.stat()
    except FileNotFoundError:
        return "the data file is missing"
    try:
        manifest = read_manifest(data)
    except AfterDeleteError as error:
        return error.problem
    if key is not None and manifest.get("key") != key:
        return f"its manifest is of key {manifest.get('key')}, expected {key}"
    if not isinstance(manifest.get("recipe"), dict) or content_key(manifest["recipe"]) != manifest.get("key"):
        return "its manifest's recipe does not give its key"
    if status.st_size != manifest.get("bytes"):
        return f"{status.st_size} bytes, its manifest says {manifest.get('bytes')}"
    if status.st_mtime_ns > manifest_path(data).stat().st_mtime_ns:
        return digest_mismatch(data)
    return None


def digest_mismatch(data: Path) -> str | None:
    """Compare the sha256 of the bytes with the manifest; None when they agree."""
    expected = read_manifest(data).get("sha256")
    got = sha256_file(data)
    return None if got == expected else f"sha256 is {got[:16]}.., its manifest says {str(expected)[:16]}.."


def _fingerprint(data: Path) -> dict[str, str]:
    manifest = read_manifest(data)
    return {name: manifest[name] for name in ("key", "shard", "sha256", "logical_digest")}


@contextmanager
def _writing(data: Path) -> Iterator[None]:
    """Hold an advisory lock for one artifact, so two writers of it take turns."""
    try:
        data.parent.mkdir(parents=True, exist_ok=True)
        lock = (data.parent / f".{data.name}.lock").open("w")
    except OSError as error:
        raise AfterDeleteError(
            f"cannot write {data}: {error.strerror or error}", "free space or fix permissions there"
        ) from error
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
