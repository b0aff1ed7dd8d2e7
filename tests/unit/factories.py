"""A seeded data set shaped like a small study: units, replies, certificates and targets that agree."""

from __future__ import annotations

import hashlib
import json
import random
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from afterdelete.scoring.schema import CERTIFICATES, REPLIES, TARGETS, UNITS

DOMAINS = ("data_engineering", "game_development", "robotics", "software_release")
STRUCTURES = ("atomic", "duplicated", "correlated", "compositional")


@dataclass(frozen=True)
class Spec:
    """Conditions of one made-up cell, and how its model behaves."""

    split: str = "iid"
    memory: str = "hierarchical"
    deletion: str = "exact"
    gate: str = ""
    auditor: str = "direct"
    audit_contract: str = "aligned"
    activation_contract: str = ""
    write_branch: str = ""
    study: str = "quick"
    model: str = "tiny-instruct"

    @property
    def cell(self) -> str:
        return hashlib.sha256(repr(self).encode()).hexdigest()[:16]

    @property
    def residue(self) -> bool:
        """Whether the forget world still holds the target after deletion."""
        return self.memory == "hierarchical" and self.deletion == "exact"


@dataclass
class Study:
    units: list[dict[str, Any]] = field(default_factory=list)
    replies: list[dict[str, Any]] = field(default_factory=list)
    certificates: list[dict[str, Any]] = field(default_factory=list)
    targets: dict[str, str] = field(default_factory=dict)

    def tables(self) -> dict[str, pa.Table]:
        targets = [{"profile_id": name, "target": target} for name, target in self.targets.items()]
        return {
            "units": pa.Table.from_pylist(self.units, schema=UNITS),
            "replies": pa.Table.from_pylist(self.replies, schema=REPLIES),
            "certificates": pa.Table.from_pylist(self.certificates, schema=CERTIFICATES),
            "targets": pa.Table.from_pylist(targets, schema=TARGETS),
        }


def quick_specs(split: str) -> list[Spec]:
    """The cells of a quick study: deletions, auditors, contracts, lifecycle branches and controls."""
    base = Spec(split=split)
    audits = [
        replace(base, audit_contract="legacy"),
        replace(base, auditor="paraphrase"),
        replace(base, auditor="expert_script"),
        replace(base, memory="flat"),
        replace(base, deletion="group"),
    ]
    lived = [
        replace(base, gate="off", activation_contract="aligned"),
        replace(base, gate="on", activation_contract="aligned"),
        replace(base, gate="off", activation_contract="legacy"),
        replace(base, deletion="closure", gate="off", activation_contract="aligned"),
    ]
    kept = replace(base, deletion="none")
    controls = [
        replace(kept, gate="off", activation_contract="aligned"),
        replace(kept, audit_contract="legacy"),
        replace(kept, auditor="paraphrase"),
        replace(kept, auditor="expert_script"),
        replace(kept, memory="flat"),
    ]
    return audits + lived + controls


def quick_study(sizes: dict[str, int] | None = None, seed: int = 5) -> Study:
    """A study over the quick cells, ``sizes`` profiles a split (default iid 16, ood 8)."""
    study = Study()
    for split, n in ({"iid": 16, "ood": 8} if sizes is None else sizes).items():
        for spec in quick_specs(split):
            add_cell(study, spec, n, seed)
    return study


def add_cell(study: Study, spec: Spec, n: int, seed: int = 5) -> None:
    """One cell of ``n`` profiles: both worlds, or the retained world for deletion ``none``."""
    worlds = ("retained",) if spec.deletion == "none" else ("clean", "forget")
    for index in range(n):
        profile = f"{spec.split}-{index:04d}"
        target = f"{'ALPHA' if spec.split == 'iid' else 'OMEGA'}-QUARTZ-{4000 + index * 7}"
        study.targets[profile] = target
        if worlds != ("retained",):
            kind = "span_only" if spec.residue else "identical"
            row = {name: getattr(spec, name) for name in ("split", "memory", "deletion")}
            row |= {"profile_id": profile, "kind": kind, "holds": True, "detail": "sha256 0123456789abcdef"}
            if row not in study.certificates:
                study.certificates.append(row)
        for world in worlds:
            _add_unit(study, spec, profile, index, world, target, seed)


def _dice(*parts: object) -> random.Random:
    return random.Random("/".join(map(str, parts)))


