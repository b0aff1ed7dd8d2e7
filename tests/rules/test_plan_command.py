"""`afterdelete plan`: what would call a model, why, and for how long."""

from __future__ import annotations

from pathlib import Path

from tests.rules.harness import SCRIPTED, Tree


def _plan(tree: Tree) -> str:
    done = tree.command("plan")
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_finished_tree_has_nothing_left(finished: Tree) -> None:
    text = _plan(finished)
    assert "left to do: 0, of which 0 call a model" in text
    assert "requests a second" not in text


def test_a_new_tree_has_no_recorded_rate(tmp_path: Path) -> None:
    text = _plan(Tree.make(tmp_path))
    assert "new key" in text
    assert "no recorded rate yet" in text


def test_each_reason_is_told_with_its_cell_and_an_estimate(tree: Tree) -> None:
    audits = tree.artifacts("audit")
    lost = next(path for path in audits if "flat-exact" in str(path))
    flipped = next(path for path in audits if "ood-" in str(path))
    lost.unlink()
    flipped.write_bytes(flipped.read_bytes()[:-1])
    tree.edit("contracts/legacy.yaml", request="Answer in a nested object please.")
    lines = [line for line in _plan(tree).splitlines() if line.startswith("  ")]
    assert len(lines) == 4
    assert sum("(1 missing)" in line and "flat-exact" in line for line in lines) == 1
    assert sum("(1 damaged)" in line and "ood-" in line for line in lines) == 1
    assert sum("(1 new key)" in line and "legacy" in line for line in lines) == 2
    assert "CPU minutes" in _plan(tree)


def test_rates_of_another_model_are_no_evidence(tree: Tree) -> None:
    tree.write("models/scripted-iid.yaml", {**SCRIPTED, "name": "scripted-iid", "script": "prose"})
    tree.edit("studies/quick.yaml", models=["scripted-iid"])
    assert "no recorded rate yet" in _plan(tree)
