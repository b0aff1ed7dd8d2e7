"""The study `smoke` on a real Slurm: two virtual nodes of one machine, the project's own profile."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from cluster.testcluster import Cluster, missing
from tests.rules.harness import ROOT, Tree

pytestmark = [
    pytest.mark.model,
    pytest.mark.slow,
    pytest.mark.skipif(bool(missing()), reason=f"no test cluster: {missing()}"),
]
OVERLAY = Path(__file__).with_name("slurm")
RUN_SECONDS = 900
# Replies that the job we cancel has finished before.
REPLIES = 2


@dataclass
class Run:
    """A finished run: its tree, its log, and the Slurm job that was cancelled on the way."""

    tree: Tree
    log: str
    cancelled: str


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    made = Cluster(tmp_path_factory.mktemp("cluster"))
    made.up()
    yield made
    made.down()


@pytest.fixture(scope="module")
def run(cluster: Cluster, real_tree: Callable[[str], Tree], smoke: Tree) -> Run:
    """The study through Slurm; one job is cancelled in the middle of its replies."""
    tree = real_tree("smoke")
    log = tree.root / "run.log"
    profiles = ("--profile", str(ROOT / "profiles/slurm"), "--profile", str(OVERLAY))
    command = [sys.executable, "-m", "snakemake", "-s", str(ROOT / "Snakefile"), *profiles]
    with log.open("w") as sink:
        process = subprocess.Popen(
            command, cwd=tree.root, env=cluster.environment, stdout=sink, stderr=subprocess.STDOUT
        )
        try:
            cancelled = _cancel_one(cluster, tree, process)
            process.wait(timeout=RUN_SECONDS)
        finally:
            process.kill()
    assert process.returncode == 0, log.read_text()[-6000:]
    return Run(tree, log.read_text(), cancelled)


def _cancel_one(cluster: Cluster, tree: Tree, process: subprocess.Popen[bytes]) -> str:
    """Cancel the job that is running once it has some replies; its id."""
    until = time.monotonic() + RUN_SECONDS
    while process.poll() is None and time.monotonic() < until:
        for path in (tree.root / "results/.checkpoints").glob("*.jsonl"):
            if path.read_bytes().count(b'"request"') >= REPLIES:
                running = cluster.client("squeue", "-h", "-t", "R", "-o", "%i").split()
                if running:
                    cluster.client("scancel", *running)
                    return running[0]
        time.sleep(0.05)
    pytest.fail("no job was caught in the middle")


def _provenance(tree: Tree, stage: str) -> list[dict[str, Any]]:
    paths = [path.with_suffix(".json") for path in tree.artifacts(stage)]
    return [json.loads(path.read_text(encoding="utf-8"))["provenance"] for path in paths]


def test_equal_to_the_local_run_digest_for_digest(run: Run, smoke: Tree) -> None:
    assert run.tree.digests() == smoke.digests()


def test_model_jobs_are_submitted_and_no_others(run: Run) -> None:
    calling = _provenance(run.tree, "audit") + _provenance(run.tree, "activate")
    identifiers = [made["slurm_job_id"] for made in calling]
    assert all(identifiers)
    assert len(set(identifiers)) == len(identifiers)
    for stage in ("profiles", "worlds", "deleted", "commit", "scored", "summary"):
        assert not any(made["slurm_job_id"] for made in _provenance(run.tree, stage))


def test_a_cancelled_job_is_retried_and_continues(run: Run) -> None:
    calling = _provenance(run.tree, "audit") + _provenance(run.tree, "activate")
    assert run.cancelled not in [made["slurm_job_id"] for made in calling]
    assert "Trying to restart job" in run.log
    (again,) = [made for made in calling if made["requests"]["restored"]]
    assert again["requests"]["restored"] >= REPLIES
    assert not list((run.tree.root / "results/.checkpoints").iterdir())


def test_the_gate_is_shared_by_the_nodes_and_appears_nowhere(run: Run) -> None:
    keys = list((run.tree.root / ".protected").rglob("gate.key"))
    assert len(keys) == 1
    (run.tree.root / "logs").mkdir(exist_ok=True)
    (run.tree.root / "run.log").rename(run.tree.root / "logs/run.log")
    assert run.tree.leaks("results", ".snakemake", "logs") == []
