"""data/frozen/<study>.json: committed keys and digests of a study, and the comparison with them.

What is deterministic must match everywhere. Replies of a model are deterministic for one engine build on
one kind of processor: where both are among those that the file was frozen with, they must match too;
elsewhere the replies that differ are named, and what follows from them is noted, not failed.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from afterdelete.core.artifacts import read_artifact
from afterdelete.core.atomic import write_text
from afterdelete.core.canonical import sha256_text
from afterdelete.core.errors import AfterDeleteError
from afterdelete.core.manifest import read_manifest
from afterdelete.plan.node import MODEL_STAGES, Node
from afterdelete.plan.status import data_path
from afterdelete.plan.study import StudyPlan

if TYPE_CHECKING:
    from afterdelete.verify.check import Check

SHOWN = 8
REPLY_HEX = 12


@dataclass(frozen=True)
class Frozen:
    """What was frozen: logical digest by artifact, reply hashes by model artifact, and by which machines."""

    study: str
    digests: dict[str, str]
    replies: dict[str, dict[str, str]]
    machines: list[dict[str, str]]


def frozen_path(study: str, root: Path = Path("data/frozen")) -> Path:
    """The committed file of a study."""
    return root / f"{study}.json"


def load(path: Path) -> Frozen:
    """Read a frozen file. Raises AfterDeleteError naming it, also if it is of another study."""
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        kinds = {"study": str, "digests": dict, "replies": dict, "machines": list}
        if not all(isinstance(stored[name], kind) for name, kind in kinds.items()):
            raise TypeError("a field is not of its type")
        if stored["study"] != path.stem:
            raise ValueError(f"it is of study {stored['study']}")
        return Frozen(**{name: stored[name] for name in kinds})
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise AfterDeleteError(
            f"{path} is not a frozen file of {path.stem}: {error}", "restore it from the repository"
        ) from error


def save(frozen: Frozen, path: Path) -> None:
    """Write a frozen file, sorted, so that a change is a small diff."""
    stored = {
        "study": frozen.study,
        "machines": frozen.machines,
        "digests": dict(sorted(frozen.digests.items())),
        "replies": {name: dict(sorted(each.items())) for name, each in sorted(frozen.replies.items())},
    }
    write_text(path, json.dumps(stored, indent=0) + "\n")


def capture(plan: StudyPlan, checks: list[Check], known: Frozen | None) -> Frozen:
    """Freeze a verified study. Raises AfterDeleteError if any artifact differs.

    Where the study's digests are those of ``known``, this machine is added to its list: the same bytes
    were made here too.
    """
    wrong = [check for check in checks if check.problems]
    if wrong:
        raise AfterDeleteError(
            f"study {plan.name} does not verify: {wrong[0].artifact}: {wrong[0].problems[0]}"
            + (f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""),
            "mend that first; nothing was frozen",
        )
    digests = {check.artifact: check.digest for check in checks if check.stage != "report"}
    replies = {
        f"{node.directory}/{shard}": reply_hashes(plan, node, shard)
        for node, shard in plan.artifacts()
        if node.stage in MODEL_STAGES
    }
    machines = known.machines if known is not None and known.digests == digests else []
    for machine in machines_of(plan):
        if machine not in machines:
            machines = [*machines, machine]
    return Frozen(plan.name, digests, replies, machines)


def compare(plan: StudyPlan, frozen: Frozen, checks: dict[str, Check]) -> list[str]:
    """Add to each check what differs from the frozen file; returns frozen artifacts the study has no more."""
    known_machine = all(machine in frozen.machines for machine in machines_of(plan))
    tainted: set[str] = set()
    for node, shard in plan.artifacts():
        if node.stage == "report":
            continue
        name = f"{node.directory}/{shard}"
        check = checks[name]
        if check.problems:
            continue
        if name not in frozen.digests:
            check.problems.append("not in the frozen file: configuration or code gives it another key")
            continue
        if check.digest == frozen.digests[name]:
            continue
        asks = node.stage in MODEL_STAGES
        through_model = asks or any(upstream.directory in tainted for upstream in node.inputs.values())
        if not through_model:
            check.problems.append(f"logical digest is {check.digest}, frozen is {frozen.digests[name]}")
            continue
        tainted.add(node.directory)
        detail = _replies_that_differ(plan, node, shard, frozen) if asks else "follows from replies"
        (check.problems if known_machine else check.notes).append(f"differs from frozen: {detail}")
    return sorted(set(frozen.digests) - set(checks))


def reply_hashes(plan: StudyPlan, node: Node, shard: str) -> dict[str, str]:
    """Short hash of every raw reply of a model artifact, by profile, world and turn."""
    rows = read_artifact(data_path(plan, node, shard), node.key).select(
        ["profile_id", "world", "turn", "reply"]
    )
    return {
        f"{row['profile_id']}/{row['world']}/{row['turn']}": sha256_text(row["reply"])[:REPLY_HEX]
        for row in rows.to_pylist()
    }


def _replies_that_differ(plan: StudyPlan, node: Node, shard: str, frozen: Frozen) -> str:
    now, then = reply_hashes(plan, node, shard), frozen.replies.get(f"{node.directory}/{shard}", {})
    changed = sorted(at for at in set(now) | set(then) if now.get(at) != then.get(at))
    if not changed:
        return "replies are the same, other columns differ (token ids or hashes)"
    more = f" and {len(changed) - SHOWN} more" if len(changed) > SHOWN else ""
    return f"{len(changed)} of {len(now)} replies: {', '.join(changed[:SHOWN])}{more}"


def machines_of(plan: StudyPlan) -> list[dict[str, str]]:
    """Processor and engine of every worker that called a model in this study, each once."""
    found: list[dict[str, str]] = []
    for node, shard in plan.artifacts():
        if node.stage not in MODEL_STAGES:
            continue
        try:
            provenance: dict[str, Any] = read_manifest(data_path(plan, node, shard))["provenance"]
        except (AfterDeleteError, KeyError):
            continue
        engine = provenance.get("engine") or {}
        packages = engine.get("packages") or {}
        machine = {
            "cpu": str(provenance.get("cpu", "")),
            "engine": str(engine.get("engine", "")),
            "device": str(engine.get("device", "")),
            **{
                name: str(packages[name])
                for name in ("xllamacpp", "transformers", "torch")
                if name in packages
            },
        }
        if machine not in found:
            found.append(machine)
    return found
