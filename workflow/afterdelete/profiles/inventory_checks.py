"""What an inventory must keep, beyond its types: placeholders, no stray components, held-out lists."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator

from afterdelete.core.errors import AfterDeleteError
from afterdelete.profiles.inventory_schema import Inventory
from afterdelete.profiles.schema import COMPONENTS

_ENTITIES = frozenset({"team", "tool", "person", "place"})
_WORD = re.compile(r"[A-Za-z]+")
# "even" and "odd" are the only words for what they mean, so both families may have them.
_SHARED_KEYS = ("number_kinds",)

Entry = tuple[str, str]


def entries(inventory: Inventory) -> Iterator[Entry]:
    """Every text of an inventory with its dotted key; keys of kinds and neutral attributes included."""
    yield from _walk("", inventory.model_dump())


def check_inventory(inventory: Inventory, name: str) -> None:
    """Placeholders are right, no list repeats itself, and no text holds a component word.

    ``name`` is the file, for the message. Raises AfterDeleteError naming the file and the key.
    """
    _check_repeats(inventory, name)
    _check_placeholders(inventory, name)
    components = {word.casefold() for word in inventory.region_words() + inventory.mnemonic_words()}
    for key, text in entries(inventory):
        if _group(key) in ("regions", "mnemonics") and text.isupper():
            continue
        stray = sorted(components.intersection(_WORD.findall(text.casefold())))
        if stray:
            raise AfterDeleteError(
                f"{name}: {key}: an entry holds {stray[0]!r}, a region or mnemonic word",
                "choose another word there",
            )


def check_disjoint(shared: Inventory, ood: Inventory, name: str) -> None:
    """No entry of an ood list stands in the shared list of the same group; components differ altogether.

    Held out: attributes, regions, mnemonics, all templates, clue frames, entities, agents and the neutral
    material. Comparison ignores case. Raises AfterDeleteError naming the file ``name`` and the key.
    """
    for word in shared.region_words() + shared.mnemonic_words():
        if word in ood.region_words() + ood.mnemonic_words():
            raise AfterDeleteError(
                f"{name}: component {word!r} is also a shared one", "hold it out of one list"
            )
    known: dict[str, set[str]] = {}
    for key, text in entries(shared):
        known.setdefault(_group(key), set()).add(text.casefold())
    for key, text in entries(ood):
        group = _group(key)
        # Names of kinds (Europe, bird) are not components; the words under them were compared above.
        if group in ("regions", "mnemonics", *_SHARED_KEYS):
            continue
        if text.casefold() in known.get(group, set()):
            raise AfterDeleteError(
                f"{name}: {key}: {text!r} is also in the shared inventory", "hold it out of one"
            )


def _check_placeholders(inventory: Inventory, name: str) -> None:
    rules: dict[str, tuple[set[str], frozenset[str]]] = {
        "record_templates": ({"attribute", "target"}, _ENTITIES),
        "restatement_templates": ({"attribute", "target"}, _ENTITIES),
        "background_templates": (set(), _ENTITIES),
        "neutral_templates": ({"neutral_attribute", "value"}, frozenset()),
    }
    for part in COMPONENTS:
        rules[f"component_templates.{part}"] = ({"attribute", part}, _ENTITIES)
        rules[f"clue_frames.{part}"] = ({"attribute", f"{part}_kind"}, _ENTITIES)
    for key, text in entries(inventory):
        parts = key.split(".")
        needed, allowed = rules.get(".".join(parts[:2])) or rules.get(parts[0]) or (set(), frozenset())
        try:
            found = _placeholders(text)
        except ValueError as error:
            raise AfterDeleteError(f"{name}: {key}: {error}", "mend the braces") from None
        missing, unknown = needed.difference(found), set(found).difference(needed, allowed)
        if missing or unknown or len(found) != len(set(found)):
            raise AfterDeleteError(
                f"{name}: {key}: placeholders are {sorted(found)}",
                f"use each once: needed {sorted(needed)}, allowed {sorted(allowed)}",
            )


def _placeholders(text: str) -> list[str]:
    found = []
    for _, field, spec, conversion in string.Formatter().parse(text):
        if field is None:
            continue
        if spec or conversion or not field.isidentifier():
            raise ValueError("a placeholder is a plain name in braces")
        found.append(field)
    return found


def _check_repeats(inventory: Inventory, name: str) -> None:
    seen: dict[str, str] = {}
    for key, text in entries(inventory):
        group = "component words" if text.isupper() else _group(key)
        mark = f"{group}\n{text.casefold()}"
        if mark in seen:
            raise AfterDeleteError(
                f"{name}: {key}: {text!r} stands twice (also under {seen[mark]})", "remove one"
            )
        seen[mark] = key


def _group(key: str) -> str:
    """The list an entry counts with: a domain or a component does not open a new one, an entity sort does."""
    parts = key.split(".")
    return ".".join(parts[:2]) if parts[0] == "entities" else parts[0]


def _walk(prefix: str, value: object) -> Iterator[Entry]:
    if isinstance(value, str):
        yield prefix, value
    elif isinstance(value, list):
        for item in value:
            yield from _walk(prefix, item)
    elif isinstance(value, dict):
        # Keys written by an author (kinds, neutral attributes) are texts too; schema names are not.
        authored = prefix in ("regions", "mnemonics", "neutral_attributes")
        for name, item in value.items():
            if authored:
                yield f"{prefix}.{name}", name
            yield from _walk(f"{prefix}.{name}" if prefix else str(name), item)
