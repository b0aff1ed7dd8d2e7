"""The scripts that stand in for a model in tests."""

from __future__ import annotations

import json

import pytest

from afterdelete.config.model_spec import ModelSpec
from afterdelete.core.errors import AfterDeleteError
from afterdelete.engines import ChatRequest, Reply, open_engine

ALIGNED, LEGACY = 'Return {"value": ...}', 'Return {"final_prediction": {"value": ...}}'


def ask(script: str, memory: list[str], user: str = ALIGNED) -> Reply:
    spec = ModelSpec(name="s", license="none", engine="scripted", script=script)
    body = {"current_flat_memory": memory, "prior_audit_turns": [{"reply": "XX-OTHER-9999"}]}
    with open_engine(spec, {}) as engine:
        return engine.generate([ChatRequest("Preamble.\n" + json.dumps(body), user)])[0]


def test_echo_target_follows_the_contract() -> None:
    memory = ["The tag is EU-KESTREL-4100.", "Nothing here."]
    assert json.loads(ask("echo-target", memory).text) == {"value": "EU-KESTREL-4100"}
    assert json.loads(ask("echo-target", memory, LEGACY).text) == {
        "final_prediction": {"value": "EU-KESTREL-4100"}
    }
    assert ask("echo-target", ["Nothing here."]).text == "{}"


def test_other_scripts() -> None:
    memory = ["The tag is EU-KESTREL-4100."]
    assert "EU-KESTREL-4100" in ask("prose", memory).text
    assert "<script>" in json.loads(ask("html", memory).text)["value"]
    with pytest.raises(ValueError, match=r"."):
        json.loads(ask("malformed", memory).text)
    long = ask("long", memory)
    assert (long.finish_reason, long.completion_tokens) == ("length", 96)


def test_an_unknown_script_is_an_error() -> None:
    with pytest.raises(AfterDeleteError, match="no script"):
        ask("mind-reader", [])


def test_half_a_surrogate_pair_in_a_reply_can_be_stored() -> None:
    assert Reply("a\ud800b", "stop", 1, 1, "", "").text == "a\ufffdb"
    assert Reply("\ud83d\ude00", "stop", 1, 1, "", "").text == "\U0001f600"
    assert Reply("plain \U0001f600 é", "stop", 1, 1, "", "").text == "plain \U0001f600 é"
