"""Every refusal of the generator, each with a table or an inventory that must be refused."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import yaml

from afterdelete.core.errors import AfterDeleteError
from afterdelete.core.yamlfile import load_yaml
from afterdelete.profiles import STRUCTURES, capacity, generate, inventory_digest
from afterdelete.profiles.checks import check_all, check_ids, check_sources, check_stray, check_twins, occurs
from afterdelete.profiles.inventory import default_dir, load_inventories
from afterdelete.profiles.schema import PROFILE_SCHEMA
from afterdelete.profiles.twins import code_like, lengths_match, sentences

Row = dict[str, Any]
Change = Callable[[Row], object]


def _text(field: str, change: Callable[[str, Row], str]) -> Change:
    def apply(row: Row) -> None:
        row[field][0]["text"] = change(row[field][0]["text"], row)

    return apply


def _set(field: str, value: Callable[[Row], Any]) -> Change:
    def apply(row: Row) -> None:
        row[field] = value(row)

    return apply


def _changed(structure: str, change: Change) -> pa.Table:
    rows = generate("iid", 0, 4, structure=structure).to_pylist()
    change(rows[2])
    return pa.Table.from_pylist(rows, schema=PROFILE_SCHEMA)


CASES: list[tuple[Callable[[pa.Table], None], str, Change, str]] = [
    (check_stray, "atomic", _text("background", lambda t, r: f"{t} {r['target'].lower()}"), "background r-0"),
    (check_stray, "atomic", _text("background", lambda t, r: f"{t} ({r['number']})"), "background r-0"),
    (
        check_stray,
        "correlated",
        _text("background", lambda t, r: f"{t} {r['region'].title()}!"),
        "background r-0",
    ),
    (
        check_stray,
        "duplicated",
        _text("neutral", lambda t, r: f"{r['mnemonic'].lower()}-like {t}"),
        "neutral r-0",
    ),
    (check_stray, "atomic", _set("attribute", lambda r: f"{r['mnemonic'].lower()} code"), "attribute"),
    (check_stray, "atomic", _set("agent", lambda r: r["region"].title()), "agent"),
    (check_stray, "atomic", _set("neutral_attribute", lambda r: r["number"]), "neutral_attribute"),
    (check_twins, "atomic", _text("neutral", lambda t, r: f"Well. {t[6:]}"), "number of sentences"),
    (check_twins, "atomic", _text("neutral", lambda t, r: "x" * 200 + "." * t.count(".")), "neutral r-0"),
    (check_twins, "atomic", _text("neutral", lambda t, r: t[:-3] + "4" + t[-2:]), "code"),
    (check_twins, "atomic", _text("neutral", lambda t, r: t[:-4] + " QX" + t[-1:]), "code"),
    (check_twins, "compositional", _set("neutral", lambda r: r["neutral"][:2]), "other ids"),
    (check_twins, "atomic", _set("neutral_attribute", lambda r: r["attribute"]), "is the attribute itself"),
    (check_ids, "atomic", _set("background", lambda r: r["background"][::-1]), "order of its ids"),
    (check_ids, "atomic", _set("background", lambda r: r["background"][:1]), "share out|gives it away"),
    (check_sources, "duplicated", _set("source_ids", lambda r: r["source_ids"][:1]), "source_ids"),
    (check_sources, "atomic", _set("neighbour_ids", lambda r: []), "neighbour_ids"),
    (check_sources, "atomic", _set("neighbour_ids", lambda r: r["source_ids"]), "neighbour_ids"),
    (
        check_sources,
        "atomic",
        _text("exposure", lambda t, r: t.replace(r["number"], "")),
        "does not state the target",
    ),
    (
        check_sources,
        "compositional",
        _text("exposure", lambda t, r: f"{t} {r['target']}"),
        "one component alone",
    ),
    (check_sources, "compositional", _set("exposure", lambda r: r["exposure"][:2]), "has 2 records"),
]


@pytest.mark.parametrize(("check", "structure", "change", "field"), CASES)
def test_a_faulty_profile_is_refused_by_name(
    check: Callable[[pa.Table], None], structure: str, change: Change, field: str
) -> None:
    table = _changed(structure, change)
    with pytest.raises(AfterDeleteError, match=rf"iid-000002: .*(?:{field})") as caught:
        check(table)
    row = table.slice(2, 1).to_pylist()[0]
    message = str(caught.value).casefold()
    assert not any(
        occurs(row[name].casefold(), message) for name in ("target", "region", "mnemonic", "number")
    )


@pytest.mark.parametrize("structure", STRUCTURES)
def test_an_untouched_table_passes_in_several_pieces(structure: str) -> None:
    table = generate("iid", 0, 8, structure=structure)
    check_all(pa.concat_tables([table.slice(0, 3), table.slice(3)]))


def test_exposure_all_at_the_end_is_refused() -> None:
    def rename(row: Row) -> None:
        for number, record in enumerate((*row["background"], *row["exposure"]), start=1):
            record["entry_id"] = f"r-{number:02d}"

    with pytest.raises(AfterDeleteError, match="gives it away"):
        check_ids(_changed("atomic", rename))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the tern flew", True),
        ("tern", True),
        ("a (tern)-house", True),
        ("tern_house", True),
        ("pattern, western", False),
        ("terns", False),
        ("pattern tern", True),
    ],
)
def test_token_bounds(text: str, expected: bool) -> None:
    assert occurs("tern", text) is expected


def test_text_measures() -> None:
    assert [sentences(text) for text in ("No end", "One.", "One. Two!", "It cost v.two. Why?")] == [
        0,
        1,
        2,
        2,
    ]
    assert lengths_match("x" * 100, "x" * 85)
    assert lengths_match("x" * 100, "x" * 115)
    assert not lengths_match("x" * 100, "x" * 84)
    assert [code_like(text) for text in ("I am A person.", "NASA", "room 4", "A-B", "ab-Cd")] == [
        False,
        True,
        True,
        True,
        True,
    ]


def _inventories(tmp_path: Path, file: str, change: Change) -> Path:
    folder = tmp_path / "inventories"
    shutil.copytree(default_dir(), folder)
    data = load_yaml(folder / file)
    change(data)
    (folder / file).write_text(yaml.safe_dump(data, sort_keys=False, allow_unicode=True))
    return folder


def _shared(*keys: str) -> Any:
    value: Any = load_yaml(default_dir() / "shared.yaml")
    for key in keys:
        value = value[key]
    return value


HELD_OUT = [
    ("attributes", "robotics"),
    ("agents",),
    ("record_templates",),
    ("restatement_templates",),
    ("component_templates", "number"),
    ("clue_frames", "mnemonic"),
    ("background_templates", "robotics"),
    ("entities", "teams", "software_release"),
    ("entities", "tools", "robotics"),
    ("entities", "people"),
    ("entities", "places"),
    ("neutral_templates",),
    ("regions", "Asia"),
]


@pytest.mark.parametrize("keys", HELD_OUT, ids=".".join)
def test_what_ood_does_not_hold_out_is_refused(tmp_path: Path, keys: tuple[str, ...]) -> None:
    def change(data: Row) -> None:
        for key in keys:
            data = data[key]
        data.append(_shared(*keys)[0])  # type: ignore[attr-defined]

    folder = _inventories(tmp_path, "ood.yaml", change)
    with pytest.raises(AfterDeleteError, match=r"ood\.yaml: .*shared") as caught:
        load_inventories(folder)
    assert keys[0] in str(caught.value) or "component" in str(caught.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.update(extra=1), "extra"),
        (lambda d: d.pop("agents"), "agents"),
        (lambda d: d["attributes"].pop("robotics"), "attributes.*robotics"),
        (lambda d: d["entities"]["people"].append("R2"), r"entities\.people\.16"),
        (lambda d: d["regions"]["Asia"].append("Kansai"), r"regions\.Asia\.7"),
        (
            lambda d: d["record_templates"].append("My {attribute} is secret."),
            r"record_templates: placeholders",
        ),
        (
            lambda d: d["record_templates"].append("My {attribute} is {target!r}."),
            "record_templates: a placeholder",
        ),
        (lambda d: d["record_templates"].append("My {attribute} is {target."), "record_templates"),
        (lambda d: d["clue_frames"]["number"].append("My {attribute} has {number}."), r"clue_frames\.number"),
        (lambda d: d["background_templates"]["robotics"].append("A Heron flew by."), "'heron'"),
        (lambda d: d["entities"]["places"].append("Lisbon"), r"entities\.places: 'Lisbon' stands twice"),
        (lambda d: d["mnemonics"]["bird"].append("KERALA"), "'KERALA' stands twice"),
    ],
)
def test_a_faulty_inventory_is_refused_by_file_and_key(tmp_path: Path, change: Change, message: str) -> None:
    folder = _inventories(tmp_path, "shared.yaml", change)
    with pytest.raises(AfterDeleteError, match=rf"shared\.yaml: .*(?:{message})"):
        load_inventories(folder)


def test_a_missing_inventory_is_named(tmp_path: Path) -> None:
    with pytest.raises(AfterDeleteError, match=re.escape(str(tmp_path / "shared.yaml"))):
        capacity("iid", tmp_path)


def test_no_fitting_twin_is_refused_by_profile(tmp_path: Path) -> None:
    def change(data: Row) -> None:
        data["neutral_templates"] = [
            f"So {n} my {{neutral_attribute}} is {{value}}." for n in ("a", "b", "c")
        ]

    folder = _inventories(tmp_path, "shared.yaml", change)
    with pytest.raises(AfterDeleteError, match=r"iid-\d{6}: neutral: no twin"):
        generate("iid", 0, 64, data_dir=folder)


def test_digest_covers_what_the_split_reads_and_no_more(tmp_path: Path) -> None:
    folder = _inventories(tmp_path, "ood.yaml", lambda data: data["agents"].append("Pascoe"))
    assert inventory_digest("iid", folder) == inventory_digest("iid") == inventory_digest("train")
    assert inventory_digest("ood", folder) != inventory_digest("ood")
    moved = _inventories(tmp_path / "2", "ood.yaml", lambda data: data["agents"].reverse())
    assert inventory_digest("ood", moved) != inventory_digest("ood")
