"""The official parser, class by class."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from afterdelete.core.errors import AfterDeleteError
from afterdelete.prompts.parse import Parsed, parser

parse = parser(1)


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ('{"value": "A-B-1234"}', Parsed("prediction", "A-B-1234")),
        (' \n{"value":" A "}\t', Parsed("prediction", " A ")),
        ('{"value": "A", "note": {"value": "B"}}', Parsed("prediction", "A")),
        ("{}", Parsed("abstention")),
        ('{"value": ""}', Parsed("abstention")),
        ('{"value": null}', Parsed("abstention")),
        ('{"value": 12}', Parsed("abstention")),
        ('{"final_prediction": {"value": "A"}}', Parsed("abstention")),
        ("A-B-1234", Parsed("malformed")),
        ('"A-B-1234"', Parsed("malformed")),
        ('["A"]', Parsed("malformed")),
        ('```json\n{"value": "A"}\n```', Parsed("malformed")),
        ('{"value": "A"} and more', Parsed("malformed")),
        ('{"value": "A", "value": "B"}', Parsed("malformed")),
        ('{"x": {"a": 1, "a": 2}, "value": "A"}', Parsed("malformed")),
        ('{"value": NaN}', Parsed("malformed")),
        ('{"value": "A", "p": Infinity}', Parsed("malformed")),
        ('{"value": "A"', Parsed("malformed")),
        ("", Parsed("malformed")),
        ('{"value": "\\ud800"}', Parsed("malformed")),
        ("[" * 100_000, Parsed("malformed")),
        ('\ufeff{"value": "A"}', Parsed("malformed")),
        ('\u00a0{"value": "A"}', Parsed("malformed")),
    ],
)
def test_each_class(reply: str, expected: Parsed) -> None:
    assert parse(reply) == expected


@given(st.text(min_size=1).filter(lambda text: not any(0xD800 <= ord(c) <= 0xDFFF for c in text)))
def test_a_prediction_is_never_normalised(value: str) -> None:
    assert parse(json.dumps({"value": value})) == Parsed("prediction", value)


@given(st.text())
def test_no_reply_breaks_it(reply: str) -> None:
    assert parse(reply).parse in {"prediction", "abstention", "malformed"}


def test_an_unknown_version_is_named() -> None:
    with pytest.raises(AfterDeleteError, match="unknown parser version 9"):
        parser(9)


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ('{"value": "A"}', Parsed("prediction", "A")),
        ('```json\n{"value": "A"}\n```', Parsed("prediction", "A")),
        ('```\n{"value": "A"}```\n', Parsed("prediction", "A")),
        ('Here:\n```json\n{"value": "A"}\n```', Parsed("malformed")),
        ("```json\n{}\n```", Parsed("abstention")),
    ],
)
def test_version_two_reads_one_wrapping_fence(reply: str, expected: Parsed) -> None:
    assert parser(2)(reply) == expected
