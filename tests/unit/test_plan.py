"""Keys and sharing: the graph of a study is what design and configuration say, before anything runs."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from afterdelete.config.load import Config
from afterdelete.core.canonical import content_key
from afterdelete.core.yamlfile import load_yaml
from afterdelete.plan.node import MODEL_STAGES
from afterdelete.plan.study import Cell, StudyPlan, plan_study

SHIPPED = Path(__file__).resolve().parents[2] / "config"


def _plan(config_dir: Path = SHIPPED, study: str = "quick", **overrides: Any) -> StudyPlan:
    return plan_study(Config(config_dir, tuple(overrides.items())), study)


def _cell(plan: StudyPlan, **wanted: str) -> Cell:
    found = [c for c in plan.cells if all(getattr(c, name) == value for name, value in wanted.items())]
    assert len(found) == 1, found
    return found[0]


HEADLINE = {
    "split": "iid",
    "memory": "hierarchical",
    "deletion": "exact",
    "auditor": "direct",
    "audit_contract": "aligned",
}


def test_quick_asks_at_most_400_requests() -> None:
    plan = _plan()
    assert plan.request_bound() <= 400
    assert plan.study.max_requests == 400


def test_quick_holds_the_cells_it_promises() -> None:
    cells = {
        (c.split, c.memory, c.deletion, c.auditor, c.audit_contract, c.gate, c.activation_contract)
        for c in _plan().cells
    }
    exact = ("iid", "hierarchical", "exact")
    assert cells == {
        (*exact, "direct", "aligned", "off", "aligned"),
        (*exact, "direct", "aligned", "on", "aligned"),
        (*exact, "direct", "aligned", "off", "legacy"),
        (*exact, "direct", "legacy", "", ""),
        (*exact, "paraphrase", "aligned", "", ""),
        (*exact, "expert", "aligned", "", ""),
        ("iid", "flat", "exact", "direct", "aligned", "", ""),
        ("iid", "hierarchical", "closure", "direct", "aligned", "off", "aligned"),
        ("iid", "hierarchical", "group", "direct", "aligned", "", ""),
        ("iid", "hierarchical", "none", "direct", "aligned", "", ""),
        ("iid", "flat", "none", "direct", "aligned", "", ""),
        ("ood", "hierarchical", "exact", "direct", "aligned", "off", "aligned"),
        ("ood", "hierarchical", "exact", "direct", "aligned", "on", "aligned"),
    }


def test_cells_share_what_they_agree_on() -> None:
    plan = _plan()
    off = _cell(plan, **HEADLINE, gate="off", activation_contract="aligned")
    on = _cell(plan, **HEADLINE, gate="on")
    legacy = _cell(plan, **HEADLINE, gate="off", activation_contract="legacy")
    assert off.nodes["audit"] is on.nodes["audit"] is legacy.nodes["audit"]
    assert off.nodes["commit"] is legacy.nodes["commit"] is not on.nodes["commit"]
    assert len({cell.nodes["activate"].key for cell in (off, on, legacy)}) == 3


def test_keys_are_unique_and_recomputable() -> None:
    nodes = list(_plan().nodes.values())
    assert len({node.key for node in nodes}) == len(nodes)
    for node in nodes:
        assert node.key == content_key(node.recipe)
        assert node.recipe["upstream"] == {role: up.key for role, up in node.inputs.items()}


def test_evaluator_side_words_stay_out_of_paths() -> None:
    for directory in _plan().nodes:
        assert not {"forget", "clean", "retained"} & set(directory.replace("/", "-").split("-"))


def _changed(before: StudyPlan, after: StudyPlan) -> set[str]:
    """Stages that have a node in ``after`` which ``before`` had not."""
    return {after.nodes[name].stage for name in set(after.nodes) - set(before.nodes)}


@pytest.fixture
def config_dir(tmp_path: Path) -> Path:
    return Path(shutil.copytree(SHIPPED, tmp_path / "config"))


def _edit(path: Path, **changes: Any) -> None:
    path.write_text(yaml.safe_dump({**load_yaml(path), **changes}, sort_keys=False), encoding="utf-8")


def test_what_each_change_makes_new(config_dir: Path) -> None:
    before = _plan(config_dir)
    tail = {"scored", "summary", "report"}
    assert _changed(before, _plan(config_dir)) == set()
    assert _changed(before, _plan(config_dir, bootstrap={"resamples": 500})) == {
        "headline",
        "summary",
        "report",
    }
    moved = _plan(config_dir, seeds={"ood": 1})
    assert {
        node.label[:3]
        for node in moved.nodes.values()
        if node.stage == "audit" and node.directory not in before.nodes
    }
    _edit(config_dir / "operators.yaml", activation_probe="Please tell me the {attribute}.")
    assert _changed(before, _plan(config_dir)) == {"activate", "headline"} | tail


def test_wording_of_one_contract_touches_only_its_cells(config_dir: Path) -> None:
    before = _plan(config_dir)
    _edit(config_dir / "contracts" / "legacy.yaml", request="Reply as you like.")
    after = _plan(config_dir)
    new = [after.nodes[name] for name in set(after.nodes) - set(before.nodes)]
    calling = {node.label for node in new if node.stage in MODEL_STAGES}
    assert all("legacy" in label for label in calling)
    assert len(calling) == 2


def test_a_contract_s_description_changes_nothing(config_dir: Path) -> None:
    before = _plan(config_dir)
    _edit(config_dir / "contracts" / "legacy.yaml", description="other words")
    assert _changed(before, _plan(config_dir)) == set()


def test_growing_a_panel_keeps_its_shards(config_dir: Path) -> None:
    before = {str(node.path(shard)) for node, shard in _plan(config_dir).artifacts() if node.stage == "audit"}
    panels = load_yaml(config_dir / "panels.yaml")
    panels["quick-iid"]["stop"] += 16
    _edit(config_dir / "panels.yaml", **panels)
    _edit(config_dir / "studies" / "quick.yaml", max_requests=None)
    after = {str(node.path(shard)) for node, shard in _plan(config_dir).artifacts() if node.stage == "audit"}
    assert before < after


def test_the_primary_study_is_the_paper_s_block() -> None:
    plan = _plan(study="primary", **{}) if _pinned("qwen2.5-7b-instruct") else None
    if plan is None:
        pytest.skip("the primary model's revision is not pinned")
    assert {(c.memory, c.deletion) for c in plan.cells if c.deletion != "none"} == {
        ("hierarchical", "exact"),
        ("hierarchical", "closure"),
        ("hierarchical", "group"),
        ("flat", "exact"),
    }


def _pinned(model: str) -> bool:
    return "PIN-ME" not in (SHIPPED / "models" / f"{model}.yaml").read_text(encoding="utf-8")
