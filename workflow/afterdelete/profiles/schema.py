"""Names and columns of the stage ``profiles``."""

from __future__ import annotations

from typing import Literal, get_args

import pyarrow as pa

# Raise it whenever the same inputs give other rows: it is part of the stage key.

Split = Literal["train", "dev", "iid", "ood"]
Domain = Literal["data_engineering", "game_development", "robotics", "software_release"]
Structure = Literal["atomic", "duplicated", "correlated", "compositional"]

SPLITS: tuple[str, ...] = get_args(Split)
DOMAINS: tuple[Domain, ...] = get_args(Domain)
STRUCTURES: tuple[str, ...] = get_args(Structure)

# The generator seeds that the paper publishes.
SPLIT_SEEDS: dict[str, int] = {"train": 20260828, "dev": 20260829, "iid": 20260830, "ood": 20260831}

COMPONENTS = ("region", "mnemonic", "number")

RECORD_TYPE = pa.struct([("entry_id", pa.string()), ("text", pa.string())])

# One row a profile. Evaluator-side as a whole: only agent, domain, attribute and record texts may reach a
# model, and those only through a world. `index` is the profile's number within its split, from 0.
PROFILE_SCHEMA = pa.schema(
    [
        ("profile_id", pa.string()),
        ("split", pa.string()),
        ("index", pa.int64()),
        ("domain", pa.string()),
        ("structure", pa.string()),
        ("agent", pa.string()),
        ("target", pa.string()),
        ("region", pa.string()),
        ("mnemonic", pa.string()),
        ("number", pa.string()),
        ("attribute", pa.string()),
        ("background", pa.list_(RECORD_TYPE)),
        ("exposure", pa.list_(RECORD_TYPE)),
        ("neutral", pa.list_(RECORD_TYPE)),
        ("source_ids", pa.list_(pa.string())),
        ("neighbour_ids", pa.list_(pa.string())),
        ("neutral_attribute", pa.string()),
    ]
)


def profile_id(split: str, index: int) -> str:
    """The name of one profile, such as ``iid-000017``; wider numbers stay whole."""
    return f"{split}-{index:06d}"
