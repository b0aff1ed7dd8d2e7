"""The private prompt and the non-interference certificate."""

from __future__ import annotations

import json

import pytest
from hypothesis import given

from afterdelete.core.errors import AfterDeleteError
from afterdelete.lifecycle.certificate import certify, kind_of, require
from afterdelete.memory.consolidate import consolidate
from afterdelete.memory.delete import delete
from afterdelete.memory.state import Record, State
from afterdelete.prompts.private import PREAMBLE, Turn, render
from tests.unit.conftest import states

KEYS = ["agent", "domain", "attribute", "memory_format", "current_flat_memory", "prior_audit_turns"]


@given(states())
def test_six_keys_in_order_and_entries_in_order(state: State) -> None:
    state = consolidate(state, "hierarchical").with_(written=(Record("w-01", 'a "written" one'),))
    prompt = render(state, (Turn("Q?", 'say "x"'),)).text
    preamble, body = prompt.split("\n", 1)
    assert preamble == PREAMBLE
    shown = json.loads(body)
    assert list(shown) == KEYS
    assert shown["current_flat_memory"] == state.entry_texts()
    assert shown["prior_audit_turns"] == [{"question": "Q?", "reply": 'say "x"'}]
    assert body == json.dumps(shown, ensure_ascii=False, separators=(",", ":"))


@given(states())
def test_what_is_stable_does_not_depend_on_turns_or_writes(state: State) -> None:
    state = consolidate(state, "hierarchical")
    plain = render(state)
    assert render(state, (Turn("Q?", "A"),)).text.startswith(plain.text[: plain.stable])
    one, other = (render(state.with_(written=(Record("w-01", text),))) for text in ("a", "zz"))
    assert one.stable == other.stable < plain.stable
    assert one.text[: one.stable] == other.text[: one.stable] == plain.text[: one.stable]


@given(states())
def test_lineage_and_labels_do_not_reach_the_prompt(state: State) -> None:
    state = consolidate(state, "hierarchical")
    secret = "EVALUATOR-ONLY"
    poisoned = state.with_(
        profile_id=secret,
        source_ids=(secret,),
        neighbour_ids=(secret,),
        summaries=tuple(type(s)(secret, s.text, (secret,), (secret,)) for s in state.summaries),
    )
    assert render(poisoned) == render(state)


def _twins(deletion: str, memory: str = "hierarchical") -> tuple[State, State]:
    def world(exposure: str) -> State:
        records = (
            Record("r-01", "background one"),
            Record("r-02", exposure),
            Record("r-03", "background two"),
        )
        state = State(
            "p", 0, "Ada", "robotics", "code", records, source_ids=("r-02",), neighbour_ids=("r-01",)
        )
        return delete(consolidate(state, memory), deletion)

    return world("My code is NOVA-BRIM-1234."), world("My lunch spot is Mario on the corner.")


@pytest.mark.parametrize(
    ("memory", "deletion"),
    [("flat", "exact"), ("hierarchical", "closure"), ("hierarchical", "group"), ("hierarchical", "exact")],
)
def test_certificate_holds_for_every_condition(memory: str, deletion: str) -> None:
    forget, clean = _twins(deletion, memory)
    table = certify([forget], [clean], {"p": {"r-02"}}, kind_of(memory, deletion))
    require(table, "c")
    assert table["holds"].to_pylist() == [True]


def test_exact_on_hierarchical_is_not_identical() -> None:
    forget, clean = _twins("exact")
    assert certify([forget], [clean], {"p": {"r-02"}}, "identical")["holds"].to_pylist() == [False]


@pytest.mark.parametrize(("memory", "deletion"), [("flat", "exact"), ("hierarchical", "exact")])
@pytest.mark.parametrize("field", ["records", "agent", "attribute"])
def test_one_changed_byte_fails_the_certificate(memory: str, deletion: str, field: str) -> None:
    forget, clean = _twins(deletion, memory)
    if field == "records":
        first = clean.records[0]
        clean = clean.with_(records=(Record(first.entry_id, first.text[:-1] + "x"), *clean.records[1:]))
    else:
        clean = clean.with_(**{field: getattr(clean, field) + "x"})
    table = certify([forget], [clean], {"p": {"r-02"}}, kind_of(memory, deletion))
    with pytest.raises(AfterDeleteError, match="differs at character"):
        require(table, "c")


def test_a_changed_byte_outside_the_exposure_line_of_a_summary_fails() -> None:
    forget, clean = _twins("exact")
    summary = clean.summaries[0]
    clean = clean.with_(
        summaries=(
            type(summary)(summary.summary_id, summary.text.replace("two", "twO"), summary.source_ids, ()),
        )
    )
    table = certify([forget], [clean], {"p": {"r-02"}}, "span_only")
    assert table["holds"].to_pylist() == [False]
