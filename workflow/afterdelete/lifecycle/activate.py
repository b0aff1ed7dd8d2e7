"""Stage ``activate``: a fixed probe in a fresh session.

The post-write store is rendered anew; prior turns and auditor state are gone.
"""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from afterdelete.engines.base import ChatRequest
from afterdelete.lifecycle.exchange import Model, to_table, turn_row
from afterdelete.memory.state import from_row
from afterdelete.prompts.parse import Parsed
from afterdelete.prompts.private import render

PROBE = "activation"


def run(commit: pa.Table, probe: str, request: str, parse: Callable[[str], Parsed], model: Model) -> pa.Table:
    """One probe of every (profile, world) of a commit table; one row a raw reply (``TURN_SCHEMA``)."""
    rows = commit.to_pylist()
    states = [from_row(row) for row in rows]
    prompts = [render(state) for state in states]
    requests = [
        ChatRequest(prompt.text, f"{probe.replace('{attribute}', state.attribute)}\n{request}", prompt.stable)
        for prompt, state in zip(prompts, states, strict=True)
    ]
    turns = []
    for row, state, prompt, asked_for, asked in zip(
        rows, states, prompts, requests, model.ask(requests), strict=True
    ):
        parsed = parse(asked.reply.text)
        turns.append(
            turn_row(
                profile_id=state.profile_id,
                index=state.index,
                world=row["world"],
                turn=1,
                operator=PROBE,
                question=asked_for.user,
                prompt=prompt,
                asked=asked,
                parsed=parsed,
                submitted=parsed.prediction is not None,
            )
        )
    return to_table(turns)
