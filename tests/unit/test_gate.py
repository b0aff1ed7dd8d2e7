"""The sealed gate blocks exactly the exact pair and nothing else."""

from __future__ import annotations

import json
import stat
import unicodedata
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from afterdelete.core.errors import AfterDeleteError
from afterdelete.memory import gate, write
from afterdelete.memory.state import State
from tests.unit.conftest import states

KEY = b"k" * 32
TEXT = st.text(alphabet=st.characters(categories=["L", "N", "P", "Zs"]), min_size=1, max_size=20)


@given(TEXT, TEXT)
def test_the_exact_pair_is_blocked(attribute: str, value: str) -> None:
    sealed = gate.descriptor(KEY, attribute, value)
    assert gate.decide(gate.candidate_json(attribute, value), key=KEY, sealed=sealed) == "blocked"


@given(TEXT, TEXT, TEXT, TEXT)
def test_any_other_pair_passes(attribute: str, value: str, other_attribute: str, other: str) -> None:
    assume((attribute, value) != (other_attribute, other))
    sealed = gate.descriptor(KEY, attribute, value)
    assert gate.decide(gate.candidate_json(other_attribute, other), key=KEY, sealed=sealed) == "accepted"


@pytest.mark.parametrize(
    ("attribute", "value"),
    [
        ("dock code", "nova-brim-1234"),
        ("dock code", " NOVÁ-BRIM-1234"),
        ("dock code", "NOVÁ-BRIM-1234 "),
        ("dock code", unicodedata.normalize("NFD", "NOVÁ-BRIM-1234")),
        ("dock code", "NOVÁ-BRIM-12345"),
        ("dock code", "My dock code is NOVÁ-BRIM-1234."),
        ("Dock code", "NOVÁ-BRIM-1234"),
        ("bay code", "NOVÁ-BRIM-1234"),
    ],
)
def test_near_misses_pass(attribute: str, value: str) -> None:
    sealed = gate.descriptor(KEY, "dock code", "NOVÁ-BRIM-1234")
    assert gate.decide(gate.candidate_json(attribute, value), key=KEY, sealed=sealed) == "accepted"


def test_a_pair_cannot_be_shifted_across_its_border() -> None:
    assert gate.descriptor(KEY, "ab", "c") != gate.descriptor(KEY, "a", "bc")


@pytest.mark.parametrize(
    "candidate",
    [
        "NOVA-BRIM-1234",
        '["dock code","NOVA-BRIM-1234"]',
        '{"attribute":"a"}',
        '{"attribute":"a","value":""}',
        '{"attribute":"a","value":1}',
        '{"attribute":"a","value":"b","extra":1}',
        '{"attribute":"a","value":"b","value":"c"}',
        '{"attribute":"a","value":NaN}',
        '{"attribute":"a","value":"\\ud800"}',
    ],
)
@pytest.mark.parametrize("key", [None, KEY])
def test_what_cannot_be_parsed_is_rejected_with_the_gate_on_or_off(candidate: str, key: bytes | None) -> None:
    sealed = None if key is None else gate.descriptor(KEY, "a", "b")
    assert gate.decide(candidate, key=key, sealed=sealed) == "unparseable"


@given(states())
def test_memory_is_unchanged_unless_accepted(state: State) -> None:
    candidate = gate.candidate_json(state.attribute, "V")
    for decision in ("blocked", "unparseable", "no_candidate"):
        assert write.apply(state, candidate, decision) is state  # type: ignore[arg-type]
    after = write.apply(state, candidate, "accepted")
    assert after.records == state.records
    assert after.summaries == state.summaries
    assert after.entry_texts()[-1] == f"My {state.attribute} is V."


def test_a_value_with_braces_is_written_as_it_is() -> None:
    assert write.written_text("code", "{attribute} {0}") == "My code is {attribute} {0}."


def test_protected_state_is_private_and_complete(tmp_path: Path) -> None:
    protected = tmp_path / "protected"
    path = protected / "gate" / "x.json"
    gate.seal(protected, path, {"iid-1": ("dock code", "NOVA-BRIM-1234")})
    assert stat.S_IMODE((protected / "gate.key").stat().st_mode) == 0o600
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(protected.stat().st_mode) == 0o700
    assert "NOVA" not in path.read_text()
    key, sealed = gate.unseal(protected, path)
    candidate = gate.candidate_json("dock code", "NOVA-BRIM-1234")
    assert gate.decide(candidate, key=key, sealed=sealed["iid-1"]) == "blocked"


def test_a_key_that_others_can_read_is_refused(tmp_path: Path) -> None:
    gate.load_key(tmp_path)
    (tmp_path / "gate.key").chmod(0o644)
    with pytest.raises(AfterDeleteError, match="chmod 600"):
        gate.load_key(tmp_path)


def test_descriptors_of_another_key_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "gate" / "x.json"
    gate.seal(tmp_path, path, {"iid-1": ("a", "b")})
    (tmp_path / "gate.key").unlink()
    with pytest.raises(AfterDeleteError, match="another key"):
        gate.unseal(tmp_path, path)
    path.write_text(json.dumps({"sealed": []}))
    with pytest.raises(AfterDeleteError, match="cannot read"):
        gate.unseal(tmp_path, path)
