"""The records of one profile: which texts, in which order, under which ids.

Everything here is a pure function of the profile's facts and its draws (uint64 numbers by purpose).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

from afterdelete.core.errors import AfterDeleteError
from afterdelete.profiles.inventory_schema import Inventory
from afterdelete.profiles.schema import COMPONENTS, Domain
from afterdelete.profiles.twins import NeutralPool

# Every draw of a profile, by name; a name's draws do not depend on the other names.
PURPOSES = (
    "agent",
    "attribute",
    "team",
    "tool",
    "person",
    "place",
    "background size",
    "background 1",
    "background 2",
    "background 3",
    "clue left out",
    "clue 1",
    "clue 2",
    "exposure size",
    "exposure 1",
    "exposure 2",
    "exposure 3",
    "order",
    "neutral pair",
    "neutral 1",
    "neutral 2",
    "neutral 3",
)

Draws = Callable[[str], int]


@dataclass(frozen=True)
class Facts:
    """What is settled about a profile before its texts: ``number`` is the decimal string."""

    profile_id: str
    domain: Domain
    structure: str
    region: str
    region_kind: str
    mnemonic: str
    mnemonic_kind: str
    number: str

    @property
    def target(self) -> str:
        """REGION-MNEMONIC-NUMBER."""
        return f"{self.region}-{self.mnemonic}-{self.number}"


@dataclass(frozen=True)
class Texts:
    """The composed part of a row. Records are (entry_id, text); every text has its own id."""

    agent: str
    attribute: str
    background: list[tuple[str, str]]
    exposure: list[tuple[str, str]]
    neutral: list[tuple[str, str]]
    source_ids: list[str]
    neighbour_ids: list[str]
    neutral_attribute: str


def compose(facts: Facts, inventory: Inventory, pool: NeutralPool, draw: Draws) -> Texts:
    """Write all records of one profile.

    Raises AfterDeleteError naming the profile if no neutral twin matches its exposure records.
    """
    attribute = _pick(inventory.attributes[facts.domain], draw("attribute"))
    fields = _fields(facts, attribute, inventory, draw)
    exposure = [text.format_map(fields) for text in _exposure_templates(facts.structure, inventory, draw)]
    background = [text.format_map(fields) for text in _background_templates(facts, inventory, draw)]
    clues = [text.format_map(fields) for text in _clue_frames(facts.structure, inventory, draw)]
    twin = pool.match(exposure, draw("neutral pair"), [draw(f"neutral {n}") for n in (1, 2, 3)])
    if twin is None:
        raise AfterDeleteError(
            f"{facts.profile_id}: neutral: no twin has the length and sentences of its exposure records",
            "add neutral_templates of other lengths to the inventory",
        )
    background += clues
    places = _exposure_places(len(background), len(exposure), draw("order"))
    ids = [f"r-{n + 1:02d}" for n in range(len(background) + len(exposure))]
    exposure_ids = [ids[place] for place in places]
    background_ids = [entry_id for place, entry_id in enumerate(ids) if place not in places]
    clue_ids = background_ids[len(background) - len(clues) :]
    return Texts(
        agent=_pick(inventory.agents, draw("agent")),
        attribute=attribute,
        background=list(zip(background_ids, background, strict=True)),
        exposure=list(zip(exposure_ids, exposure, strict=True)),
        neutral=list(zip(exposure_ids, twin.texts, strict=True)),
        source_ids=exposure_ids,
        neighbour_ids=clue_ids or [_nearest(background_ids, exposure_ids[0])],
        neutral_attribute=twin.attribute,
    )


def _fields(facts: Facts, attribute: str, inventory: Inventory, draw: Draws) -> dict[str, str]:
    """Values of all placeholders. One team, tool, person and place a profile keeps its records one story."""
    entities = inventory.entities
    return {
        "attribute": attribute,
        "target": facts.target,
        "region": facts.region,
        "mnemonic": facts.mnemonic,
        "number": facts.number,
        "region_kind": facts.region_kind,
        "mnemonic_kind": facts.mnemonic_kind,
        "number_kind": inventory.number_kinds[int(facts.number) % 2],
        "team": _pick(entities.teams[facts.domain], draw("team")),
        "tool": _pick(entities.tools[facts.domain], draw("tool")),
        "person": _pick(entities.people, draw("person")),
        "place": _pick(entities.places, draw("place")),
    }


def _exposure_templates(structure: str, inventory: Inventory, draw: Draws) -> list[str]:
    if structure == "compositional":
        parts = inventory.component_templates
        return [
            _pick(getattr(parts, part), draw(f"exposure {n}")) for n, part in enumerate(COMPONENTS, start=1)
        ]
    first = _pick(inventory.record_templates, draw("exposure 1"))
    if structure != "duplicated":
        return [first]
    again = [draw("exposure 2"), draw("exposure 3")][: 1 + draw("exposure size") % 2]
    return [first, *_distinct(inventory.restatement_templates, again)]


def _background_templates(facts: Facts, inventory: Inventory, draw: Draws) -> list[str]:
    """Plain background: one beside two clues, two beside several exposure records, else two or three."""
    size = {"correlated": 1, "compositional": 2, "duplicated": 2}.get(facts.structure)
    if size is None:
        size = 2 + draw("background size") % 2
    draws = [draw(f"background {n}") for n in (1, 2, 3)][:size]
    return _distinct(inventory.background_templates[facts.domain], draws)


def _clue_frames(structure: str, inventory: Inventory, draw: Draws) -> list[str]:
    """Two clues about two of the three components, for ``correlated`` only."""
    if structure != "correlated":
        return []
    left_out = draw("clue left out") % len(COMPONENTS)
    parts = [part for n, part in enumerate(COMPONENTS) if n != left_out]
    return [
        _pick(getattr(inventory.clue_frames, part), draw(f"clue {n}"))
        for n, part in enumerate(parts, start=1)
    ]


def _exposure_places(background: int, exposure: int, order: int) -> tuple[int, ...]:
    """Positions of the exposure records; never all at the end, where position alone would tell."""
    size = background + exposure
    choices = [places for places in combinations(range(size), exposure) if places[0] != background]
    return choices[order % len(choices)]


def _nearest(background_ids: list[str], source_id: str) -> str:
    """The background record next to the first source in time; of two as near, the earlier one."""
    return min(background_ids, key=lambda entry_id: (abs(int(entry_id[2:]) - int(source_id[2:])), entry_id))


def _pick(options: list[str], number: int) -> str:
    return options[number % len(options)]


def _distinct(options: list[str], numbers: list[int]) -> list[str]:
    """One option a number, none twice; needs as many options as numbers."""
    left = list(options)
    return [left.pop(number % len(left)) for number in numbers]
