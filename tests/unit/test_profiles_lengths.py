"""A twin exists for every exposure that the committed inventories can produce, not only for those sampled."""

from __future__ import annotations

import re
from itertools import combinations, product

import pytest

from afterdelete.profiles import DOMAINS
from afterdelete.profiles.inventory import load_inventories
from afterdelete.profiles.inventory_schema import Inventory
from afterdelete.profiles.twins import NeutralPool, sentences

Shape = tuple[int, int]  # sentences, characters
_FIELD = re.compile(r"\{(\w+)\}")


def _fields(inventory: Inventory, domain: str, attribute: str) -> dict[str, set[int]]:
    """Lengths that each placeholder can have."""

    def lengths(words: list[str]) -> set[int]:
        return {len(word) for word in words}

    regions, mnemonics = lengths(inventory.region_words()), lengths(inventory.mnemonic_words())
    return {
        "attribute": {len(attribute)},
        "region": regions,
        "mnemonic": mnemonics,
        "number": {4},
        "target": {region + mnemonic + 6 for region in regions for mnemonic in mnemonics},
        "team": lengths(inventory.entities.teams[domain]),
        "tool": lengths(inventory.entities.tools[domain]),
        "person": lengths(inventory.entities.people),
        "place": lengths(inventory.entities.places),
    }


def _shapes(template: str, fields: dict[str, set[int]]) -> set[Shape]:
    fixed = len(_FIELD.sub("", template))
    names = _FIELD.findall(template)
    count = sentences(_FIELD.sub("x", template))
    return {(count, fixed + sum(sizes)) for sizes in product(*(sorted(fields[name]) for name in names))}


def _union(templates: list[str], fields: dict[str, set[int]]) -> set[Shape]:
    return set().union(*(_shapes(template, fields) for template in templates))


def _text(shape: Shape) -> str:
    count, length = shape
    return "x. " * (count - 1) + "x" * (length - 3 * (count - 1) - 1) + "."


def _needed(inventory: Inventory) -> set[tuple[Shape, ...]]:
    """Every sorted tuple of shapes that the exposure records of one profile can have."""
    needed: set[tuple[Shape, ...]] = set()
    for domain in DOMAINS:
        for attribute in {len(name): name for name in inventory.attributes[domain]}.values():
            fields = _fields(inventory, domain, attribute)
            parts = inventory.component_templates
            lists = [_union(templates, fields) for templates in (parts.region, parts.mnemonic, parts.number)]
            needed.update(tuple(sorted(way)) for way in product(*lists))
            needed.update((shape,) for shape in _union(inventory.record_templates, fields))
            # Records of one profile share a target, so their lengths move together.
            for size in fields["target"]:
                fixed = {**fields, "target": {size}}
                first = _union(inventory.record_templates, fixed)
                again = [_shapes(template, fixed) for template in inventory.restatement_templates]
                for left, right in combinations(again, 2):
                    needed.update(tuple(sorted(way)) for way in product(first, left, right))
                needed.update(tuple(sorted(way)) for way in product(first, set().union(*again)))
    return needed


@pytest.mark.parametrize("split", ["iid", "ood"])
def test_every_possible_exposure_has_a_twin(split: str) -> None:
    inventory = load_inventories().of(split)
    pool = NeutralPool(inventory)
    without = [
        shapes
        for shapes in _needed(inventory)
        if pool.match([_text(s) for s in shapes], 0, [0, 0, 0]) is None
    ]
    assert not without, f"{len(without)} exposures have no twin, such as {sorted(without)[:3]}"
