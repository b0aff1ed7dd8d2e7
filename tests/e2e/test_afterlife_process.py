"""Adapters in a process of their own: the protocol, real restarts, and workers that misbehave."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from afterdelete.afterlife.session import Session
from tests.afterlife_support import fits_result

WORKER = """
import os, sys, time
from afterdelete.afterlife.systems.builtin import BuiltinStore, Defect
from afterdelete.afterlife.protocol import HookReceipt
from afterdelete.afterlife.worker import serve, state_folder

print("a library that prints")
PIPE = os.fstat(1).st_ino


def answers():
    # The descriptor of the pipe to the tester, which serve() moves away from standard output.
    return next(int(fd) for fd in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{fd}")
                and int(fd) > 2 and os.fstat(int(fd)).st_ino == PIPE)


class Store(BuiltinStore):
{body}


serve(Store(Defect(sys.argv[1]), state_folder() / "store.sqlite"))
"""
IDS = ["MT-AF-001", "MT-AF-002", "AF-003"]


def session(folder: Path, body: str = "    pass", defect: str = "none", **times: int) -> Session:
    (folder / "worker.py").write_text(WORKER.replace("{body}", body), encoding="utf-8")
    config = {
        "times": {"window_ms": 30, "interval_ms": 10, "call_timeout_ms": 5000, **times},
        "systems": {"worker": {"kind": "process", "command": ["python", "worker.py", defect]}},
    }
    path = folder / "process.yaml"
    path.write_text(json.dumps(config), encoding="utf-8")
    return Session.read(path)


def run(session: Session, id: str) -> dict[str, Any]:
    return fits_result(session.run("worker", id))


@pytest.mark.parametrize(
    ("defect", "expected"),
    [
        ("none", ["PASS", "PASS", "PASS"]),
        ("late_write_resurrection", ["FAIL", "PASS", "PASS"]),
        ("history_reingestion", ["PASS", "FAIL", "PASS"]),
    ],
)
def test_the_verdicts_are_those_of_the_store_in_process(
    tmp_path: Path, defect: str, expected: list[str]
) -> None:
    worker = session(tmp_path, defect=defect)
    results = [run(worker, id) for id in IDS]
    assert [result["status"] for result in results] == expected
    assert all(result["cleanup"]["complete"] for result in results)


def test_a_restart_is_another_process_on_the_same_state(tmp_path: Path) -> None:
    body = f"""
    def describe(self):
        with open({str(tmp_path / "pids")!r}, "a") as file:
            file.write(f"{{os.getpid()}} {{state_folder()}}\\n")
        return super().describe()
"""
    assert run(session(tmp_path, body), "MT-AF-001")["status"] == "PASS"
    lines = set((tmp_path / "pids").read_text(encoding="utf-8").splitlines())
    assert len({line.split()[0] for line in lines}) == 3  # first, after each arm's restart
    (folder,) = {line.split()[1] for line in lines}
    assert not Path(folder).exists()


def test_a_hook_without_code_is_dropped_over_the_bridge_too(tmp_path: Path) -> None:
    body = """
    from afterdelete.afterlife.protocol import MemoryLifecycleHooks
    consolidate = MemoryLifecycleHooks.consolidate
"""
    result = run(session(tmp_path, body), "MT-AF-002")
    assert result["status"] == "PASS"
    assert result["capabilities"]["dropped"] == [
        {"capability": "LIFECYCLE_CONSOLIDATE", "reason": "declared, but consolidate is not implemented"}
    ]


@pytest.mark.parametrize(
    ("deed", "reason"),
    [
        ("os._exit(9)", "the program ended with status 9"),
        ("raise RuntimeError('disk full')", "RuntimeError: disk full"),
        ("time.sleep(60)", "did not return in time"),
        ("os.write(answers(), b'garbage\\n'); time.sleep(60)", "not JSON"),
        ('os.write(answers(), b\'{"id": 99, "result": 1}\\n\'); time.sleep(60)', "belongs to no request"),
        ("os.close(answers()); time.sleep(60)", "the program closed its output"),
        ("return HookReceipt('yes')", "expected a receipt"),
        ("sys.stderr.write(content + '\\n'); os._exit(1)", "[marker]"),
    ],
)
def test_a_worker_that_misbehaves_after_the_delete_is_an_error_and_is_cleaned_up(
    tmp_path: Path, deed: str, reason: str
) -> None:
    body = f"""
    def begin_pending_write(self, ctx, content, target_id=None):
        self.content = content
        return super().begin_pending_write(ctx, content, target_id)

    def release_pending_writes(self, ctx):
        content = getattr(self, 'content', '')
        if "trial" in ctx.namespace and not (state_folder() / "misbehaved").exists():
            (state_folder() / "misbehaved").touch()
            {deed}
        return super().release_pending_writes(ctx)
"""
    started = time.monotonic()
    result = run(session(tmp_path, body, call_timeout_ms=1500), "MT-AF-001")
    assert result["status"] == "ERROR"
    assert reason in result["reason"]
    assert result["afterlife"]["events"][-1]["action"] == "release_pending_writes"
    assert result["cleanup"] == {**result["cleanup"], "complete": True, "problems": []}
    assert time.monotonic() - started < 15


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (["no-such-program"], "cannot start no-such-program"),
        (["python", "-c", "import sys; sys.exit('no licence')"], "no licence"),
        (["python", "-c", "print('hello')"], "the program ended with status 0"),
        (["python", "-c", "while True: print('hello')"], "does not greet"),
    ],
)
def test_a_worker_that_does_not_start_is_an_error(tmp_path: Path, command: list[str], reason: str) -> None:
    path = tmp_path / "process.yaml"
    path.write_text(json.dumps({"systems": {"w": {"kind": "process", "command": command}}}), encoding="utf-8")
    result = fits_result(Session.read(path).run("w", "AF-003"))
    assert (result["status"], reason in result["reason"]) == ("ERROR", True), result["reason"]


def test_no_process_outlives_its_run(tmp_path: Path) -> None:
    body = f"""
    def describe(self):
        import subprocess
        child = subprocess.Popen(["sleep", "300"])
        with open({str(tmp_path / "children")!r}, "a") as file:
            file.write(f"{{os.getpid()}}\\n{{child.pid}}\\n")
        return super().describe()
"""
    run(session(tmp_path, body), "AF-003")
    for pid in (tmp_path / "children").read_text(encoding="utf-8").split():
        path = Path(f"/proc/{pid}/stat")
        assert not path.exists() or path.read_text(encoding="utf-8").split()[2] == "Z"
