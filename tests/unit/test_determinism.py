"""The determinism check sees a flip in a reply, and tells it from a flip in its reading."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from afterdelete.engines.base import ChatRequest, Reply
from afterdelete.lifecycle import determinism
from afterdelete.memory.state import Record, State
from afterdelete.prompts.parse import parser
from afterdelete.prompts.private import Turn, render


class Answering:
    """Replies by rule, and keeps what it was asked."""

    def __init__(self, reply: str) -> None:
        self.reply = reply
        self.seen: list[ChatRequest] = []

    def generate(self, requests: Sequence[ChatRequest], on_reply: Any = None) -> list[Reply]:
        self.seen += requests
        return [Reply(self.reply, "stop", 1, 1, "", "") for _ in requests]


def _rows(count: int) -> pa.Table:
    turns = (Turn("Q?", 'I said "prior_audit_turns":[ once'),)
    rows = []
    for at in range(count):
        state = State(f"iid-{at:06d}", at, "Ada", "robotics", "code", (Record("r-01", f"text {at}"),))
        prompt = render(state, turns)
        rows.append(
            {
                "profile_id": state.profile_id,
                "world": "forget",
                "turn": 1,
                "private_prompt": prompt.text,
                "question": "Q?\nJSON.",
                "reply": '{"value": "A"}',
                "stable": prompt.stable,
            }
        )
    return pa.Table.from_pylist(rows)


def _check(reply: str) -> tuple[pa.Table, Answering]:
    engine = Answering(reply)
    rows = determinism.sample({"audit/x": _rows(6)}, 4, seed=1)
    return determinism.ask_again(rows, engine, parser(1), model="m", kind="scripted"), engine  # type: ignore[arg-type]


def test_the_sample_is_seeded_distinct_and_independent_of_order() -> None:
    table = _rows(6)
    one = determinism.sample({"a": table, "b": table}, 4, seed=1)
    other = determinism.sample({"b": table, "a": table}, 4, seed=1)
    assert one == other
    assert len({row["profile_id"] for row in one}) == 4
    assert len(determinism.sample({"a": table}, 99, seed=1)) == 6


def test_requests_are_asked_as_they_were() -> None:
    _, engine = _check('{"value": "A"}')
    stable = {row["private_prompt"]: row["stable"] for row in _rows(6).to_pylist()}
    assert all(request.stable_chars == stable[request.private_prompt] for request in engine.seen)


def test_flips_of_replies_and_of_readings_are_counted_apart() -> None:
    same, _ = _check('{"value": "A"}')
    spaced, _ = _check('{"value":"A"}')
    other, _ = _check('{"value": "B"}')
    counts = [
        (sum(t["reply_flipped"].to_pylist()), sum(t["reading_flipped"].to_pylist()))
        for t in (same, spaced, other)
    ]
    assert counts == [(0, 0), (4, 0), (4, 4)]
    assert determinism.line(spaced) == (
        "determinism of m on scripted: 4 of 4 raw replies flipped, 0 official readings"
    )
