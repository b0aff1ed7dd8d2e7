"""Stage ``audit``: episodes of one auditor over the profiles of one shard, in every world given.

Episodes advance in lockstep: all first queries, then all second queries, and so on, so that an engine sees
large batches and requests that share a world state stand together. Twins are adjacent.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from afterdelete.auditors.base import Ask, Auditor, Exchange, Observation, Submit
from afterdelete.core.errors import AfterDeleteError
from afterdelete.engines.base import ChatRequest
from afterdelete.lifecycle.exchange import Model, to_table, turn_row
from afterdelete.memory.state import State
from afterdelete.prompts.parse import Parsed
from afterdelete.prompts.private import Turn, render

MAX_QUERIES = 10


@dataclass
class _Episode:
    """One auditor on one profile in one world."""

    world: str
    state: State
    turns: list[Turn] = field(default_factory=list)
    history: list[Exchange] = field(default_factory=list)
    rows: list[dict[str, Any]] = field(default_factory=list)
    over: bool = False


@dataclass(frozen=True)
class AuditPlan:
    """How to audit: operator templates by name (``{attribute}`` is filled in), the response contract's
    request, the protocol parser, and how many queries an episode may ask (1 to 10)."""

    operators: dict[str, str]
    request: str
    parse: Callable[[str], Parsed]
    max_queries: int


def run(worlds: dict[str, list[State]], auditor: Auditor, plan: AuditPlan, model: Model) -> pa.Table:
    """Audit every profile in every world of ``worlds``; one row a raw reply (``TURN_SCHEMA``).

    Raises AfterDeleteError when the worlds do not hold the same profiles or an auditor breaks the protocol.
    """
    if not 1 <= plan.max_queries <= MAX_QUERIES:
        raise AfterDeleteError(f"max_queries is {plan.max_queries}", f"use 1 to {MAX_QUERIES}")
    episodes = list(_episodes(worlds))
    while True:
        asking = [(episode, name) for episode in episodes if (name := _advance(episode, auditor, plan))]
        if not asking:
            break
        _ask(asking, plan, model)
    return to_table([row for episode in episodes for row in episode.rows])


def _episodes(worlds: dict[str, list[State]]) -> list[_Episode]:
    ids = {world: [state.profile_id for state in states] for world, states in worlds.items()}
    if len({tuple(each) for each in ids.values()}) != 1:
        raise AfterDeleteError("the worlds of one audit hold different profiles", "report this as a bug")
    columns = [[_Episode(world, state) for state in states] for world, states in worlds.items()]
    return [episode for twins in zip(*columns, strict=True) for episode in twins]


def _advance(episode: _Episode, auditor: Auditor, plan: AuditPlan) -> str:
    """Let the auditor act; the name of the operator to ask, or '' when the episode is over."""
    if episode.over:
        return ""
    seen = Observation(
        attribute=episode.state.attribute,
        domain=episode.state.domain,
        operators=tuple(plan.operators),
        history=tuple(episode.history),
        remaining=plan.max_queries - len(episode.history),
    )
    act = auditor.act(seen)
    found = seen.history[-1].prediction if seen.history else None
    if found is not None and act != Submit(found):
        # Scoring reads stored replies by this same rule, so an auditor may not depart from it.
        raise AfterDeleteError("the auditor did not submit its first parsed prediction", "mend the auditor")
    if isinstance(act, Ask):
        if act.operator not in plan.operators:
            raise AfterDeleteError(
                f"the auditor asked an unknown operator {act.operator!r}",
                f"known: {', '.join(plan.operators)}",
            )
        if seen.remaining <= 0:
            raise AfterDeleteError("the auditor asked beyond its budget", "mend the auditor")
        return act.operator
    episode.over = True
    if isinstance(act, Submit):
        _mark_submission(episode, act.prediction)
    return ""


def _mark_submission(episode: _Episode, prediction: str) -> None:
    for row in reversed(episode.rows):
        if row["prediction"] == prediction:
            row["submitted"] = True
            return
    raise AfterDeleteError("the auditor submitted what no reply had parsed as", "mend the auditor")


def _ask(asking: list[tuple[_Episode, str]], plan: AuditPlan, model: Model) -> None:
    prompts = [render(episode.state, tuple(episode.turns)) for episode, _ in asking]
    questions = [
        plan.operators[name].replace("{attribute}", episode.state.attribute) for episode, name in asking
    ]
    requests = [
        ChatRequest(prompt.text, f"{question}\n{plan.request}", prompt.stable)
        for prompt, question in zip(prompts, questions, strict=True)
    ]
    for (episode, name), prompt, question, request, asked in zip(
        asking, prompts, questions, requests, model.ask(requests), strict=True
    ):
        parsed = plan.parse(asked.reply.text)
        episode.rows.append(
            turn_row(
                profile_id=episode.state.profile_id,
                index=episode.state.index,
                world=episode.world,
                turn=len(episode.rows) + 1,
                operator=name,
                question=request.user,
                prompt=prompt,
                asked=asked,
                parsed=parsed,
                submitted=False,
            )
        )
        episode.turns.append(Turn(question, asked.reply.text))
        episode.history.append(Exchange(name, asked.reply.text, parsed.parse, parsed.prediction))
