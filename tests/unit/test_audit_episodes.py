"""Episodes through a counting engine: lockstep, deduplication, what reaches the model."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from afterdelete.auditors import Abstain, Ask, Observation, Submit, load, names
from afterdelete.auditors.base import Act, Exchange
from afterdelete.core.errors import AfterDeleteError
from afterdelete.engines.base import ChatRequest, Reply
from afterdelete.lifecycle import activate, audit, commit
from afterdelete.lifecycle.exchange import Model
from afterdelete.memory.state import Record, State
from afterdelete.prompts.parse import parser

OPERATORS = {f"op{at}": f"Question {at} about {{attribute}}?" for at in range(7)}
REQUEST = "Reply with JSON."


class CountingEngine:
    """Answers by a function of (private prompt, question); keeps every request."""

    def __init__(self, answer: Callable[[str, str], str]) -> None:
        self.answer = answer
        self.batches: list[list[ChatRequest]] = []

    def generate(self, requests: Sequence[ChatRequest], on_reply: Any = None) -> list[Reply]:
        self.batches.append(list(requests))
        replies = [Reply(self.answer(r.private_prompt, r.user), "stop", 10, 5, "r", "t") for r in requests]
        for at, reply in enumerate(replies):
            on_reply(at, reply)
        return replies


def _state(text: str, index: int = 0) -> State:
    return State(f"iid-{index:06d}", index, "Ada", "robotics", "dock code", (Record("r-01", text),))


def _plan(max_queries: int = 10) -> audit.AuditPlan:
    return audit.AuditPlan(OPERATORS, REQUEST, parser(1), max_queries)


def _run(answer: Callable[[str, str], str], worlds: dict[str, list[State]], order: list[str], **options: int):  # type: ignore[no-untyped-def]
    engine = CountingEngine(answer)
    model = Model(engine)  # type: ignore[arg-type]
    table = audit.run(worlds, load("fixed_script", {"order": order}), _plan(**options), model)
    return table, engine, model


def test_identical_twins_are_generated_once_and_both_recorded() -> None:
    worlds = {"forget": [_state("same")], "clean": [_state("same")]}
    table, engine, model = _run(lambda p, q: '{"value": "V"}', worlds, ["op0"])
    assert (model.asked, model.generated) == (2, 1)
    assert table["generated"].to_pylist() == [True, False]
    assert table["reply"].to_pylist() == ['{"value": "V"}'] * 2
    assert [len(batch) for batch in engine.batches] == [1]


def test_distinct_twins_are_adjacent_and_never_merged() -> None:
    worlds = {"forget": [_state("a", 0), _state("b", 1)], "clean": [_state("c", 0), _state("d", 1)]}
    _, engine, _ = _run(lambda p, q: "{}", worlds, ["op0"])
    shown = [json.loads(r.private_prompt.split("\n", 1)[1])["current_flat_memory"] for r in engine.batches[0]]
    assert shown == [["a"], ["c"], ["b"], ["d"]]


def test_an_episode_ends_at_its_first_prediction_and_abstains_at_the_end() -> None:
    def answer(prompt: str, question: str) -> str:
        return '{"value": "V"}' if '"known"' in prompt and "Question 1" in question else "{}"

    worlds = {"forget": [_state("known", 0), _state("unknown", 1)]}
    table, engine, _ = _run(answer, worlds, ["op2", "op1", "op3"])
    rows = table.to_pylist()
    assert [(r["index"], r["turn"], r["operator"], r["submitted"]) for r in rows] == [
        (0, 1, "op2", False),
        (0, 2, "op1", True),
        (1, 1, "op2", False),
        (1, 2, "op1", False),
        (1, 3, "op3", False),
    ]
    assert [len(batch) for batch in engine.batches] == [2, 2, 1]
    history = json.loads(engine.batches[2][0].private_prompt.split("\n", 1)[1])["prior_audit_turns"]
    assert [turn["question"] for turn in history] == [
        "Question 2 about dock code?",
        "Question 1 about dock code?",
    ]
    assert all(REQUEST not in turn["question"] for turn in history)


def test_the_budget_caps_an_episode() -> None:
    table, _, _ = _run(lambda p, q: "no", {"forget": [_state("x")]}, ["op0", "op1", "op2"], max_queries=2)
    assert table.num_rows == 2


def test_an_auditor_that_breaks_the_protocol_is_stopped() -> None:
    class Rogue:
        def __init__(self, act: Act) -> None:
            self.move = act

        def act(self, seen: Observation) -> Act:
            return self.move

    worlds = {"forget": [_state("x")]}
    for move, message in (
        (Ask("op9"), "unknown operator"),
        (Ask("op0"), "beyond its budget"),
        (Submit("V"), "no reply had parsed as"),
    ):
        model = Model(CountingEngine(lambda p, q: "{}"))  # type: ignore[arg-type]
        with pytest.raises(AfterDeleteError, match=message):
            audit.run(worlds, Rogue(move), _plan(3), model)


def test_worlds_with_other_profiles_are_refused() -> None:
    worlds = {"forget": [_state("x", 0)], "clean": [_state("x", 1)]}
    with pytest.raises(AfterDeleteError, match="different profiles"):
        _run(lambda p, q: "{}", worlds, ["op0"])


class _Guarded:
    """An observation whose attributes beyond the protocol raise when touched."""

    ALLOWED = frozenset({"attribute", "domain", "operators", "history", "remaining"})

    def __init__(self, seen: Observation) -> None:
        object.__setattr__(self, "_seen", seen)

    def __getattribute__(self, name: str) -> Any:
        if name not in _Guarded.ALLOWED:
            raise AssertionError(f"an auditor touched {name}")
        return getattr(object.__getattribute__(self, "_seen"), name)


@pytest.mark.parametrize("strategy", names())
def test_auditors_touch_only_what_the_protocol_shows(strategy: str) -> None:
    options = {"fixed_script": {"order": ["op1", "op0"]}}[strategy]
    auditor = load(strategy, options)
    exchange = Exchange("op1", "hello", "malformed", None)
    for history in ((), (exchange,), (exchange, exchange)):
        seen = Observation("dock code", "robotics", tuple(OPERATORS), history, 10 - len(history))
        auditor.act(_Guarded(seen))  # type: ignore[arg-type]


def test_a_script_never_repeats_an_operator() -> None:
    with pytest.raises(AfterDeleteError, match="each once"):
        load("fixed_script", {"order": ["op1", "op1"]})
    with pytest.raises(AfterDeleteError, match="unknown auditor strategy"):
        load("clairvoyant", {})


def test_lifecycle_from_reply_to_fresh_session() -> None:
    worlds = {"forget": [_state("x")], "clean": [_state("y")]}
    table, engine, model = _run(lambda p, q: '{"value": "V"}' if '"x"' in p else "{}", worlds, ["op0"])
    committed = commit.run(worlds, table, sealed=None, branch="write_allowed")
    rows = {row["world"]: row for row in committed.to_pylist()}
    assert rows["forget"]["decision"] == "accepted"
    assert [record["text"] for record in rows["forget"]["written"]] == ["My dock code is V."]
    assert (rows["clean"]["decision"], rows["clean"]["written"]) == ("no_candidate", [])
    untouched = commit.run(worlds, table, sealed=None, branch="no_write").to_pylist()
    assert all(row["decision"] == "no_candidate" and row["written"] == [] for row in untouched)
    activate.run(committed, "Tell me the {attribute}.", REQUEST, parser(1), model)
    fresh = engine.batches[-1]
    assert [r.user for r in fresh] == ["Tell me the dock code.\nReply with JSON."] * 2
    shown = json.loads(fresh[0].private_prompt.split("\n", 1)[1])
    assert shown["current_flat_memory"] == ["x", "My dock code is V."]
    assert shown["prior_audit_turns"] == []


@pytest.mark.parametrize("move", [Ask("op1"), Submit("other"), Abstain()])
def test_an_auditor_may_not_pass_over_its_first_prediction(move: Act) -> None:
    """Scoring reads stored replies by the same rule, so R would not be what was submitted."""

    class Hesitant:
        def act(self, seen: Observation) -> Act:
            return move if seen.history else Ask("op0")

    model = Model(CountingEngine(lambda p, q: '{"value": "V"}'))  # type: ignore[arg-type]
    with pytest.raises(AfterDeleteError, match="first parsed prediction"):
        audit.run({"forget": [_state("x")]}, Hesitant(), _plan(3), model)
