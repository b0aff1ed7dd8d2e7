"""Runs that are killed, interrupted, or started twice: nothing lost, nothing trusted that should not be."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.rules.harness import ROOT, Tree


def _start(tree: Tree) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "snakemake", "-s", str(ROOT / "Snakefile"), "--cores", "2"]
    with (tree.root / "first.log").open("wb") as log:
        return subprocess.Popen(
            command, cwd=tree.root, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
        )


def _wait_for(tree: Tree, stage: str, process: subprocess.Popen[bytes]) -> None:
    """Until the first artifact of a stage is there."""
    until = time.monotonic() + 120
    while not tree.artifacts(stage):
        assert process.poll() is None, "the run ended before it could be stopped"
        assert time.monotonic() < until
        time.sleep(0.05)


@pytest.fixture
def fresh(tmp_path: Path) -> Tree:
    return Tree.make(tmp_path / "fresh", study="tiny")


def test_a_killed_run_leaves_a_lock_that_is_named_and_then_goes_on(fresh: Tree) -> None:
    process = _start(fresh)
    _wait_for(fresh, "consolidated", process)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    done = {path: path.stat().st_mtime_ns for path in fresh.artifacts("profiles")}
    refused = fresh.command("run")
    assert refused.returncode == 1
    assert "make unlock" in refused.stderr
    assert len(refused.stderr.splitlines()) == 1
    fresh.run("--unlock")
    fresh.run()
    assert {path: path.stat().st_mtime_ns for path in fresh.artifacts("profiles")} == done
    assert fresh.planned() == []
    assert fresh.command("verify").returncode == 0


def test_an_interrupted_run_releases_its_lock_and_goes_on(fresh: Tree) -> None:
    process = _start(fresh)
    _wait_for(fresh, "consolidated", process)
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(timeout=60) != 0
    fresh.run()
    assert fresh.planned() == []
    assert fresh.command("verify").returncode == 0


def test_a_second_run_at_the_same_time_is_refused_and_harms_nothing(fresh: Tree) -> None:
    process = _start(fresh)
    _wait_for(fresh, "profiles", process)
    second = fresh.snakemake()
    assert second.returncode != 0
    assert "lock" in second.stdout + second.stderr
    assert process.wait(timeout=120) == 0
    assert fresh.command("verify").returncode == 0


def test_a_clock_that_jumps_plans_nothing(tree: Tree) -> None:
    """Times decide nothing: every artifact an hour older or newer than what it was made from."""
    for at, path in enumerate(sorted((tree.root / "results").glob("*/*/*.parquet"))):
        shift = (3600 if at % 2 else -3600) * 10**9
        for each in (path, path.with_suffix(".json")):
            seen = each.stat()
            os.utime(each, ns=(seen.st_atime_ns, seen.st_mtime_ns + shift))
    assert tree.planned() == []
    assert tree.command("verify").returncode == 0


def test_two_writers_of_one_artifact_leave_one_whole_artifact(tree: Tree) -> None:
    lost = tree.artifacts("audit")[0]
    before = tree.digests()
    lost.unlink()
    lost.with_suffix(".json").unlink()
    script = str(ROOT / "workflow/scripts/audit_run.py")
    command = [sys.executable, script, "--study", "quick", str(lost.relative_to(tree.root / "results"))]
    writers = [subprocess.Popen(command, cwd=tree.root) for _ in range(2)]
    assert [writer.wait(timeout=120) for writer in writers] == [0, 0]
    assert tree.digests() == before
    assert tree.planned() == []


def _console(tree: Tree, log: str) -> subprocess.Popen[bytes]:
    with (tree.root / log).open("wb") as sink:
        return subprocess.Popen(
            [sys.executable, "-m", "afterdelete.cli", "run"],
            cwd=tree.root,
            stdout=sink,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def test_a_second_console_run_is_refused_and_leaves_the_first_its_log(fresh: Tree) -> None:
    process = _console(fresh, "console.log")
    _wait_for(fresh, "profiles", process)
    second = fresh.command("run")
    assert second.returncode == 1
    assert "another run of tiny is going on" in second.stderr
    assert process.wait(timeout=120) == 0
    assert b"\x00" not in (fresh.root / "results/.logs/tiny.log").read_bytes()
    assert fresh.command("verify").returncode == 0


def test_a_terminated_console_run_takes_snakemake_with_it(fresh: Tree) -> None:
    process = _console(fresh, "console.log")
    _wait_for(fresh, "consolidated", process)
    process.terminate()
    assert process.wait(timeout=60) == 130
    again = fresh.command("run")
    assert again.returncode == 0, again.stderr
