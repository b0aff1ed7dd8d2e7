"""Manifests: what makes a data file trustworthy. No parquet library needed, so planning can use it.

A manifest holds the key, the recipe that was hashed into it, what it was made from, the sha256 of the
bytes, a logical digest that survives another platform or parquet writer, and the provenance of the
worker. A data file without a matching manifest does not count as finished.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from afterdelete.core.canonical import content_key, sha256_file
from afterdelete.core.errors import AfterDeleteError

MANIFEST_VERSION = 1
REPAIR = "run `afterdelete repair`, then the same command again: only this artifact is made anew"


def manifest_path(data: Path) -> Path:
    """The manifest beside a data file: same name, suffix ``.json``."""
    return data.with_suffix(".json")


def read_manifest(data: Path) -> dict[str, Any]:
    """Parse the manifest beside ``data``; errors name it."""
    path = manifest_path(data)
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise AfterDeleteError(f"{path} is missing", REPAIR) from None
    except (OSError, ValueError) as error:
        raise AfterDeleteError(f"{path} is unreadable: {error}", REPAIR) from error
    if not isinstance(manifest, dict):
        raise AfterDeleteError(f"{path} is not a manifest", REPAIR)
    return manifest


def damage(data: Path, key: str | None = None) -> str | None:
    """What a look without reading the data finds wrong, or None. Cheap enough for planning.

    Finds: missing data or manifest, another recipe's manifest, another size, and bytes that were
    touched after the manifest was written (then the sha256 decides).
    """
    try:
        status = data.stat()
    except (FileNotFoundError, NotADirectoryError):
        return "the data file is missing"
    except OSError as error:
        return f"the data file cannot be read: {error.strerror}"
    try:
        manifest = read_manifest(data)
    except AfterDeleteError as error:
        return error.problem
    if malformed := malformation(manifest):
        return malformed
    if key is not None and manifest.get("key") != key:
        return f"its manifest is of key {manifest.get('key')}, expected {key}"
    if content_key(manifest["recipe"]) != manifest["key"]:
        return "its manifest's recipe does not give its key"
    if manifest["shard"] != data.stem:
        return f"its manifest is of shard {manifest['shard']}"
    if status.st_size != manifest.get("bytes"):
        return f"{status.st_size} bytes, its manifest says {manifest.get('bytes')}"
    if status.st_mtime_ns > manifest_path(data).stat().st_mtime_ns:
        return digest_mismatch(data)
    return None


def malformation(manifest: dict[str, Any]) -> str | None:
    """What a manifest lacks or cannot mean, or None: fields, their types, and a recipe that has a key."""
    if absent := sorted(_FIELDS.keys() - manifest.keys()):
        return f"its manifest lacks {', '.join(absent)}"
    for name, kind in _FIELDS.items():
        if not isinstance(manifest[name], kind):
            return f"its manifest's {name} is not of its type"
    if not all(isinstance(each, dict) for each in manifest["upstream"].values()):
        return "its manifest's upstream is not of its type"
    try:
        content_key(manifest["recipe"])
    except ValueError:
        return "its manifest's recipe cannot be hashed"
    return None


_FIELDS: dict[str, type] = {
    "key": str,
    "shard": str,
    "recipe": dict,
    "upstream": dict,
    "bytes": int,
    "sha256": str,
    "logical_digest": str,
    "rows": int,
    "provenance": dict,
}


def digest_mismatch(data: Path) -> str | None:
    """Compare the sha256 of the bytes with the manifest; None when they agree."""
    expected = read_manifest(data).get("sha256")
    got = sha256_file(data)
    return None if got == expected else f"sha256 is {got[:16]}.., its manifest says {str(expected)[:16]}.."
