"""Stage ``profiles``: the frozen generator of synthetic profiles, from committed inventories."""

from afterdelete.profiles.build import capacity, generate, generate_chunks
from afterdelete.profiles.inventory import inventory_digest
from afterdelete.profiles.schema import (
    DOMAINS,
    PROFILE_SCHEMA,
    SPLIT_SEEDS,
    SPLITS,
    STRUCTURES,
)

__all__ = [
    "DOMAINS",
    "PROFILE_SCHEMA",
    "SPLITS",
    "SPLIT_SEEDS",
    "STRUCTURES",
    "capacity",
    "generate",
    "generate_chunks",
    "inventory_digest",
]
