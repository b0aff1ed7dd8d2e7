"""Planning at scale: against a bare workflow of the same shape, in jobs, and on a finished tree."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from afterdelete.config.load import Config
from afterdelete.plan.study import StudyPlan, plan_study
from tests.rules.harness import ROOT, SCRIPTED, Tree

MODELS = 3
CONTRACTS = 10
AUDITORS = 5
SHARDS = 8
NO_OP_SECONDS = 6.0
LIMIT = 2.5
# The same jobs with the same files and no project around them: what Snakemake itself takes.
BARE = """
import json
GRAPH = json.load(open("graph.json"))
rule all:
    input: GRAPH["all"]
"""
BARE_RULE = """
rule {stage}:
    input: lambda wildcards: GRAPH[f"{stage}/{{wildcards.name}}/{{wildcards.shard}}"]
    output: "out/{stage}/{{name}}/{{shard}}.parquet", "out/{stage}/{{name}}/{{shard}}.json"
    shell: "touch {{output}}"
"""


def _study(root: Path, splits: list[str]) -> Tree:
    """3 models x splits x 200 cells x 8 shards."""
    tree = Tree.make(root, study="big")
    names = [f"scripted-{at}" for at in range(MODELS)]
    for name in names:
        tree.write(f"models/{name}.yaml", {**SCRIPTED, "name": name})
    contracts = [f"contract-{at}" for at in range(CONTRACTS)]
    for name in contracts:
        tree.write(f"contracts/{name}.yaml", {"description": name, "request": f"Answer {name}."})
    operators = list(tree.read("operators.yaml")["operators"])
    orders = itertools.islice(itertools.permutations(operators, 2), AUDITORS)
    auditors = {
        f"auditor-{at}": {"strategy": "fixed_script", "options": {"order": list(order)}}
        for at, order in enumerate(orders)
    }
    tree.write("auditors.yaml", auditors)
    size = 8
    tree.edit("config.yaml", shard_profiles=size)
    tree.write(
        "panels.yaml",
        {f"big-{split}": {"split": split, "start": 0, "stop": SHARDS * size} for split in splits},
    )
    cell = {"panel": "iid", "memory": "flat", "deletion": "exact"}
    block = {
        "panels": splits,
        "memory": ["flat", "hierarchical"],
        "deletion": ["exact", "closure"],
        "auditor": list(auditors),
        "audit_contract": contracts,
    }
    study = {
        "description": "a plan of about 20,000 jobs",
        "models": names,
        "panels": {split: f"big-{split}" for split in splits},
        "headline": {**cell, "auditor": "auditor-0", "audit_contract": "contract-0"},
        "cells": [block],
    }
    tree.write("studies/big.yaml", study)
    return tree


def _bare(root: Path, plan: StudyPlan) -> None:
    """A Snakefile with the jobs and files of ``plan``."""

    def files(directory: str, shard: str) -> list[str]:
        return [f"out/{directory}/{shard}.parquet", f"out/{directory}/{shard}.json"]

    graph: dict[str, list[str]] = {"all": []}
    for node, shard in plan.artifacts():
        inputs = [path for _, each, part in node.made_from(shard) for path in files(each.directory, part)]
        graph[f"{node.directory}/{shard}"] = inputs
        graph["all"] += files(node.directory, shard)
    root.mkdir()
    (root / "graph.json").write_text(json.dumps(graph))
    stages = dict.fromkeys(node.stage for node in plan.nodes.values())
    rules = "".join(BARE_RULE.format(stage=stage) for stage in stages)
    (root / "Snakefile").write_text(BARE + rules)


def _dry_run(directory: Path, *arguments: str) -> tuple[float, int]:
    """Seconds and planned jobs of a quiet dry run."""
    command = [sys.executable, "-m", "snakemake", "-n", "--quiet", "rules", "--directory", str(directory)]
    started = time.monotonic()
    done = subprocess.run([*command, *arguments], capture_output=True, text=True, cwd=directory, check=False)
    seconds = time.monotonic() - started
    assert done.returncode == 0, done.stderr[-3000:]
    jobs = re.search(r"^total\s+(\d+)", done.stdout + done.stderr, re.M)
    return seconds, int(jobs.group(1)) if jobs else 0


@pytest.mark.slow
def test_planning_costs_little_more_than_snakemake_itself_and_grows_linearly(tmp_path: Path) -> None:
    snakefile = ("-s", str(ROOT / "Snakefile"))
    whole = _study(tmp_path / "whole", ["iid", "ood"])
    _bare(tmp_path / "bare", plan_study(Config(whole.root / "config")))
    bare, bare_jobs = _dry_run(tmp_path / "bare")
    full, jobs = _dry_run(whole.root, *snakefile)
    half, half_jobs = _dry_run(_study(tmp_path / "half", ["iid"]).root, *snakefile)
    print(f"bare {bare:.1f} s, {jobs} jobs {full:.1f} s, {half_jobs} jobs {half:.1f} s")
    assert jobs > 19_000
    assert abs(bare_jobs - jobs) < 10
    assert full <= LIMIT * bare
    assert 0.45 <= half_jobs / jobs <= 0.55
    # Quadratic growth would give 0.25; the width is for the noise of a shared machine.
    assert 0.35 <= half / full <= 0.65


@pytest.mark.slow
def test_a_no_op_on_a_finished_tree_is_quick(finished: Tree) -> None:
    seconds, jobs = _dry_run(finished.root, "-s", str(ROOT / "Snakefile"))
    assert jobs == 0
    assert seconds < NO_OP_SECONDS


def test_parsing_the_snakefile_imports_nothing_heavy(finished: Tree) -> None:
    """Every job on a cluster parses it twice."""
    code = (
        "import sys\n"
        "from snakemake.cli import main\n"
        "try:\n"
        "    main(sys.argv[1:])\n"
        "except SystemExit:\n"
        "    pass\n"
        "heavy = ('torch', 'transformers', 'polars', 'matplotlib', 'xllamacpp', 'scipy')\n"
        "print('LOADED', [name for name in heavy if name in sys.modules])\n"
    )
    arguments = ["-n", "-s", str(ROOT / "Snakefile"), "--directory", str(finished.root), "--cores", "1"]
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        cwd=finished.root,
        check=True,
    )
    assert "LOADED []" in done.stdout, done.stdout[-500:]
