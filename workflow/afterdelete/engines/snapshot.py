"""Whole repositories of many safetensors files, pinned by one full commit id.

The hub's tree listing at a commit gives a sha256 for every large file and a git blob id for every small
one; both are checked. What was checked is written to ``snapshot.json``, so that a copy of the folder can be
verified where there is no network. Weights in pickle form and code are never fetched.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import quote

from afterdelete.config.model_spec import ModelSpec
from afterdelete.core.atomic import write_text
from afterdelete.core.canonical import canonical_json, sha256_file
from afterdelete.core.errors import AfterDeleteError
from afterdelete.engines.fetch import (
    Log,
    SourceUnavailable,
    accept_existing,
    download,
    hub_get,
    hub_url,
    store,
)

LOCK = "snapshot.json"
_SUFFIXES = (".safetensors", ".json", ".jinja", ".txt", ".model")


def wanted(path: str) -> bool:
    """Weights, configuration and tokenizer at the top of the repository: no pickles, no code, no copies.

    ``consolidated*.safetensors`` hold the same weights once more, for another program.
    """
    pure = PurePosixPath(path)
    return len(pure.parts) == 1 and pure.suffix in _SUFFIXES and not pure.name.startswith("consolidated")


def fetch_snapshot(spec: ModelSpec, destination: Path, log: Log) -> dict[str, Path]:
    """Fetch, check and record the repository's files; with a matching ``snapshot.json``, only check."""
    if (destination / LOCK).exists():
        log(f"{spec.name}: checking the files of {LOCK}")
        return locate_snapshot(spec, destination)
    try:
        listing = _listing(spec)
        recorded = {}
        for entry in listing:
            target = destination / entry["path"]
            log(f"{spec.name}: {entry['path']}, {entry['size']} bytes")
            recorded[entry["path"]] = {"bytes": entry["size"], "sha256": _fetch_entry(spec, entry, target)}
    except SourceUnavailable as error:
        raise AfterDeleteError(
            f"cannot fetch {spec.repo} at {spec.revision}: {error}",
            f"fetch where there is network, then copy the whole folder, with its {LOCK}, to {destination}",
        ) from error
    content = {"repo": spec.repo, "revision": spec.revision, "files": recorded}
    write_text(destination / LOCK, canonical_json(content) + "\n")
    return locate_snapshot(spec, destination)


def locate_snapshot(spec: ModelSpec, folder: Path) -> dict[str, Path]:
    """Check a folder against its ``snapshot.json``, and that against the YAML; paths by file name."""
    lock = folder / LOCK
    try:
        content = json.loads(lock.read_text(encoding="utf-8"))
        found = (content["repo"], content["revision"])
        expected = {str(name): str(entry["sha256"]) for name, entry in content["files"].items()}
    except FileNotFoundError:
        raise AfterDeleteError(f"{spec.name}: {lock} is not there", "fetch the model first") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise AfterDeleteError(f"{lock} is not readable", "delete it and fetch again") from error
    if found != (spec.repo, spec.revision):
        raise AfterDeleteError(
            f"{lock} is of {found[0]} at {found[1]}, the model's YAML says {spec.repo} at {spec.revision}",
            "fetch into an empty folder, or correct the YAML",
        )
    for file in spec.files:  # optional in the YAML, and stronger than the lock where given
        if expected.get(file.name) != file.sha256:
            raise AfterDeleteError(
                f"{lock} gives {file.name} sha256 {expected.get(file.name)}, "
                f"the model's YAML says {file.sha256}",
                "fetch into an empty folder, or correct the YAML",
            )
    for name, sha256 in expected.items():
        if not wanted(name):
            raise AfterDeleteError(
                f"{lock} names {name}, which no snapshot holds", "fetch into an empty folder"
            )
        accept_existing(folder / name, sha256)
    return {name: folder / name for name in sorted(expected)}


def _listing(spec: ModelSpec) -> list[dict[str, Any]]:
    response = hub_get(hub_url(f"api/models/{spec.repo}/tree/{spec.revision}"), stream=False)
    try:
        entries = [entry for entry in response.json() if entry["type"] == "file" and wanted(entry["path"])]
    except (ValueError, KeyError, TypeError) as error:
        raise SourceUnavailable("the file listing is not what the hub usually sends") from error
    if not any(entry["path"].endswith(".safetensors") for entry in entries):
        raise AfterDeleteError(
            f"{spec.repo} has no safetensors weights at {spec.revision}", "choose a revision that has"
        )
    return sorted(entries, key=lambda entry: str(entry["path"]))


def _fetch_entry(spec: ModelSpec, entry: dict[str, Any], target: Path) -> str:
    """Bring one listed file in place; returns its sha256."""
    lfs = entry.get("lfs")
    if lfs and target.exists():
        accept_existing(target, lfs["oid"])
        return str(lfs["oid"])
    blocks = download(hub_url(f"{spec.repo}/resolve/{spec.revision}/{quote(entry['path'])}"))
    if lfs:
        store(blocks, target, lfs["size"], lfs["oid"], str(spec.repo))
        return str(lfs["oid"])
    data = b"".join(blocks)
    # Small files are plain git objects: their id is a sha1 over a header and the content.
    blob = hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
    if blob != entry["oid"]:
        raise AfterDeleteError(
            f"{entry['path']} from {spec.repo}: expected git blob {entry['oid']}, got {blob}",
            "nothing was kept; try again",
        )
    store([data], target, len(data), hashlib.sha256(data).hexdigest(), str(spec.repo))
    return sha256_file(target)
