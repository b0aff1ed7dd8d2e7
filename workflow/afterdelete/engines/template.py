"""Renders a model's own chat template, and proves that the private prompt survives it.

The Jinja environment is configured as Hugging Face does for chat templates
(https://huggingface.co/docs/transformers/chat_templating_writing), so that a template means here what it
means there. Nothing is generated before :class:`ChatTemplate` has rendered sentinels: templates that drop
the system turn silently, refuse it, or read the clock are found out first.
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import jinja2
from jinja2 import nodes
from jinja2.ext import Extension
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from afterdelete.core.errors import AfterDeleteError
from afterdelete.engines.base import ChatRequest

MERGE_SEPARATOR = "\n\n"
# Lines, quotes, markup and a backslash: a template that escapes, trims or reflows content changes these.
_PRIVATE = 'SENTINEL private 5d1c.\n{"a": "<b> & c\\n", "é": []}'
_USER = 'SENTINEL user 9e47?\n{"field": "<d>"}'
_DATES = (datetime.datetime(2001, 2, 3), datetime.datetime(2034, 11, 28))


@dataclass(frozen=True)
class Rendered:
    """The text that a model sees; ``spans`` are the character ranges of private prompt and user text."""

    text: str
    spans: tuple[tuple[int, int], tuple[int, int]]
    stable_end: int

    def segments(self, literals: re.Pattern[str] | None, end: int | None = None) -> list[tuple[str, bool]]:
        """Cut ``text[:end]`` into (text, may hold control tokens) pieces for a tokenizer.

        Text of ours, of a memory or of an earlier reply may spell a control token, for example the one
        that ends a turn. Such a literal becomes a piece of its own that must be tokenized as plain text,
        so it cannot end the turn; all other text is tokenized as everyone else does it.
        """
        end = len(self.text) if end is None else end
        if literals is None:
            return [(self.text[:end], True)]
        pieces: list[tuple[str, bool]] = []
        done = 0
        for start, stop in self.spans:
            for match in literals.finditer(self.text, start, min(stop, end)):
                pieces.append((self.text[done : match.start()], True))
                pieces.append((match.group(), False))
                done = match.end()
        pieces.append((self.text[done:end], True))
        return [piece for piece in pieces if piece[0]]


def literal_pattern(control_tokens: Iterable[str]) -> re.Pattern[str] | None:
    """A pattern that finds any of the control tokens' texts, the longest first."""
    texts = sorted({text for text in control_tokens if text}, key=lambda text: (-len(text), text))
    return re.compile("|".join(map(re.escape, texts))) if texts else None


class _GenerationTag(Extension):
    """``{% generation %}``, by which some templates mark the assistant's words: its body, unchanged."""

    tags = {"generation"}  # noqa: RUF012 - Jinja's own interface

    def parse(self, parser: Parser) -> list[nodes.Node]:
        next(parser.stream)
        return list(parser.parse_statements(("name:endgeneration",), drop_needle=True))


class ChatTemplate:
    """One model's template under one system policy.

    ``native`` sends the private prompt as the system message, ``merge`` joins it and the user text with an
    empty line into one user message, ``fail`` refuses. ``template_date`` is what the template's clock says.
    """

    def __init__(
        self,
        source: str | None,
        *,
        system_role: str,
        bos_token: str = "",
        eos_token: str = "",
        template_date: datetime.date | None = None,
    ) -> None:
        if not source:
            raise AfterDeleteError("the model carries no chat template", "choose an instruction-tuned model")
        if system_role == "fail":
            raise AfterDeleteError(
                "the model's YAML says system_role: fail, so it takes no private prompt",
                "set system_role: native or system_role: merge",
            )
        self._merge = system_role == "merge"
        self._tokens = {"bos_token": bos_token, "eos_token": eos_token}
        fixed = datetime.datetime.combine(template_date, datetime.time()) if template_date else None
        self._now = fixed or _DATES[0]
        try:
            self._template = _environment(self._strftime_now).from_string(source)
        except jinja2.TemplateError as error:
            raise AfterDeleteError(
                f"the chat template does not parse: {error}", "use another model"
            ) from error
        self._prefix, self._middle, self._suffix = self._probe()
        if fixed is None:
            self._require_no_clock()

    def render(self, request: ChatRequest) -> Rendered:
        """Render one request; ``AfterDeleteError`` if either text is altered, moved or repeated."""
        private_start = len(self._prefix)
        private_end = private_start + len(request.private_prompt)
        user_start = private_end + len(self._middle)
        expected = self._prefix + request.private_prompt + self._middle + request.user + self._suffix
        if self._render(request.private_prompt, request.user) != expected:
            raise AfterDeleteError(
                "the chat template changes the private prompt or the user text",
                "remove leading and trailing blanks from them, or use a template that keeps content verbatim",
            )
        spans = ((private_start, private_end), (user_start, user_start + len(request.user)))
        return Rendered(expected, spans, private_start + request.stable_chars)

    @property
    def frame(self) -> str:
        """The template's own text around the two contents."""
        return self._prefix + self._middle + self._suffix

    def _render(self, private: str, user: str) -> str:
        if self._merge:
            messages = [{"role": "user", "content": private + MERGE_SEPARATOR + user}]
        else:
            messages = [{"role": "system", "content": private}, {"role": "user", "content": user}]
        try:
            return self._template.render(
                messages=messages, add_generation_prompt=True, tools=None, documents=None, **self._tokens
            )
        except (jinja2.TemplateError, TypeError, ValueError, KeyError) as error:
            raise AfterDeleteError(
                f"the chat template refuses the {'user' if self._merge else 'system'} message: {error}",
                "set template_date or use another model" if self._merge else "set system_role: merge",
            ) from error

    def _probe(self) -> tuple[str, str, str]:
        """The template's text before, between and after the two contents, found with sentinels."""
        text = self._render(_PRIVATE, _USER)
        role = "user" if self._merge else "system"
        found = text.count(_PRIVATE)
        if found != 1:
            what = "drops or alters" if found == 0 else f"repeats ({found} times)"
            raise AfterDeleteError(
                f"the chat template silently {what} the {role} message, where the private prompt is",
                "use another model" if self._merge else "set system_role: merge",
            )
        prefix, rest = text.split(_PRIVATE)
        if rest.count(_USER) != 1:
            raise AfterDeleteError(
                "the chat template does not show the user text verbatim after the private prompt",
                "use another model" if self._merge else "set system_role: merge",
            )
        middle, suffix = rest.split(_USER)
        return prefix, middle, suffix

    def _require_no_clock(self) -> None:
        first = self._render(_PRIVATE, _USER)
        self._now = _DATES[1]
        if self._render(_PRIVATE, _USER) != first:
            raise AfterDeleteError(
                "the chat template writes today's date into the prompt, so replies would change every day",
                "set template_date: YYYY-MM-DD in the model's YAML",
            )

    def _strftime_now(self, layout: str) -> str:
        return self._now.strftime(layout)


def _environment(strftime_now: Any) -> ImmutableSandboxedEnvironment:
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[_GenerationTag, "jinja2.ext.loopcontrols"]
    )
    environment.filters["tojson"] = _tojson
    environment.globals["raise_exception"] = _raise_exception
    environment.globals["strftime_now"] = strftime_now
    return environment


def _tojson(value: Any, ensure_ascii: bool = False, indent: int | None = None, **options: Any) -> str:
    # Jinja's own filter escapes <, > and & for HTML pages; a prompt is none.
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, **options)


def _raise_exception(message: str) -> None:
    raise jinja2.TemplateError(message)