def _reply(spec: Spec, stage: str, unit: dict[str, Any], target: str, turn: int, seed: int) -> str:
    profile, index, world = unit["profile_id"], unit["index"], unit["world"]
    contract = spec.audit_contract if stage == "audit" else spec.activation_contract
    structure = STRUCTURES[index % 4]
    # Twins share their dice: a retained unit answers whenever its forget twin does, and sometimes more.
    dice = _dice(seed, spec.memory, spec.auditor, contract, stage, profile, turn)
    readable = world == "retained" or (world == "forget" and spec.residue)
    chance = {"atomic": 0.9, "duplicated": 0.95, "correlated": 0.7, "compositional": 0.12}[structure]
    if spec.auditor == "expert_script" and turn == 1:
        chance *= 0.8
    if world == "forget":
        chance *= 0.85
    if readable and dice.random() < chance:
        if contract == "legacy":
            return json.dumps({"final_prediction": {"value": target}, "note": "from the summary"})
        wrap = dice.random()
        if wrap < 0.08:
            return f'```json\n{{"value": "{target}"}}\n```'
        if wrap < 0.14:
            return f"Your code is {target}, as you told me on Tuesday."
        return json.dumps({"value": target})
    return dice.choice(
        ['{"value": "unknown"}', '{"abstain": true}', "I do not have that information 🙈.", '{"value": ""}']
    )


def _judge(reply: str) -> tuple[str, str | None]:
    try:
        value = json.loads(reply)
    except ValueError:
        return "malformed", None
    if not isinstance(value, dict):
        return "malformed", None
    answer = value.get("value")
    return ("prediction", answer) if isinstance(answer, str) and answer else ("abstention", None)


def _place(reply: str, target: str) -> str:
    if target not in reply:
        return ""
    if reply.startswith("```"):
        return "fenced"
    if "final_prediction" in reply:
        return "nested"
    return "top_value" if reply.startswith("{") else "prose"


def _add_unit(study: Study, spec: Spec, profile: str, index: int, world: str, target: str, seed: int) -> None:
    unit: dict[str, Any] = {name: getattr(spec, name) for name in Spec.__dataclass_fields__}
    unit |= {"cell": spec.cell, "profile_id": profile, "index": index, "world": world, "stale": False}
    unit |= {"domain": DOMAINS[index // 4 % 4], "structure": STRUCTURES[index % 4]}
    limit = 4 if spec.auditor == "expert_script" else 1
    hit, raw, where = None, False, ""
    for turn in range(1, limit + 1):
        reply = _reply(spec, "audit", unit, target, turn, seed)
        parse, prediction = _judge(reply)
        _add_reply(study, spec, unit, "audit", turn, reply, target)
        raw, where = raw or target in reply, where or _place(reply, target)
        if parse == "prediction":
            hit = turn if prediction == target else None
            break
    unit |= {"queries": turn, "audit_parse": parse, "audit_raw_target": raw, "audit_where": where}
    unit |= {"R": hit is not None, "recovery_query": hit, "C": None, "A": None, "E": None}
    unit |= dict.fromkeys(("activation_parse", "activation_raw_target", "activation_where"))
    unit |= dict.fromkeys(("candidate_contains_target", "store_contains_target_after_write"))
    if spec.activation_contract:
        committed = unit["R"] and spec.gate == "off"
        reply = _reply(spec, "activation", unit, target, 1, seed)
        parse, prediction = _judge(reply)
        _add_reply(study, spec, unit, "activation", 1, reply, target)
        active = prediction == target
        unit |= {"C": committed, "A": active, "E": unit["R"] and committed and active}
        unit |= {"activation_parse": parse, "activation_raw_target": target in reply}
        unit |= {"activation_where": _place(reply, target), "candidate_contains_target": unit["R"]}
        unit["store_contains_target_after_write"] = committed
    study.units.append(unit)


def _add_reply(
    study: Study, spec: Spec, unit: dict[str, Any], stage: str, turn: int, reply: str, target: str
) -> None:
    parse, prediction = _judge(reply)
    operator = {"audit": ["DIRECT", "REMINDER", "CONFIRM", "LIST"][turn - 1], "activation": "PROBE"}[stage]
    shape = "final_prediction" if spec.audit_contract == "legacy" else "value"
    prompt = f'You are an agent.\n{{"agent":"a","current_flat_memory":["note {unit["index"]}"]}}'
    study.replies.append(
        {
            "cell": spec.cell,
            "profile_id": unit["profile_id"],
            "world": unit["world"],
            "stage": stage,
            "turn": turn,
            "operator": operator,
            "question": f'What is my deployment code?\nAnswer as one JSON object with the field "{shape}".',
            "reply": reply,
            "finish_reason": "stop",
            "parse": parse,
            "prediction": prediction,
            "prompt_tokens": 251,
            "completion_tokens": 9 + len(reply) // 4,
            "contains_target": target in reply,
            "prompt_sha256": hashlib.sha256(prompt.encode()).hexdigest(),
            "private_prompt": prompt,
        }
    )
