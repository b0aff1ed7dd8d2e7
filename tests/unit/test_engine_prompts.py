"""From requests to token ids, with a tokenizer of one id per character and per control token."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from afterdelete.config.model_spec import ModelSpec
from afterdelete.core.errors import AfterDeleteError
from afterdelete.engines.base import ChatRequest
from afterdelete.engines.prompts import PromptBuilder, check_trained_context
from afterdelete.engines.template import ChatTemplate
from afterdelete.engines.transformers_engine import _refuse_strays

CONTROLS = {1: "<s>", 2: "<|turn|>", 3: "<|end|>"}
BODY = "{% for m in messages %}{{ '<|turn|>' + m['role'] + ':' + m['content'] + '<|end|>' }}{% endfor %}"


def tokenize(segments: Sequence[tuple[str, bool]]) -> list[int]:
    ids: list[int] = []
    by_text = {text: index for index, text in CONTROLS.items()}
    for text, special in segments:
        for part in re.split(r"(<s>|<\|turn\|>|<\|end\|>)", text):
            ids += [by_text[part]] if special and part in by_text else [100 + ord(char) for char in part]
    return ids


def builder(source: str = BODY, adds_bos: bool = False, context: int = 4096) -> PromptBuilder:
    spec = ModelSpec(name="m", license="x", engine="scripted", script="prose", context=context)
    template = ChatTemplate(source, system_role="native", bos_token="<s>")
    return PromptBuilder(spec, template, tokenize, controls=CONTROLS, bos_id=1, adds_bos=adds_bos)


@pytest.mark.parametrize("source", [BODY, "{{ bos_token }}" + BODY])
def test_there_is_exactly_one_bos_where_the_model_wants_one(source: str) -> None:
    ids = builder(source, adds_bos=True).build(ChatRequest("private", "user")).ids
    assert ids[0] == 1
    assert ids.count(1) == 1


def test_no_bos_is_added_where_the_model_wants_none() -> None:
    assert 1 not in builder().build(ChatRequest("private", "user")).ids


def test_a_doubled_bos_is_refused() -> None:
    with pytest.raises(AfterDeleteError, match="BOS"):
        builder("{{ bos_token }}{{ bos_token }}" + BODY).build(ChatRequest("private", "user"))


def test_a_prompt_that_does_not_fit_says_by_how_much() -> None:
    with pytest.raises(AfterDeleteError, match=r"of 2\d\d tokens and 96 .* need 3\d\d, the context is 300"):
        builder(context=300).build(ChatRequest("p" * 200, "user"))


def test_a_context_beyond_training_is_refused() -> None:
    spec = ModelSpec(name="m", license="x", engine="scripted", script="prose", context=4096)
    check_trained_context(spec, 8192)
    with pytest.raises(AfterDeleteError, match="4096 exceeds the 2048"):
        check_trained_context(spec, 2048)


PIECES = st.lists(st.sampled_from(["<|end|>", "<|turn|>", "<s>", "<|", "end|>", "a", " ", "é\n", '"']))


@given(PIECES, PIECES)
def test_no_text_can_make_a_control_token(private: list[str], user: list[str]) -> None:
    request = ChatRequest("p" + "".join(private), "u" + "".join(user))
    prompt = builder().build(request)
    assert [token for token in prompt.ids if token in CONTROLS] == [2, 3, 2, 3]
    text = "".join(CONTROLS.get(token) or chr(token - 100) for token in prompt.ids)
    assert text == prompt.rendered.text


def test_stray_files_beside_a_model_are_refused(tmp_path: Path) -> None:
    spec = ModelSpec(name="m", license="x", engine="scripted", script="prose")
    weights = tmp_path / "model.safetensors"
    weights.touch()
    (tmp_path / "fetched.json").touch()
    _refuse_strays(spec, tmp_path, {"model.safetensors": weights})
    (tmp_path / "adapter_config.json").touch()
    with pytest.raises(AfterDeleteError, match="adapter_config"):
        _refuse_strays(spec, tmp_path, {"model.safetensors": weights})
