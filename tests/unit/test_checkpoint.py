"""A model job that dies goes on after its last finished block, and its artifact does not show it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from afterdelete.auditors import load
from afterdelete.core.errors import AfterDeleteError
from afterdelete.engines.base import ChatRequest, Reply
from afterdelete.lifecycle import audit
from afterdelete.lifecycle.checkpoint import Checkpoint
from afterdelete.lifecycle.exchange import Model
from afterdelete.memory.state import Record, State
from afterdelete.prompts.parse import parser

JOB = "audit-0123456789abcdef-000000-000008"
PROFILES = 5


class Killed(Exception):
    pass


class BatchEngine:
    """A reply tells who shared its batch, as batched floating point does. Dies after some replies."""

    def __init__(self, batch: int, dies_after: int | None = None) -> None:
        self.batch = batch
        self.left = dies_after
        self.calls = 0

    def generate(self, requests: Sequence[ChatRequest], on_reply: Any = None) -> list[Reply]:
        replies = []
        for start in range(0, len(requests), self.batch):
            group = requests[start : start + self.batch]
            mates = "|".join(f"{hash_of(r)}" for r in group)
            for request in group:
                if self.left is not None:
                    if self.left == 0:
                        raise Killed
                    self.left -= 1
                self.calls += 1
                replies.append(Reply(f"{hash_of(request)} é of {mates}", "stop", 10, 5, "r", "t"))
                on_reply(len(replies) - 1, replies[-1])
        return replies


def hash_of(request: ChatRequest) -> str:
    return str(len(request.private_prompt)) + request.user[:12]


def _states(world: str) -> list[State]:
    return [
        State(f"iid-{at:06d}", at, "Ada", "robotics", "dock code", (Record("r", f"{world} {'x' * at}"),))
        for at in range(PROFILES)
    ]


def _audit(engine: BatchEngine, checkpoint: Checkpoint | None) -> tuple[pa.Table, Model]:
    model = Model(engine, checkpoint=checkpoint)  # type: ignore[arg-type]
    plan = audit.AuditPlan({f"op{at}": f"{at}? {{attribute}}" for at in range(7)}, "Reply.", parser(1), 3)
    worlds = {"forget": _states("told"), "clean": _states("never told")}
    auditor = load("fixed_script", {"order": ["op0", "op3", "op5"]})
    return audit.run(worlds, auditor, plan, model), model


@pytest.mark.parametrize("batch", [1, 4])
@pytest.mark.parametrize("dies_after", [1, 7, 10, 13, 29])
def test_an_interrupted_job_gives_the_same_table(tmp_path: Path, batch: int, dies_after: int) -> None:
    whole, _ = _audit(BatchEngine(batch), None)
    path = tmp_path / "job.jsonl"
    with pytest.raises(Killed):
        _audit(BatchEngine(batch, dies_after), Checkpoint(path, JOB, block=batch, maker={"host": "n1"}))
    engine = BatchEngine(batch)
    checkpoint = Checkpoint(path, JOB, block=batch, maker={"host": "n2"})
    table, model = _audit(engine, checkpoint)
    assert table.equals(whole)
    assert model.restored + model.generated == whole.num_rows
    assert engine.calls == model.generated
    # Ten requests a round: what was finished in whole blocks is not asked again.
    rounds, rest = divmod(dies_after, 2 * PROFILES)
    assert model.restored == rounds * 2 * PROFILES + rest // batch * batch
    assert checkpoint.makers == ([{"host": "n1"}] if model.restored else [])


@pytest.mark.parametrize("cut", range(1, 400, 37))
def test_a_torn_end_costs_its_block_alone(tmp_path: Path, cut: int) -> None:
    whole, _ = _audit(BatchEngine(4), None)
    path = tmp_path / "job.jsonl"
    with pytest.raises(Killed):
        _audit(BatchEngine(4, 17), Checkpoint(path, JOB, block=4))
    path.write_bytes(path.read_bytes()[:-cut])
    table, model = _audit(BatchEngine(4), Checkpoint(path, JOB, block=4))
    assert table.equals(whole)
    assert 0 < model.restored <= 14
    # What was added after the torn line can be read again.
    _, again = _audit(BatchEngine(4), Checkpoint(path, JOB, block=4))
    assert again.generated == 0


def test_a_changed_reply_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "job.jsonl"
    whole, _ = _audit(BatchEngine(1), Checkpoint(path, JOB))
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace(" of ", " or ", 1), encoding="utf-8")
    table, model = _audit(BatchEngine(1), Checkpoint(path, JOB))
    assert table.equals(whole)
    assert (model.restored, model.generated) == (whole.num_rows - 10, 10)


def test_the_checkpoint_of_another_job_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "job.jsonl"
    _audit(BatchEngine(1), Checkpoint(path, JOB.replace("0123", "ffff")))
    with pytest.raises(AfterDeleteError, match="another job"):
        Checkpoint(path, JOB)
    # Its lines under a header of this job are worth nothing either.
    lines = path.read_text(encoding="utf-8").splitlines()
    header = json.dumps({"job": JOB, "maker": {}})
    path.write_text("\n".join([header, *(line for line in lines if '"job"' not in line)]), encoding="utf-8")
    _, model = _audit(BatchEngine(1), Checkpoint(path, JOB))
    assert model.restored == 0


def test_a_full_disk_costs_the_checkpoint_not_the_job(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("not a directory")
    whole, _ = _audit(BatchEngine(1), None)
    with pytest.raises(AfterDeleteError, match="cannot read"):
        Checkpoint(tmp_path / "file" / "job.jsonl", JOB)
    (tmp_path / "folder.jsonl").mkdir()
    path = tmp_path / "later.jsonl"
    checkpoint = Checkpoint(path, JOB)
    path.mkdir()
    table, _ = _audit(BatchEngine(1), checkpoint)
    assert table.equals(whole)
    assert capsys.readouterr().err.count("cannot write") == 1
