"""The command line as a person or a CI uses it."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as XML

import pytest

from afterdelete.afterlife.markers import Markers
from tests.afterlife_support import ROOT, fits_report
from tests.e2e.test_afterlife_http import service
from tests.e2e.test_afterlife_langgraph import ABSENT

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT / "workflow")}
COMMAND = [sys.executable, "-m", "afterdelete.afterlife"]
SYSTEMS: dict[str, dict[str, Any]] = {
    "good": {"kind": "builtin"},
    "late": {"kind": "builtin", "defect": "late_write_resurrection"},
    "no-delete": {"kind": "builtin", "defect": "delete_without_effect"},
    "mute": {"kind": "process", "command": ["python", "-c", "raise SystemExit(5)"]},
    "absent": {"kind": "process", "environment": "memory-nowhere", "command": ["python", "x.py"]},
}


def afterlife(*arguments: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    command = [*COMMAND, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=ENVIRONMENT, timeout=60)
    assert "Traceback" not in done.stderr
    return done


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("cli") / "my.yaml"
    times = {"window_ms": 60, "interval_ms": 20}
    path.write_text(json.dumps({"seed": 11, "times": times, "systems": SYSTEMS}), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("systems", "scenario", "code"),
    [
        (["good"], "MT-AF-001", 0),
        (["good", "late"], "MT-AF-001", 1),
        (["late", "mute", "no-delete"], "MT-AF-001", 1),
        (["good", "mute", "no-delete"], "MT-AF-001", 4),
        (["good", "no-delete"], "MT-AF-001", 3),
        (["absent"], "MT-AF-001", 3),
        (["good", "absent"], "MT-AF-001", 0),
    ],
)
def test_exit_codes(config: Path, systems: list[str], scenario: str, code: int) -> None:
    chosen = [word for name in systems for word in ("--system", name)]
    done = afterlife("test", "--config", str(config), "--scenario", scenario, *chosen)
    assert done.returncode == code, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "required"),
        (["test", "--flavour", "x"], "unrecognized"),
        (["test", "--config", "no-such.yaml"], "does not exist"),
        (["test", "--system", "nobody"], "has no system nobody"),
        (["test", "--scenario", "MT-AF-999"], "no scenario MT-AF-999"),
    ],
)
def test_a_usage_error_is_2_and_one_line(arguments: list[str], message: str) -> None:
    done = afterlife(*arguments)
    assert done.returncode == 2
    assert message in done.stderr


def test_the_reports_of_a_run(config: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = afterlife(
        "test", "--config", str(config), "--system", "good", "--system", "late", "--out", str(out)
    )
    report = fits_report(json.loads((out / "report.json").read_text(encoding="utf-8")))
    assert report["exit_code"] == done.returncode == 1
    assert len(report["results"]) == 6
    assert XML.parse(out / "junit.xml").getroot().get("failures") == "1"
    page = (out / "report.html").read_text(encoding="utf-8")
    everything = (
        done.stdout + done.stderr + json.dumps(report) + page + (out / "junit.xml").read_text("utf-8")
    )
    markers = Markers(11)
    for label in ("trial marker", "control first", "control update", "trial unrelated", "decoy"):
        assert markers.make(label) not in everything
    assert "afmk7" not in everything


def test_markers_are_shown_on_request_only(config: Path, tmp_path: Path) -> None:
    path = tmp_path / "shown.json"
    common = [
        "test",
        "--config",
        str(config),
        "--system",
        "good",
        "--scenario",
        "AF-003",
        "--json",
        str(path),
    ]
    assert afterlife(*common, "--show-markers").returncode == 0
    (result,) = fits_report(json.loads(path.read_text(encoding="utf-8")))["results"]
    assert result["markers"]["trial marker"] == Markers(11).make("trial marker")


def test_the_demo_shows_broken_and_fixed_in_seconds(tmp_path: Path) -> None:
    started = time.monotonic()
    done = afterlife("demo", "--html", str(tmp_path / "demo.html"), cwd=tmp_path)
    assert time.monotonic() - started < 15
    assert done.returncode == 0
    assert "broken-late-write   FAIL       -" in done.stdout
    assert "broken-reingestion  -          FAIL" in done.stdout
    assert "fixed               PASS       PASS" in done.stdout
    assert (tmp_path / "demo.html").is_file()


def test_the_doctor_says_what_is_declared_missing_and_would_run(config: Path) -> None:
    done = afterlife("doctor", "--config", str(config))
    assert done.returncode == 0
    blocks = {block.splitlines()[0]: block for block in re.split(r"\n(?=\S)", done.stdout.strip())}
    assert "can: LIFECYCLE_CONSOLIDATE, " in blocks["good"]
    assert "MT-AF-001: would run, memory_record" in blocks["good"]
    assert "does not answer: describe: the program ended with status 5" in blocks["mute"]
    assert "not here: there is no environment memory-nowhere" in blocks["absent"]
    assert afterlife("doctor", "--config", str(config), "--system", "absent").returncode == 3
    assert afterlife("doctor", "--config", str(config), "--system", "mute").returncode == 4


def test_the_doctor_says_what_a_system_lacks(tmp_path: Path) -> None:
    path = tmp_path / "less.yaml"
    entry = {"kind": "builtin", "without": ["MEMORY_DELETE", "LIFECYCLE_SURFACES"]}
    path.write_text(json.dumps({"systems": {"less": entry}}), encoding="utf-8")
    done = afterlife("doctor", "--config", str(path))
    assert done.returncode == 3
    assert "dropped MEMORY_DELETE: left out by the configuration (without)" in done.stdout
    assert "MT-AF-001: would be SKIPPED, lacks LIFECYCLE_SURFACES (a surface of scope thread)" in done.stdout
    assert "MT-AF-002: would be SKIPPED, lacks MEMORY_DELETE" in done.stdout


@pytest.mark.parametrize(
    ("system", "scenario"),
    [
        ("builtin", "MT-AF-001"),
        ("builtin-late-write", "MT-AF-001"),
        ("builtin-reingestion", "MT-AF-002"),
        ("builtin-no-delete", "AF-003"),
        ("http-empty-release", "MT-AF-001"),
        pytest.param("langgraph", "MT-AF-002", marks=pytest.mark.skipif(bool(ABSENT), reason=ABSENT)),
    ],
)
def test_the_commands_under_reproduce_give_the_same_verdict(
    tmp_path: Path, system: str, scenario: str
) -> None:
    first = tmp_path / "first.json"
    done = afterlife("test", "--system", system, "--scenario", scenario, "--json", str(first))
    (result,) = fits_report(json.loads(first.read_text(encoding="utf-8")))["results"]
    for number, command in enumerate(result["afterlife"]["reproduce"]):
        program, *words = shlex.split(command)
        assert program == "afterdelete"
        path = tmp_path / f"again-{number}.json"
        whole = [sys.executable, "-m", "afterdelete.cli", *words, "--json", str(path)]
        again = subprocess.run(whole, env=ENVIRONMENT, timeout=60)
        (repeated,) = json.loads(path.read_text(encoding="utf-8"))["results"]
        assert again.returncode == done.returncode
        for part in ("status", "label", "event", "reason"):
            assert repeated[part] == result[part]
        for part in ("resurrection_trigger", "first_resurrection_event"):
            assert repeated["afterlife"][part] == result["afterlife"][part]


def test_reproduce_names_a_configuration_that_is_not_the_default(config: Path, tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    afterlife(
        "test", "--config", str(config), "--system", "late", "--scenario", "MT-AF-001", "--json", str(path)
    )
    (result,) = json.loads(path.read_text(encoding="utf-8"))["results"]
    (command,) = result["reproduce"]
    assert shlex.split(command)[3:5] == ["--config", str(config)]
    assert afterlife(*shlex.split(command)[2:]).returncode == 1


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "SIGTERM"])
def test_an_interruption_cleans_up(tmp_path: Path, stop: signal.Signals) -> None:
    store = tmp_path / "store.sqlite"
    path = tmp_path / "http.yaml"

    def rows() -> int:
        with sqlite3.connect(store) as db:
            tables = ("memories", "messages", "tombstones")
            return sum(db.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tables)

    with service("--store", str(store)) as url:
        entry = {"kind": "http", "base_url": url}
        config = {"times": {"window_ms": 20_000, "call_timeout_ms": 3000}, "systems": {"service": entry}}
        path.write_text(json.dumps(config), encoding="utf-8")
        process = subprocess.Popen(
            [*COMMAND, "test", "--config", str(path), "--scenario", "MT-AF-001"],
            stderr=subprocess.PIPE,
            text=True,
            env=ENVIRONMENT,
        )
        deadline = time.monotonic() + 20
        while not rows():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        time.sleep(0.3)  # into the window in which a write is held
        process.send_signal(stop)
        _, complaints = process.communicate(timeout=20)
        assert complaints == "interrupted; what this run created was removed\n"
        assert process.returncode == 130
        assert rows() == 0


@pytest.mark.parametrize(("system", "code"), [("late", 1), ("good", 2)])
def test_a_report_that_cannot_be_written_hides_neither_verdict_nor_the_others(
    config: Path, tmp_path: Path, system: str, code: int
) -> None:
    (tmp_path / "file").write_text("not a directory")
    page = tmp_path / "page.html"
    done = afterlife(
        *("test", "--config", str(config), "--system", system, "--scenario", "MT-AF-001"),
        *("--junit", str(tmp_path / "file" / "x.xml"), "--html", str(page)),
    )
    assert done.returncode == code
    assert done.stderr.count("afterdelete: cannot write") == 1
    assert page.is_file()
