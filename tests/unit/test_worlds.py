"""Worlds made from generated profiles: same ids, same order, same count; only the exposure differs."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from afterdelete.core.errors import AfterDeleteError
from afterdelete.lifecycle.certificate import certify, kind_of, require
from afterdelete.memory.consolidate import MEMORIES, consolidate
from afterdelete.memory.delete import DELETIONS, delete
from afterdelete.memory.state import State, from_table
from afterdelete.memory.worlds import WORLDS, build
from afterdelete.profiles import generate


def _worlds(split: str, start: int, stop: int) -> tuple[list[dict], dict[str, list[State]]]:  # type: ignore[type-arg]
    profiles = generate(split, start, stop)
    return profiles.to_pylist(), {world: from_table(build(profiles, world)) for world in WORLDS}


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(["train", "dev", "iid", "ood"]), st.integers(0, 5000))
def test_worlds_differ_in_the_exposure_text_alone(split: str, start: int) -> None:
    rows, worlds = _worlds(split, start, start + 16)
    assert worlds["retained"] == worlds["forget"]
    for row, forget, clean in zip(rows, worlds["forget"], worlds["clean"], strict=True):
        ids = [record.entry_id for record in forget.records]
        assert ids == sorted(ids) == [record.entry_id for record in clean.records]
        exposure = {item["entry_id"] for item in row["exposure"]}
        for one, other in zip(forget.records, clean.records, strict=True):
            assert (one == other) == (one.entry_id not in exposure)
        assert row["target"] not in " ".join(clean.entry_texts())


@settings(max_examples=10, deadline=None)
@given(st.sampled_from(["iid", "ood"]), st.integers(0, 5000))
def test_every_condition_of_every_profile_is_certified(split: str, start: int) -> None:
    rows, worlds = _worlds(split, start, start + 16)
    exposures = {row["profile_id"]: {item["entry_id"] for item in row["exposure"]} for row in rows}
    for memory in MEMORIES:
        for deletion in DELETIONS:
            forget, clean = (
                [delete(consolidate(state, memory), deletion) for state in worlds[world]]
                for world in ("forget", "clean")
            )
            require(certify(forget, clean, exposures, kind_of(memory, deletion)), f"{memory} {deletion}")


def test_a_target_survives_exact_deletion_in_the_summary_alone() -> None:
    rows, worlds = _worlds("iid", 0, 16)
    for row, state in zip(rows, worlds["forget"], strict=True):
        after = delete(consolidate(state, "hierarchical"), "exact")
        assert not any(row["target"] in record.text for record in after.records)
        whole = row["structure"] != "compositional"
        assert any(row["target"] in summary.text for summary in after.summaries) == whole


def test_an_unknown_world_is_named() -> None:
    with pytest.raises(AfterDeleteError, match="use one of: forget, clean, retained"):
        build(generate("iid", 0, 8), "dream")
