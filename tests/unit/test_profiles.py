"""The generator's promises: what a profile depends on, what is balanced, what never repeats."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from afterdelete.core.canonical import canonical_json, sha256_text
from afterdelete.core.errors import AfterDeleteError
from afterdelete.plan.versions import STAGES
from afterdelete.profiles import (
    DOMAINS,
    PROFILE_SCHEMA,
    SPLIT_SEEDS,
    SPLITS,
    STRUCTURES,
    capacity,
    generate,
    generate_chunks,
)
from afterdelete.profiles.build import target_space
from afterdelete.profiles.hashing import permute, stream_key
from afterdelete.profiles.inventory import load_inventories
from afterdelete.profiles.twins import LENGTH_PERCENT

GOLDEN = Path(__file__).parent / "golden" / "profiles.json"

splits = st.sampled_from(SPLITS)
seeds = st.integers(min_value=0, max_value=2**64 - 1)
starts = st.integers(min_value=0, max_value=100_000)
structures = st.sampled_from([None, *STRUCTURES])


def test_first_104_of_400_are_the_104() -> None:
    assert generate("iid", 0, 104).equals(generate("iid", 0, 400).slice(0, 104))


@settings(max_examples=40, deadline=None)
@given(
    split=splits, seed=seeds, start=starts, sizes=st.tuples(*[st.integers(0, 40)] * 3), structure=structures
)
def test_a_part_of_a_range_does_not_depend_on_the_range(
    split: str, seed: int, start: int, sizes: tuple[int, int, int], structure: str | None
) -> None:
    before, size, after = sizes
    whole = generate(split, start, start + before + size + after, seed=seed, structure=structure)
    part = generate(split, start + before, start + before + size, seed=seed, structure=structure)
    assert part.schema == PROFILE_SCHEMA
    assert part.to_pylist() == whole.slice(before, size).to_pylist()


@settings(max_examples=20, deadline=None)
@given(split=splits, start=starts, size=st.integers(0, 70), chunk=st.integers(1, 80))
def test_chunks_join_to_the_whole(split: str, start: int, size: int, chunk: int) -> None:
    tables = list(generate_chunks(split, start, start + size, chunk=chunk))
    assert all(0 < table.num_rows <= chunk for table in tables)
    joined = pa.concat_tables([PROFILE_SCHEMA.empty_table(), *tables])
    assert joined.to_pylist() == generate(split, start, start + size).to_pylist()


@settings(max_examples=40, deadline=None)
@given(split=splits, seed=seeds, block=st.integers(0, 5000))
def test_balance_of_eight_and_sixteen(split: str, seed: int, block: int) -> None:
    rows = generate(split, 16 * block, 16 * block + 16, seed=seed).to_pylist()
    assert len({(row["domain"], row["structure"]) for row in rows}) == 16
    for half in (rows[:8], rows[8:]):
        assert Counter(row["domain"] for row in half) == dict.fromkeys(DOMAINS, 2)
        assert Counter(row["structure"] for row in half) == dict.fromkeys(STRUCTURES, 2)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_override_changes_the_structure_alone(structure: str) -> None:
    plain, forced = generate("ood", 0, 64), generate("ood", 0, 64, structure=structure)
    assert set(forced["structure"].to_pylist()) == {structure}
    kept = ["profile_id", "index", "domain", "agent", "target", "region", "mnemonic", "number", "attribute"]
    assert forced.select(kept).equals(plain.select(kept))


def test_targets_never_collide_within_or_across_splits() -> None:
    count = 50_000
    seen: set[str] = set()
    for split in SPLITS:
        # One seed for all: the spaces are apart by construction, not by luck of the seeds.
        space = target_space(split, load_inventories().of(split))
        positions = permute(np.arange(count, dtype=np.int64), space.size, stream_key(7, split)).tolist()
        targets = [
            f"{region[0]}-{mnemonic[0]}-{number}" for region, mnemonic, number in map(space.at, positions)
        ]
        assert generate(split, count - 16, count, seed=7)["target"].to_pylist() == targets[-16:]
        seen.update(targets)
    assert len(seen) == count * len(SPLITS)


def test_ood_holds_out_its_words() -> None:
    shared, ood = generate("train", 0, 4000), generate("ood", 0, 4000)
    for name in ("region", "mnemonic", "attribute", "agent", "neutral_attribute"):
        assert not set(shared[name].to_pylist()) & set(ood[name].to_pylist()), name


@pytest.mark.parametrize("split", SPLITS)
def test_capacity_is_large_and_its_end_is_refused(split: str) -> None:
    size = capacity(split)
    assert size >= 1_000_000
    assert generate(split, size - 3, size).num_rows == 3
    with pytest.raises(AfterDeleteError, match=rf"split {split}.*holds {size}"):
        generate(split, size - 3, size + 1)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (("test", 0, 1), {}, "unknown split 'test'"),
        (("iid", 0, 1), {"structure": "nested"}, "unknown structure 'nested'"),
        (("iid", -1, 1), {}, "no such range"),
        (("iid", 2, 1), {}, "no such range"),
        (("iid", 0, 1), {"seed": -1}, "seed -1 is out of range"),
        (("iid", 0, 1), {"seed": 2**64}, "out of range"),
    ],
)
def test_bad_requests_are_refused(arguments: tuple[str, int, int], options: dict, message: str) -> None:
    with pytest.raises(AfterDeleteError, match=message):
        generate(*arguments, **options)


def test_chunks_refuse_before_the_first_table_is_asked_for() -> None:
    with pytest.raises(AfterDeleteError, match="chunk 0"):
        generate_chunks("iid", 0, 8, chunk=0)


def test_seed_and_split_matter_and_the_default_is_the_splits_own() -> None:
    assert generate("iid", 0, 8).equals(generate("iid", 0, 8, seed=SPLIT_SEEDS["iid"]))
    assert generate("iid", 0, 8)["target"] != generate("iid", 0, 8, seed=1)["target"]
    assert generate("iid", 0, 8, seed=1)["mnemonic"] != generate("dev", 0, 8, seed=1)["mnemonic"]


@settings(max_examples=30, deadline=None)
@given(split=splits, seed=seeds, start=starts, structure=structures)
def test_every_profile_keeps_its_form(split: str, seed: int, start: int, structure: str | None) -> None:
    """Independent of the generator's own checks: written from the definition of a profile."""
    for offset, row in enumerate(
        generate(split, start, start + 16, seed=seed, structure=structure).to_pylist()
    ):
        assert row["index"] == start + offset
        assert row["profile_id"] == f"{split}-{start + offset:06d}"
        assert row["target"] == f"{row['region']}-{row['mnemonic']}-{row['number']}"
        assert re.fullmatch(r"[A-Z]+-[A-Z]+-\d{4,}", row["target"])
        background, exposure, neutral = (
            {record["entry_id"]: record["text"] for record in row[name]}
            for name in ("background", "exposure", "neutral")
        )
        ids = [*background, *exposure]
        assert len(set(ids)) == len(ids)
        assert all(re.fullmatch(r"r-\d\d", entry_id) for entry_id in ids)
        assert max(ids) in background or min(exposure) < max(background)
        assert row["source_ids"] == list(exposure) == list(neutral)
        assert row["neighbour_ids"]
        assert set(row["neighbour_ids"]) <= set(background)
        hidden = re.compile(
            "|".join(
                rf"(?<![a-z0-9]){re.escape(row[name].lower())}(?![a-z0-9])" for name in ("region", "mnemonic")
            )
            + rf"|{row['number']}"
        )
        public = [
            row["agent"],
            row["attribute"],
            row["neutral_attribute"],
            *background.values(),
            *neutral.values(),
        ]
        assert not any(hidden.search(text.lower()) for text in public)
        for entry_id, text in exposure.items():
            assert abs(len(neutral[entry_id]) - len(text)) <= LENGTH_PERCENT / 100 * len(text)
            assert neutral[entry_id].count(".") == text.count(".")
        for text in (*background.values(), *exposure.values(), *neutral.values()):
            assert 8 <= len(text.split()) <= 18
            assert "{" not in text
            assert text[0].isupper()
        texts = list(exposure.values())
        if row["structure"] == "compositional":
            assert not any(row["target"] in text for text in texts)
            for text, part in zip(texts, ("region", "mnemonic", "number"), strict=True):
                assert row[part] in text
                assert part in text
        else:
            assert all(row["target"] in text for text in texts)
            assert len(texts) in ((2, 3) if row["structure"] == "duplicated" else (1,))
        clues = [entry_id for entry_id, text in background.items() if row["attribute"] in text]
        assert clues == (row["neighbour_ids"] if row["structure"] == "correlated" else [])
        assert 2 <= len(background) <= 3


def test_exposure_records_stand_everywhere() -> None:
    places = Counter(
        tuple(row) for row in generate("iid", 0, 800, structure="atomic")["source_ids"].to_pylist()
    )
    assert set(places) == {("r-01",), ("r-02",), ("r-03",)}


def test_golden_digest() -> None:
    golden = json.loads(GOLDEN.read_text())
    digests = {
        split: sha256_text("\n".join(canonical_json(row) for row in generate(split, 0, 32).to_pylist()))
        for split in ("iid", "ood")
    }
    assert {"stage_version": STAGES["profiles"], **digests} == golden, (
        "the first 32 profiles changed. If that is meant: raise the stage's version in "
        f"workflow/afterdelete/plan/versions.py and write {json.dumps(digests)} to {GOLDEN.name}"
    )
