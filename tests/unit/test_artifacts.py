"""Artifacts are whole or absent, and every kind of damage is named."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from afterdelete.core import atomic
from afterdelete.core.artifacts import Upstream, logical_digest, read_artifact, write_artifact
from afterdelete.core.canonical import canonical_json, content_key
from afterdelete.core.errors import AfterDeleteError
from afterdelete.core.manifest import damage, manifest_path, read_manifest

RECIPE = {
    "key_version": 1,
    "stage": "worlds",
    "stage_version": 1,
    "parameters": {"world": "x"},
    "upstream": {},
}
KEY = content_key(RECIPE)
TABLE = pa.table({"a": [1, 2, 3], "b": ["x", "é", None]})


def _write(tmp_path: Path, recipe: dict = RECIPE, table: pa.Table = TABLE) -> Path:  # type: ignore[type-arg]
    data = tmp_path / f"worlds/x-{content_key(recipe)}/000000-000016.parquet"
    write_artifact(data, table, recipe=recipe, upstream=[], provenance={})
    return data


def test_round_trip_and_manifest(tmp_path: Path) -> None:
    data = _write(tmp_path)
    assert read_artifact(data, KEY).equals(TABLE)
    manifest = read_manifest(data)
    assert manifest["key"] == KEY
    assert manifest["rows"] == 3
    assert manifest["logical_digest"] == logical_digest(TABLE)
    assert sorted(p.name for p in data.parent.iterdir() if not p.name.startswith(".")) == [
        "000000-000016.json",
        "000000-000016.parquet",
    ]


def test_manifest_names_what_it_was_made_from(tmp_path: Path) -> None:
    upstream = _write(tmp_path)
    recipe = {**RECIPE, "stage": "deleted", "upstream": {"worlds": KEY}}
    data = tmp_path / "deleted.parquet"
    made_from = [Upstream("worlds", upstream)]
    write_artifact(data, TABLE, recipe=recipe, upstream=made_from, provenance={})
    assert read_manifest(data)["upstream"]["worlds"]["logical_digest"] == logical_digest(TABLE)


@given(st.permutations([0, 1, 2]))
def test_logical_digest_ignores_row_order_alone(order: list[int]) -> None:
    assert logical_digest(TABLE.take(order)) == logical_digest(TABLE)
    assert logical_digest(TABLE.slice(0, 2)) != logical_digest(TABLE)
    assert logical_digest(TABLE.rename_columns(["a", "c"])) != logical_digest(TABLE)


def test_logical_digest_survives_the_file(tmp_path: Path) -> None:
    kind = pa.list_(pa.struct([("x", pa.list_(pa.string())), ("y", pa.int32())]))
    table = pa.table({"a": pa.array([[{"x": ["p"], "y": 1}], [], None], kind)})
    data = _write(tmp_path, table=table)
    assert logical_digest(read_artifact(data)) == logical_digest(table)
    other = pa.list_(pa.struct([("x", pa.list_(pa.string())), ("y", pa.int64())]))
    assert logical_digest(pa.table({"a": table["a"].cast(other)})) != logical_digest(table)


def _truncate(data: Path) -> None:
    data.write_bytes(data.read_bytes()[:-10])


def _flip(data: Path) -> None:
    raw = bytearray(data.read_bytes())
    raw[len(raw) // 2] ^= 1
    data.write_bytes(bytes(raw))


def _flip_quietly(data: Path) -> None:
    times = data.stat()
    _flip(data)
    os.utime(data, ns=(times.st_atime_ns, times.st_mtime_ns))


def _lose_manifest(data: Path) -> None:
    manifest_path(data).unlink()


def _garble_manifest(data: Path) -> None:
    manifest_path(data).write_text("[1, 2")


def _other_recipe(data: Path) -> None:
    manifest = read_manifest(data)
    manifest["recipe"] = {**RECIPE, "parameters": {"world": "y"}}
    manifest_path(data).write_text(json.dumps(manifest))


@pytest.mark.parametrize(
    "harm", [_truncate, _flip, _flip_quietly, _lose_manifest, _garble_manifest, _other_recipe]
)
def test_a_reader_refuses_every_kind_of_damage_by_name(tmp_path: Path, harm) -> None:  # type: ignore[no-untyped-def]
    data = _write(tmp_path)
    harm(data)
    with pytest.raises(AfterDeleteError, match=r"000000-000016.*afterdelete repair"):
        read_artifact(data, KEY)
    if harm is not _flip_quietly:
        assert damage(data, KEY)


def test_another_key_is_refused(tmp_path: Path) -> None:
    data = _write(tmp_path)
    with pytest.raises(AfterDeleteError, match="of key"):
        read_artifact(data, "0" * 16)


def test_a_whole_artifact_is_never_overwritten_and_a_damaged_one_is(tmp_path: Path) -> None:
    data = _write(tmp_path)
    before = data.stat().st_mtime_ns
    _write(tmp_path, table=TABLE.slice(0, 1))
    assert read_artifact(data, KEY).num_rows == 3
    assert data.stat().st_mtime_ns == before
    _truncate(data)
    _write(tmp_path)
    assert read_artifact(data, KEY).equals(TABLE)


def test_a_full_disk_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(atomic.os, "fsync", full)
    target = tmp_path / "x.txt"
    with pytest.raises(AfterDeleteError, match=r"No space left on device.*free space"):
        atomic.write_text(target, "text")
    assert list(tmp_path.iterdir()) == []


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda c: st.lists(c) | st.dictionaries(st.text(), c),
    )
)
def test_canonical_json_is_json_and_ignores_key_order(value: object) -> None:
    text = canonical_json(value)
    assert json.loads(text) == value
    if isinstance(value, dict):
        assert canonical_json(dict(reversed(value.items()))) == text
