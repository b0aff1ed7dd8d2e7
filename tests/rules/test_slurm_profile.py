"""What profiles/slurm plans: who asks for a GPU, and how profiles combine."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.rules.harness import ROOT, Tree

pytest.importorskip("snakemake_executor_plugin_slurm", reason="not installed: envs/slurm.txt")
LINK = ROOT / "cluster/link_profile.sh"


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """One cell asked of the same model through two engines."""
    tree = Tree.make(tmp_path / "tree", study="tiny", model=None)
    tree.edit("studies/tiny.yaml", models=["smollm2-135m", "smollm2-135m-transformers"], max_requests=None)
    return tree


def _jobs(tree: Tree, *profiles: str, environment: dict[str, str] | None = None) -> list[tuple[str, str]]:
    """(rule, what is printed of it) of every job of a dry run."""
    command = [sys.executable, "-m", "snakemake", "-n", "-s", str(ROOT / "Snakefile")]
    for profile in profiles:
        command += ["--profile", profile]
    done = subprocess.run(
        command,
        cwd=tree.root,
        capture_output=True,
        text=True,
        env={**os.environ, **(environment or {})},
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return re.findall(r"^((?:local)?rule \w+):\n((?:    .*\n)+)", done.stdout + done.stderr, re.M)


def test_only_torch_asks_for_a_gpu(tree: Tree) -> None:
    jobs = _jobs(tree, str(ROOT / "profiles/slurm"))
    audits = [text for rule, text in jobs if rule == "rule audit"]
    assert len(audits) == 2
    for text in audits:
        assert ("gres=gpu:1" in text) == ("smollm2-135m-transformers-iid" in text)
        assert "mem_mb=40000" in text
        assert "runtime=120" in text


@pytest.mark.parametrize(("site", "memory"), [("cardinal", 80000), ("ascend", 80000)])
def test_an_overlay_wins_over_the_profile(tree: Tree, site: str, memory: int) -> None:
    jobs = _jobs(tree, str(ROOT / "profiles/slurm"), str(ROOT / "cluster/osc" / site))
    audit = next(text for rule, text in jobs if rule == "rule audit")
    assert f"mem_mb={memory}" in audit
    assert "slurm_account=PAS0000" in audit


def test_the_linked_profile_goes_by_its_name(tree: Tree, tmp_path: Path) -> None:
    environment = {"XDG_CONFIG_HOME": str(tmp_path / "settings")}
    for _ in range(2):
        subprocess.run([LINK], env={**os.environ, **environment}, check=True, capture_output=True)
    linked = _jobs(tree, "slurm", environment=environment)
    assert _resources(linked) == _resources(_jobs(tree, str(ROOT / "profiles/slurm")))


def _resources(jobs: list[tuple[str, str]]) -> list[tuple[str, list[str]]]:
    """What each job asks for; Snakemake prints it in no fixed order."""
    lines = [(rule, re.search(r"^    resources: (.*)", text, re.M)) for rule, text in jobs]
    return sorted((rule, sorted(line.group(1).split(", "))) for rule, line in lines if line)


def test_a_profile_of_ones_own_is_not_overwritten(tmp_path: Path) -> None:
    own = tmp_path / "snakemake/slurm"
    own.mkdir(parents=True)
    done = subprocess.run(
        [LINK],
        env={**os.environ, "XDG_CONFIG_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "move it away" in done.stderr
    assert not own.is_symlink()
