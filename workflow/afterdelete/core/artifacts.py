"""Artifacts: one parquet file and the manifest that makes it trustworthy (see manifest.py)."""

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
from afterdelete.core.manifest import (
    MANIFEST_VERSION,
    REPAIR,
    damage,
    digest_mismatch,
    manifest_path,
    read_manifest,
)


def logical_digest(table: pa.Table) -> str:
    """Sha256 over column names, types and the sorted canonical JSON of every row.

    Independent of row order, compression, writer version and platform.
    """
    digest = hashlib.sha256()
    digest.update(canonical_json(_described(pa.struct(list(table.schema)))).encode())
    for line in sorted(canonical_json(row) for row in table.to_pylist()):
        digest.update(b"\n")
        digest.update(line.encode())
    return digest.hexdigest()


def _described(kind: pa.DataType) -> Any:
    """A type as plain data. A list's inner field has no name here: writers of parquet rename it."""
    if pa.types.is_struct(kind):
        return [[kind.field(at).name, _described(kind.field(at).type)] for at in range(kind.num_fields)]
    if pa.types.is_list(kind):
        return {"list": _described(kind.value_type)}
    return str(kind)


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
    upstream: list[Upstream],
    provenance: dict[str, Any],
) -> dict[str, Any]:
    """Write ``table`` to ``data`` (named as its shard) and its manifest beside it; return the manifest.

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
            "shard": data.stem,
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
