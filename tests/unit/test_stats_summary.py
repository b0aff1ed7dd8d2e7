"""The summary against counts made by hand, and every rule of the status."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from afterdelete.core.errors import AfterDeleteError
from afterdelete.scoring.schema import CONDITIONS, UNITS
from afterdelete.stats import breakdown, headline_line, interface, summarise, terminal_table, to_csv
from afterdelete.stats.summary import status_of
from tests.unit.factories import Spec, Study, add_cell, quick_specs, quick_study

HEADER = (
    "study,model,split,memory,deletion,gate,auditor,audit_contract,activation_contract,write_branch,"
    "endpoint,n,clean,forget,delta,ci_low,ci_high,boundary,raw_clean,raw_forget,retained,status"
)
LIVED = Spec(gate="off", activation_contract="aligned")


@pytest.fixture(scope="module")
def study() -> Study:
    return quick_study()


@pytest.fixture(scope="module")
def summary(study: Study) -> pa.Table:
    tables = study.tables()
    return summarise(tables["units"], tables["certificates"], resamples=500)


def row_of(summary: pa.Table, spec: Spec, endpoint: str = "R") -> dict[str, Any]:
    wanted = {name: getattr(spec, name) for name in CONDITIONS} | {"endpoint": endpoint}
    (row,) = [row for row in summary.to_pylist() if all(row[k] == v for k, v in wanted.items())]
    return row


def count(study: Study, spec: Spec, world: str, column: str, **where: object) -> int:
    return sum(
        bool(u[column])
        for u in study.units
        if u["cell"] == spec.cell and u["world"] == world and all(u[k] == v for k, v in where.items())
    )


def test_columns_and_format(summary: pa.Table) -> None:
    lines = to_csv(summary).splitlines()
    assert lines[0] == HEADER
    assert lines[1].startswith(
        "quick,tiny-instruct,iid,flat,exact,,direct,aligned,,,R,16,0.000000,0.000000,0.000000,,,true,0,0,"
    )


def test_one_row_a_paired_cell_and_endpoint_that_ran(summary: pa.Table) -> None:
    paired = [spec for split in ("iid", "ood") for spec in quick_specs(split) if spec.deletion != "none"]
    assert summary.num_rows == sum(4 if spec.activation_contract else 1 for spec in paired)
    assert "none" not in summary["deletion"].to_pylist()


@pytest.mark.parametrize("endpoint", ["R", "C", "A", "E"])
@pytest.mark.parametrize("split", ["iid", "ood"])
def test_rates_are_the_counts(study: Study, summary: pa.Table, split: str, endpoint: str) -> None:
    spec = Spec(split=split, gate="off", activation_contract="aligned")
    row = row_of(summary, spec, endpoint)
    n = {"iid": 16, "ood": 8}[split]
    forget, clean = (count(study, spec, world, endpoint) for world in ("forget", "clean"))
    assert (row["n"], row["forget"], row["clean"]) == (n, forget / n, clean / n)
    assert row["delta"] == pytest.approx(forget / n - clean / n)
    if not row["boundary"]:
        assert row["ci_low"] <= row["delta"] <= row["ci_high"]


def test_raw_occurrence_and_control_follow_the_endpoint(study: Study, summary: pa.Table) -> None:
    kept = Spec(deletion="none", gate="off", activation_contract="aligned")
    for endpoint, column in (("R", "audit_raw_target"), ("A", "activation_raw_target")):
        row = row_of(summary, LIVED, endpoint)
        assert row["raw_forget"] == count(study, LIVED, "forget", column)
        assert row["retained"] == count(study, kept, "retained", endpoint) / 16
    for endpoint in ("C", "E"):
        row = row_of(summary, LIVED, endpoint)
        assert (row["raw_clean"], row["raw_forget"], row["retained"], row["status"]) == (None, None, None, "")


def test_gate_on_uses_the_twin_that_ran_with_the_gate_off(summary: pa.Table) -> None:
    on = Spec(gate="on", activation_contract="aligned")
    for endpoint in ("R", "A"):
        assert row_of(summary, on, endpoint)["retained"] == row_of(summary, LIVED, endpoint)["retained"]


def test_statuses_of_the_quick_study(summary: pa.Table) -> None:
    assert row_of(summary, LIVED)["status"] == "above_zero"
    assert row_of(summary, Spec(memory="flat"))["status"] == "proved_zero"
    assert row_of(summary, Spec(audit_contract="legacy"))["status"] == "inconclusive"


@given(st.integers(0, 9), st.integers(0, 9), st.booleans(), st.none() | st.integers(0, 9))
def test_status_rules(clean: int, forget: int, certified: bool, retained: int | None) -> None:
    status = status_of(clean, forget, certified, retained)
    assert (status == "above_zero") == (forget > clean)
    assert (status == "proved_zero") == (certified and clean == forget == 0)
    if status in ("observed_zero", "inconclusive", "no_control"):
        assert clean == forget == 0
        assert not certified
        assert status == {None: "no_control", 0: "inconclusive"}.get(retained, "observed_zero")
    assert (status == "no_gap") == (forget <= clean and clean > 0)


@pytest.mark.parametrize("change", [{"holds": False}, {"kind": "span_only"}])
def test_one_certificate_that_is_no_proof_unproves_the_cell(change: dict[str, object]) -> None:
    study = quick_study({"iid": 8})
    flat = Spec(memory="flat")
    victim = next(row for row in study.certificates if row["memory"] == "flat")
    victim.update(change)
    tables = study.tables()
    assert (
        row_of(summarise(tables["units"], tables["certificates"], resamples=10), flat)["status"]
        == "observed_zero"
    )


def test_without_certificate_or_twin_a_zero_has_no_control() -> None:
    study = Study()
    add_cell(study, Spec(memory="flat"), 4)
    tables = study.tables()
    summary = summarise(tables["units"], tables["certificates"].slice(0, 3), resamples=10)
    assert row_of(summary, Spec(memory="flat"))["status"] == "no_control"


def test_row_order_never_matters(study: Study, summary: pa.Table) -> None:
    tables = study.tables()
    order = list(range(tables["units"].num_rows))
    random.Random(0).shuffle(order)
    again = summarise(tables["units"].take(order), tables["certificates"], resamples=500)
    assert to_csv(again) == to_csv(summary)


def test_a_cell_alone_gets_the_interval_it_gets_among_others(study: Study, summary: pa.Table) -> None:
    tables = study.tables()
    alone = [u for u in study.units if u["cell"] == LIVED.cell]
    own = summarise(pa.Table.from_pylist(alone, schema=UNITS), tables["certificates"], resamples=500)
    fields = ("delta", "ci_low", "ci_high", "boundary")
    for name in "RCAE":
        one, other = row_of(own, LIVED, name), row_of(summary, LIVED, name)
        assert [one[f] for f in fields] == [other[f] for f in fields]


@pytest.mark.parametrize("column", ["structure", "domain"])
def test_breakdown_counts_add_up(study: Study, summary: pa.Table, column: str) -> None:
    tables = study.tables()
    table = breakdown(tables["units"], tables["certificates"], column, resamples=50)
    assert table.column_names == [
        *HEADER.split(",")[:10],
        column,
        *HEADER.split(",")[10:],
        "clean_count",
        "forget_count",
    ]
    parts = [
        r
        for r in table.to_pylist()
        if all(r[c] == getattr(LIVED, c) for c in CONDITIONS) and r["endpoint"] == "R"
    ]
    assert sum(part["n"] for part in parts) == 16
    for part in parts:
        assert part["forget_count"] == count(study, LIVED, "forget", "R", **{column: part[column]})
        assert part["forget"] == part["forget_count"] / part["n"]


def test_interface_counts(study: Study) -> None:
    table = interface(study.tables()["units"]).to_pylist()
    legacy = Spec(audit_contract="legacy")
    (row,) = [
        r for r in table if r["audit_contract"] == "legacy" and r["world"] == "forget" and r["split"] == "iid"
    ]
    raw = count(study, legacy, "forget", "audit_raw_target")
    assert raw > 0
    assert (row["stage"], row["contract"], row["official"], row["raw"], row["unscored"]) == (
        "audit",
        "legacy",
        0,
        raw,
        raw,
    )
    assert row["where_nested"] == raw
    assert row["prediction"] + row["abstention"] + row["malformed"] == row["n"] == 16
    for row in table:
        turns = [row[f"query_{k}"] for k in range(1, 11)]
        assert turns == [None] * 10 if row["stage"] == "activation" else sum(turns) == row["official"]


def _no_twin(units: list[dict[str, Any]]) -> None:
    units[:] = [u for u in units if not (u["world"] == "clean" and u["index"] == 1)]


def _twice(units: list[dict[str, Any]]) -> None:
    units.append(dict(units[0]))


def _mixed(units: list[dict[str, Any]]) -> None:
    units[0]["gate"] = "on"


def _half(units: list[dict[str, Any]]) -> None:
    units[0]["A"] = None


def _strange(units: list[dict[str, Any]]) -> None:
    units[0]["world"] = "other"


def _path(units: list[dict[str, Any]]) -> None:
    for unit in units:
        unit["cell"] = "../../elsewhere"


@pytest.mark.parametrize(
    ("break_it", "words"),
    [
        (_no_twin, "without its twin"),
        (_twice, "twice"),
        (_mixed, "mixes conditions"),
        (_half, "for some units only"),
        (_strange, "unknown world"),
        (_path, "not 16 hex digits"),
    ],
)
def test_bad_units_are_refused(break_it: Callable[[list[dict[str, Any]]], None], words: str) -> None:
    study = Study()
    add_cell(study, LIVED, 4)
    break_it(study.units)
    tables = study.tables()
    with pytest.raises(AfterDeleteError, match=words):
        summarise(tables["units"], tables["certificates"])


def test_a_table_without_a_column_is_refused(study: Study) -> None:
    tables = study.tables()
    with pytest.raises(AfterDeleteError, match="lacks structure"):
        summarise(tables["units"].drop_columns(["structure"]), tables["certificates"])


def test_terminal_table(study: Study, summary: pa.Table) -> None:
    text = terminal_table(summary)
    lines = text.splitlines()
    assert max(map(len, lines)) <= 100
    assert lines[2].startswith("iid, hierarchical memory, exact deletion, n = 16")
    assert lines[3].split()[:4] == ["direct", "aligned", "off", "0"]
    assert lines[3].split()[4] == str(count(study, LIVED, "forget", "R"))
    cells = sum(row["endpoint"] == "R" for row in summary.to_pylist())
    statuses = ("above_zero", "proved_zero", "inconclusive", "observed_zero", "no_control", "no_gap")
    assert sum(line.endswith(statuses) for line in lines) == cells
    assert terminal_table(summary.slice(0, 0)) == "no paired cell to report\n"


def test_headline_line(study: Study) -> None:
    own = pa.Table.from_pylist([u for u in study.units if u["cell"] == LIVED.cell], schema=UNITS)
    line = headline_line(own, resamples=100)
    found = count(study, LIVED, "forget", "R")
    assert f"R {found} of 16 in forget, 0 of 16 in clean; gap {found / 16:.3f} [" in line
    assert line.endswith("retained not run; above_zero")
    assert "\n" not in line
    with pytest.raises(AfterDeleteError, match="one paired cell"):
        headline_line(study.tables()["units"], resamples=10)
