"""What a change plans, on a finished quick study: the planned job list is the product."""

from __future__ import annotations

import pytest

from tests.rules.harness import Tree

CALLING = {"audit", "activate"}


def test_a_finished_tree_plans_nothing(finished: Tree) -> None:
    assert finished.planned() == []
    assert "Nothing to be done" in finished.run("--dry-run")


def test_wording_of_the_legacy_contract_plans_only_its_cells(tree: Tree) -> None:
    tree.edit("contracts/legacy.yaml", request="Answer in a nested object please.")
    jobs = tree.planned()
    calling = [output for rule, output in jobs if rule in CALLING]
    assert len(calling) == 2
    assert all("legacy" in output for output in calling)
    assert {rule for rule, _ in jobs} == {"audit", "activate", "scored", "summary", "report"}
    scored = [output for rule, output in jobs if rule == "scored"]
    assert len(scored) == 2


def test_a_scoring_parser_plans_no_job_that_calls_a_model(tree: Tree) -> None:
    old = tree.artifacts("scored")
    tree.edit("config.yaml", scoring_parser=2)
    assert {rule for rule, _ in tree.planned()} == {"scored", "headline", "summary", "report"}
    tree.run()
    assert set(old) < set(tree.artifacts("scored"))


def test_a_protocol_parser_plans_audit_commit_and_what_follows(tree: Tree) -> None:
    tree.edit("config.yaml", protocol_parser=2)
    jobs = tree.planned()
    rules = {rule for rule, _ in jobs}
    assert rules == {"audit", "commit", "activate", "scored", "headline", "summary", "report"}
    assert sum(rule == "audit" for rule, _ in jobs) == 10


def test_an_activation_contract_alone_plans_its_activations(tree: Tree) -> None:
    tree.edit("operators.yaml", activation_probe="Tell me the {attribute} now.")
    rules = [rule for rule, _ in tree.planned()]
    assert "audit" not in rules
    assert rules.count("activate") == 6


def test_bootstrap_plans_statistics_alone(tree: Tree) -> None:
    tree.edit("config.yaml", bootstrap={"resamples": 500, "seed": 1})
    assert {rule for rule, _ in tree.planned()} == {"headline", "summary", "report"}


def test_a_grown_panel_keeps_its_old_shards(tree: Tree) -> None:
    panels = tree.read("panels.yaml")
    panels["quick-iid"]["stop"] += 16
    tree.edit("panels.yaml", **panels)
    tree.edit("studies/quick.yaml", max_requests=None)
    outputs = [output for rule, output in tree.planned() if rule == "audit"]
    assert len(outputs) == 9
    assert all("004112-004128" in output for output in outputs)


def test_reverting_a_change_plans_nothing(tree: Tree) -> None:
    before = tree.read("contracts/legacy.yaml")
    tree.edit("contracts/legacy.yaml", request="Answer in a nested object please.")
    tree.run()
    tree.write("contracts/legacy.yaml", before)
    assert tree.planned() == []


def test_descriptions_plan_no_stage_but_the_report(tree: Tree) -> None:
    tree.edit("contracts/legacy.yaml", description="other words")
    assert tree.planned() == []


@pytest.mark.parametrize("stage", ["deleted", "audit", "scored"])
def test_one_lost_artifact_is_redone_alone(tree: Tree, stage: str) -> None:
    lost = tree.artifacts(stage)[0]
    lost.unlink()
    assert tree.planned() == [(stage, str(lost.relative_to(tree.root)))]
    before = tree.digests()
    tree.run()
    assert tree.digests() == before


def test_a_lost_manifest_is_redone_alone(tree: Tree) -> None:
    lost = tree.artifacts("commit")[0]
    lost.with_suffix(".json").unlink()
    assert [rule for rule, _ in tree.planned()] == ["commit"]
