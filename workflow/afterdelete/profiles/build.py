"""Generate profiles: any range of any split, the same rows however it is cut."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from afterdelete.core.errors import AfterDeleteError
from afterdelete.profiles.assign import assign
from afterdelete.profiles.checks import check_all
from afterdelete.profiles.compose import PURPOSES, Facts, Texts, compose
from afterdelete.profiles.hashing import draw, permute, stream_key
from afterdelete.profiles.inventory import load_inventories
from afterdelete.profiles.inventory_schema import Inventory
from afterdelete.profiles.schema import (
    DOMAINS,
    PROFILE_SCHEMA,
    RECORD_TYPE,
    SPLIT_SEEDS,
    STRUCTURES,
    profile_id,
)
from afterdelete.profiles.twins import NeutralPool

CHUNK = 8192
# Numbers have four digits. Splits that share regions and mnemonics partition them by residue modulo 3,
# so their targets stay apart whatever their seeds are.
FIRST_NUMBER, END_NUMBER = 1000, 10_000
_RESIDUES = {"train": (0, 3), "dev": (1, 3), "iid": (2, 3), "ood": (0, 1)}


@dataclass(frozen=True)
class TargetSpace:
    """All targets of one split: regions x mnemonics x numbers, in that order of significance."""

    regions: list[tuple[str, str]]  # (word, kind)
    mnemonics: list[tuple[str, str]]
    numbers: range

    @property
    def size(self) -> int:
        """How many targets there are."""
        return len(self.regions) * len(self.mnemonics) * len(self.numbers)

    def at(self, position: int) -> tuple[tuple[str, str], tuple[str, str], str]:
        """Region and mnemonic with their kinds, and the number, at 0 <= position < size."""
        rest, number = divmod(position, len(self.numbers))
        region, mnemonic = divmod(rest, len(self.mnemonics))
        return self.regions[region], self.mnemonics[mnemonic], str(self.numbers[number])


def target_space(split: str, inventory: Inventory) -> TargetSpace:
    """The targets that ``split`` may use."""
    residue, modulus = _RESIDUES[split]
    first = FIRST_NUMBER + (residue - FIRST_NUMBER) % modulus
    return TargetSpace(
        [(word, kind) for kind, words in inventory.regions.items() for word in words],
        [(word, kind) for kind, words in inventory.mnemonics.items() for word in words],
        range(first, END_NUMBER, modulus),
    )


def capacity(split: str, data_dir: Path | None = None) -> int:
    """How many profiles ``split`` can have: the size of its target space."""
    return target_space(split, load_inventories(data_dir).of(split)).size


def generate(
    split: str,
    start: int,
    stop: int,
    *,
    seed: int | None = None,
    structure: str | None = None,
    data_dir: Path | None = None,
) -> pa.Table:
    """Profiles start..stop-1 of ``split``: a table of PROFILE_SCHEMA with stop - start rows, by index.

    Row i is a function of (seed, split, i, structure) and the inventory. ``seed``: 0 <= seed < 2**64,
    the split's own of SPLIT_SEEDS if None. ``structure`` gives all profiles that structure and leaves
    their targets, domains and attributes as they are. ``data_dir``: other inventories.

    Raises AfterDeleteError for an unknown split or structure, a bad range or seed, a range past the
    split's capacity, faulty inventories, and every refusal of ``checks``.
    """
    tables = list(
        generate_chunks(split, start, stop, seed=seed, structure=structure, data_dir=data_dir),
    )
    return pa.concat_tables(tables).combine_chunks() if tables else PROFILE_SCHEMA.empty_table()


def generate_chunks(
    split: str,
    start: int,
    stop: int,
    *,
    seed: int | None = None,
    structure: str | None = None,
    data_dir: Path | None = None,
    chunk: int = CHUNK,
) -> Iterator[pa.Table]:
    """The rows of ``generate`` as tables of at most ``chunk`` rows, made one at a time.

    Arguments are checked at once, not when the first table is asked for. Raises as ``generate`` does.
    """
    inventory = load_inventories(data_dir).of(split)
    space = target_space(split, inventory)
    if seed is None:
        seed = SPLIT_SEEDS[split]
    _check_request(split, start, stop, seed, structure, chunk, space.size)
    maker = _Maker(split, stream_key(seed, split), structure, inventory, space, NeutralPool(inventory))
    return (maker.table(first, min(first + chunk, stop)) for first in range(start, stop, chunk))


def _check_request(
    split: str, start: int, stop: int, seed: int, structure: str | None, chunk: int, size: int
) -> None:
    if structure is not None and structure not in STRUCTURES:
        raise AfterDeleteError(f"unknown structure {structure!r}", f"use one of: {', '.join(STRUCTURES)}")
    if not 0 <= seed < 2**64:
        raise AfterDeleteError(f"seed {seed} is out of range", "use 0 <= seed < 2**64")
    if not 0 <= start <= stop:
        raise AfterDeleteError(f"{split}: no such range {start}..{stop}", "use 0 <= start <= stop")
    if chunk < 1:
        raise AfterDeleteError(f"chunk {chunk} is too small", "use at least one profile a chunk")
    if stop > size:
        raise AfterDeleteError(
            f"split {split}: profile {stop - 1} was asked for, its target space holds {size}",
            f"stay at or below {size} profiles, or add regions or mnemonics to its inventory",
        )


@dataclass(frozen=True)
class _Maker:
    split: str
    key: np.uint64
    structure: str | None
    inventory: Inventory
    space: TargetSpace
    pool: NeutralPool

    def table(self, start: int, stop: int) -> pa.Table:
        """One checked table; numbers are drawn for all its rows at once, texts are written row by row."""
        indices = np.arange(start, stop, dtype=np.int64)
        positions = permute(indices, self.space.size, self.key).tolist()
        domains, structures = (codes.tolist() for codes in assign(self.key, start, stop))
        draws = {purpose: draw(self.key, purpose, indices).tolist() for purpose in PURPOSES}
        facts, texts = [], []
        for row, index in enumerate(range(start, stop)):
            (region, region_kind), (mnemonic, mnemonic_kind), number = self.space.at(positions[row])
            facts.append(
                Facts(
                    profile_id=profile_id(self.split, index),
                    domain=DOMAINS[domains[row]],
                    structure=self.structure or STRUCTURES[structures[row]],
                    region=region,
                    region_kind=region_kind,
                    mnemonic=mnemonic,
                    mnemonic_kind=mnemonic_kind,
                    number=number,
                )
            )
            texts.append(compose(facts[-1], self.inventory, self.pool, partial(_drawn, draws, row)))
        table = _to_table(self.split, start, facts, texts)
        check_all(table)
        return table


def _drawn(draws: dict[str, list[int]], row: int, purpose: str) -> int:
    return draws[purpose][row]


def _to_table(split: str, start: int, facts: list[Facts], texts: list[Texts]) -> pa.Table:
    columns: dict[str, Any] = {
        "split": [split] * len(facts),
        "index": np.arange(start, start + len(facts), dtype=np.int64),
    }
    for name in PROFILE_SCHEMA.names:
        if name in ("background", "exposure", "neutral"):
            columns[name] = _record_lists([getattr(item, name) for item in texts])
        elif name not in columns:
            rows = facts if hasattr(facts[0], name) else texts
            columns[name] = [getattr(item, name) for item in rows]
    return pa.table(columns, schema=PROFILE_SCHEMA)


def _record_lists(rows: list[list[tuple[str, str]]]) -> pa.ListArray:
    """Lists of records from flat columns: much cheaper than one dictionary a record."""
    offsets = np.concatenate([[0], np.cumsum([len(records) for records in rows])]).astype(np.int32)
    ids = pa.array([entry_id for records in rows for entry_id, _ in records], pa.string())
    bodies = pa.array([text for records in rows for _, text in records], pa.string())
    return pa.ListArray.from_arrays(
        offsets, pa.StructArray.from_arrays([ids, bodies], fields=list(RECORD_TYPE))
    )
