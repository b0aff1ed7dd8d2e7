"""From a request to token ids, the same way for every engine that sees token ids."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from afterdelete.config.model_spec import ModelSpec
from afterdelete.core.errors import AfterDeleteError
from afterdelete.engines.base import ChatRequest
from afterdelete.engines.template import ChatTemplate, Rendered, literal_pattern

Tokenize = Callable[[Sequence[tuple[str, bool]]], list[int]]


@dataclass(frozen=True)
class Prompt:
    """A rendered request and the ids that the model is given."""

    rendered: Rendered
    ids: list[int]


class PromptBuilder:
    """Renders, tokenizes and checks.

    ``tokenize`` turns (text, may hold control tokens) pieces into ids and adds no BOS by itself;
    ``controls`` are the control tokens by id; ``adds_bos`` says whether the tokenizer on its own would
    begin every text with ``bos_id``.
    """

    def __init__(
        self,
        spec: ModelSpec,
        template: ChatTemplate,
        tokenize: Tokenize,
        *,
        controls: dict[int, str],
        bos_id: int | None,
        adds_bos: bool,
    ) -> None:
        self.spec = spec
        self.template = template
        self.controls = controls
        self.literals = literal_pattern(controls.values())
        self._tokenize = tokenize
        self._bos_id = bos_id
        self._adds_bos = adds_bos and bos_id is not None
        self._frame_controls = self._count_controls(tokenize([(template.frame, True)]))

    def build(self, request: ChatRequest) -> Prompt:
        """Raises ``AfterDeleteError`` if the prompt and a full reply do not fit the context."""
        rendered = self.template.render(request)
        ids = self._tokenize(rendered.segments(self.literals))
        if self._count_controls(ids) != self._frame_controls:
            raise AfterDeleteError(
                "text of the conversation joined the chat template into a control token",
                "report the model's name: its template puts content right beside a partial control token",
            )
        ids = self.with_bos(ids)
        needed = len(ids) + self.spec.max_new_tokens
        if needed > self.spec.context:
            raise AfterDeleteError(
                f"{self.spec.name}: a prompt of {len(ids)} tokens and {self.spec.max_new_tokens} for "
                f"the reply need {needed}, the context is {self.spec.context}",
                "raise context in the model's YAML, or shorten the memory",
            )
        return Prompt(rendered, ids)

    def with_bos(self, ids: list[int]) -> list[int]:
        """Exactly one BOS where the model wants one: the template's, else ours. Never two."""
        if self._bos_id is None:
            return ids
        if self._adds_bos and ids[:1] != [self._bos_id]:
            ids = [self._bos_id, *ids]
        # A model that adds none may still use the same token to begin each turn (SmolLM2 does).
        doubled = ids[:2] == [self._bos_id] * 2 or (self._adds_bos and ids.count(self._bos_id) != 1)
        if doubled:
            raise AfterDeleteError(
                f"{self.spec.name}: the chat template writes more than one BOS token",
                "use another model file",
            )
        return ids

    def _count_controls(self, ids: Sequence[int]) -> int:
        return sum(token in self.controls for token in ids)


def check_trained_context(spec: ModelSpec, trained: int | None) -> None:
    """Refuse a context that is longer than the model was trained for (tokens)."""
    if trained and spec.context > trained:
        raise AfterDeleteError(
            f"{spec.name}: context {spec.context} exceeds the {trained} tokens the model was trained for",
            "lower context in the model's YAML",
        )
