"""Inventories: the committed lists that profiles are made of, validated before anything is drawn.

``shared.yaml`` serves train, dev and iid; ``ood.yaml`` holds out every list of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from pydantic import ValidationError

from afterdelete.core.canonical import canonical_json, sha256_text
from afterdelete.core.errors import AfterDeleteError
from afterdelete.core.yamlfile import load_yaml
from afterdelete.profiles.inventory_checks import check_disjoint, check_inventory
from afterdelete.profiles.inventory_schema import Inventory
from afterdelete.profiles.schema import SPLITS


@dataclass(frozen=True)
class Inventories:
    """Both families; what was read is known to be consistent."""

    shared: Inventory
    ood: Inventory

    def of(self, split: str) -> Inventory:
        """The family a split reads. Raises AfterDeleteError for an unknown split."""
        if split not in SPLITS:
            raise AfterDeleteError(f"unknown split {split!r}", f"use one of: {', '.join(SPLITS)}")
        return self.ood if split == "ood" else self.shared


def default_dir() -> Path:
    """``data/inventories`` of the repository that this file stands in."""
    return Path(__file__).resolve().parents[3] / "data" / "inventories"


def load_inventories(data_dir: Path | None = None) -> Inventories:
    """Read, validate and cross-check both families.

    Raises AfterDeleteError naming the file and the key of the first fault.
    """
    folder = data_dir or default_dir()
    paths = [folder / "shared.yaml", folder / "ood.yaml"]
    # The stamp lets a long-lived process see an edited file without parsing YAML for every shard.
    return _load(*[(path, _stamp(path)) for path in paths])


@lru_cache(maxsize=4)
def _load(shared: tuple[Path, tuple[int, int]], ood: tuple[Path, tuple[int, int]]) -> Inventories:
    loaded = [read_inventory(shared[0]), read_inventory(ood[0])]
    for (path, _), inventory in zip((shared, ood), loaded, strict=True):
        check_inventory(inventory, str(path))
    check_disjoint(loaded[0], loaded[1], str(ood[0]))
    return Inventories(*loaded)


def read_inventory(path: Path) -> Inventory:
    """One file as a model. Raises AfterDeleteError naming the file and the key."""
    try:
        return Inventory.model_validate(load_yaml(path))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the whole file"
        raise AfterDeleteError(f"{path}: {where}: {first['msg']}", "mend that key") from None


def inventory_digest(split: str, data_dir: Path | None = None) -> str:
    """Sha256 of the canonical JSON of the inventory that ``split`` reads, for the stage key.

    Comments and layout of the file do not count; a changed, added or moved entry does.
    """
    inventory = load_inventories(data_dir).of(split)
    return sha256_text(
        canonical_json([[name, _ordered(value)] for name, value in inventory.model_dump().items()])
    )


def _ordered(value: object) -> object:
    """Mappings as lists of pairs: the order of kinds decides which index means which word."""
    if isinstance(value, dict):
        return [[name, _ordered(item)] for name, item in value.items()]
    return value


def _stamp(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError:
        return (0, 0)
    return (status.st_mtime_ns, status.st_size)
