"""kill -9 of a real model job in the middle: the rerun takes up what was finished."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys

import pyarrow.parquet as pq

from tests.rules.harness import Tree

# The job's own script, on an engine that kills its process when it is asked the tenth time.
DIES = """
import os, runpy, signal, sys
from afterdelete.engines.scripted import ScriptedEngine
answer = ScriptedEngine._reply
def dies(self, request):
    if self.calls == 9:
        os.kill(os.getpid(), signal.SIGKILL)
    return answer(self, request)
ScriptedEngine._reply = dies
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def test_a_job_killed_midway_continues_and_gives_the_same_artifact(tree: Tree) -> None:
    before = tree.digests()
    lost = next(path for path in tree.artifacts("audit") if "hierarchical-exact-direct-aligned" in str(path))
    replies = pq.read_table(lost)
    lost.unlink()
    text = tree.run("--dry-run", "--printshellcmds")
    line = next(line for line in text.splitlines() if "audit_run.py" in line)
    job = shlex.split(line[line.index(sys.executable) :])[1:]
    killed = subprocess.run([sys.executable, "-c", DIES, *job], cwd=tree.root, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert not lost.exists()
    (checkpoint,) = (tree.root / "results/.checkpoints").iterdir()
    assert checkpoint.read_text(encoding="utf-8").count('"request"') == 9
    tree.run()
    assert tree.digests() == before
    assert pq.read_table(lost).equals(replies)
    requests = json.loads(lost.with_suffix(".json").read_text(encoding="utf-8"))["provenance"]["requests"]
    assert (requests["restored"], requests["asked"]) == (9, replies.num_rows)
    assert requests["restored"] + requests["generated"] == sum(replies["generated"].to_pylist())
    assert not list((tree.root / "results/.checkpoints").iterdir())
