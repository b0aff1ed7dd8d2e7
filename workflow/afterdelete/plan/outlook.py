"""What a run would do, for people: jobs that call a model, why, how many requests, and how long they take."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from afterdelete.core.manifest import manifest_path
from afterdelete.plan.node import MODEL_STAGES, Node, shard_range
from afterdelete.plan.status import data_path, is_finished
from afterdelete.plan.study import StudyPlan

NEW, MISSING, DAMAGED = "new key", "missing", "damaged"


@dataclass(frozen=True)
class Due:
    """One artifact that is not finished, and why: nothing of its key was made here, this shard is missing,
    or what stands there is damaged."""

    node: Node
    shard: str
    reason: str

    @property
    def requests(self) -> int:
        """The most requests that the job can ask."""
        start, stop = shard_range(self.shard)
        return self.node.requests * (stop - start)


@dataclass(frozen=True)
class Rate:
    """How fast a model answered in finished jobs: requests over the seconds that they took."""

    requests: int
    seconds: float
    device: str

    def hours(self, requests: int) -> float:
        """Hours of one device for so many requests."""
        return requests * self.seconds / self.requests / 3600


def due(plan: StudyPlan) -> list[Due]:
    """Every artifact that a run would make, in pipeline order."""
    return [
        Due(node, shard, _reason(plan, node, shard))
        for node, shard in plan.artifacts()
        if not is_finished(plan, node, shard)
    ]


def outlook(plan: StudyPlan, left: list[Due]) -> list[str]:
    """Lines on the jobs of ``left`` that call a model: a line a cell, then a line a model."""
    calling = [each for each in left if each.node.stage in MODEL_STAGES]
    lines = []
    for node in dict.fromkeys(each.node for each in calling):
        jobs = [each for each in calling if each.node is node]
        reasons = ", ".join(f"{count} {reason}" for reason, count in Counter(j.reason for j in jobs).items())
        asked = sum(job.requests for job in jobs)
        lines.append(f"  {node.stage} {node.label}: {len(jobs)} jobs ({reasons}), at most {asked} requests")
    for model in dict.fromkeys(each.node.model for each in calling):
        asked = sum(each.requests for each in calling if each.node.model == model)
        lines.append(f"{model}: at most {asked} requests, {_time(recorded_rate(plan, model), asked)}")
    return lines


def recorded_rate(plan: StudyPlan, model: str) -> Rate | None:
    """The rate over every finished job of this model below the results, of any study; None without one.

    Requests taken up from a checkpoint count on neither side.
    """
    requests, seconds, devices = 0, 0.0, Counter[str]()
    root = Path(plan.config.main.results)
    for stage in MODEL_STAGES:
        for path in sorted(root.glob(f"{stage}/{model}-*/*.json")):
            try:
                manifest = json.loads(path.read_text(encoding="utf-8"))
                # Another model's name may begin with this one's.
                if manifest["recipe"]["parameters"]["model"] != _identity(plan, model):
                    continue
                made = manifest["provenance"]
                requests += int(made["requests"]["generated"])
                seconds += float(made["requests"]["seconds"])
                devices[str(made["engine"].get("device", ""))] += 1
            except (OSError, ValueError, KeyError, TypeError, AttributeError):
                continue  # whatever is wrong with it is said elsewhere; it is no evidence of a rate
    if not requests or not seconds:
        return None
    return Rate(requests, seconds, devices.most_common(1)[0][0])


def _identity(plan: StudyPlan, model: str) -> object:
    return next(
        node.recipe["parameters"]["model"]
        for node in plan.nodes.values()
        if node.stage in MODEL_STAGES and node.model == model
    )


def _time(rate: Rate | None, requests: int) -> str:
    if rate is None:
        return "no recorded rate yet"
    # An endpoint does not say what it computes on.
    kind = {"cpu": "CPU", "none": "CPU", "unknown": "endpoint"}.get(rate.device.lower(), "GPU")
    hours = rate.hours(requests)
    amount = f"{hours:.1f} {kind} hours" if hours >= 0.1 else f"{hours * 60:.1f} {kind} minutes"
    return f"at most {amount} ({rate.requests / rate.seconds:.2f} requests a second in finished jobs)"


def _reason(plan: StudyPlan, node: Node, shard: str) -> str:
    data = data_path(plan, node, shard)
    if data.exists() and manifest_path(data).exists():
        return DAMAGED
    return MISSING if data.parent.exists() else NEW
