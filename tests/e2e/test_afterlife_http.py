"""The example service over a real socket, every exchange checked against the OpenAPI document."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from afterdelete.afterlife.session import Session
from afterdelete.afterlife.systems import http
from tests.afterlife_support import ROOT, fits_result

SERVICE = ROOT / "examples" / "afterlife-http" / "service.py"
API = yaml.safe_load((ROOT / "docs" / "afterlife-http.openapi.yaml").read_text(encoding="utf-8"))
ALL_PASS = {"MT-AF-001": "PASS", "MT-AF-002": "PASS", "AF-003": "PASS"}
TIMES = {"window_ms": 40, "interval_ms": 10, "call_timeout_ms": 4000}


@contextmanager
def service(*options: str, **variables: str) -> Iterator[str]:
    """A running service; its URL."""
    process = subprocess.Popen(
        [sys.executable, str(SERVICE), *options],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "workflow"), **variables},
    )
    assert process.stdin
    assert process.stdout
    try:
        yield process.stdout.readline().strip()
    finally:
        process.stdin.close()
        assert process.wait(5) == 0
        process.stdout.close()


def session(folder: Path, url: str, **system: Any) -> Session:
    path = folder / "http.yaml"
    entry = {"kind": "http", "base_url": url, **system}
    path.write_text(json.dumps({"times": TIMES, "systems": {"service": entry}}), encoding="utf-8")
    return Session.read(path)


def verdicts(run: Session) -> dict[str, str]:
    results = [fits_result(run.run(name, id)) for name, id in run.chosen([], [])]
    assert all(result["cleanup"] is None or result["cleanup"]["complete"] for result in results)
    return {result["scenario"]["id"]: result["status"] for result in results}


def _validator(schema: dict[str, Any]) -> Draft202012Validator:
    return Draft202012Validator({"components": API["components"], **schema})


@pytest.fixture
def exchanges(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Checks every request and answer against the document; holds the operations that were seen."""
    seen: set[str] = set()
    send = http.HttpAdapter._send

    def checked(self: http.HttpAdapter, op: str, args: dict[str, Any], deadline: float) -> tuple[int, bytes]:
        method, path = http._REQUESTS.get(op) or ("POST", f"/v1/lifecycle/{op}")
        operation = API["paths"][path][method.lower()]
        assert operation["operationId"] == op
        if method == "POST":
            _validator(operation["requestBody"]["content"]["application/json"]["schema"]).validate(args)
        elif method == "DELETE":
            assert {each["name"] for each in operation["parameters"]} == set(args)
        status, body = send(self, op, args, deadline)
        answer = operation["responses"][str(status)]
        if "content" in answer:
            _validator(answer["content"]["application/json"]["schema"]).validate(json.loads(body))
        seen.add(op)
        return status, body

    monkeypatch.setattr(http.HttpAdapter, "_send", checked)
    return seen


def test_the_correct_service_passes_and_speaks_as_documented(tmp_path: Path, exchanges: set[str]) -> None:
    with service() as url:
        assert verdicts(session(tmp_path, url)) == {
            "MT-AF-001": "PASS",
            "MT-AF-002": "PASS",
            "AF-003": "PASS",
        }
        without = session(tmp_path, url, without=["MEMORY_DELETE"])
        assert verdicts(without) == {"MT-AF-001": "PASS", "MT-AF-002": "SKIPPED", "AF-003": "PASS"}
    documented = {each["operationId"] for path in API["paths"].values() for each in path.values()}
    assert exchanges == documented


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (
            ["--defect", "late_write_resurrection"],
            {"MT-AF-001": "FAIL", "MT-AF-002": "PASS", "AF-003": "PASS"},
        ),
        (["--defect", "history_reingestion"], {"MT-AF-001": "PASS", "MT-AF-002": "FAIL", "AF-003": "PASS"}),
        (
            ["--defect", "delete_without_effect"],
            {"MT-AF-001": "INCONCLUSIVE", "MT-AF-002": "INCONCLUSIVE", "AF-003": "FAIL"},
        ),
        (
            ["--defect", "late_write_resurrection", "--claim-only", "release_pending_writes"],
            {"MT-AF-001": "INCONCLUSIVE", "MT-AF-002": "PASS", "AF-003": "PASS"},
        ),
        (
            ["--claim-only", "restart"],
            {"MT-AF-001": "INCONCLUSIVE", "MT-AF-002": "INCONCLUSIVE", "AF-003": "PASS"},
        ),
        (
            ["--without", "LIFECYCLE_PENDING_WRITES", "--claim-only", "consolidate"],
            {"MT-AF-001": "SKIPPED", "MT-AF-002": "INCONCLUSIVE", "AF-003": "PASS"},
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_each_mode_of_the_service(tmp_path: Path, options: list[str], expected: dict[str, str]) -> None:
    with service(*options) as url:
        assert verdicts(session(tmp_path, url)) == expected


def test_a_token_is_asked_for_and_taken_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with service("--token-env", "SERVICE_TOKEN", SERVICE_TOKEN="open-sesame") as url:
        without = session(tmp_path, url).run("service", "AF-003")
        assert (without["status"], "401" in without["reason"]) == ("ERROR", True)
        monkeypatch.setenv("AFTERLIFE_TOKEN", "open-sesame")
        result = session(tmp_path, url, token_env="AFTERLIFE_TOKEN").run("service", "AF-003")
        assert result["status"] == "PASS"
        assert "open-sesame" not in json.dumps(result)
        monkeypatch.delenv("AFTERLIFE_TOKEN")
        absent = session(tmp_path, url, token_env="AFTERLIFE_TOKEN").run("service", "AF-003")
        assert (absent["status"], "AFTERLIFE_TOKEN" in absent["reason"]) == ("SKIPPED", True)


def test_runs_at_once_on_one_service_do_not_meet_and_leave_nothing(tmp_path: Path) -> None:
    store = tmp_path / "store.sqlite"
    found: list[dict[str, str]] = []
    with service("--store", str(store)) as url:
        run = session(tmp_path, url)
        threads = [threading.Thread(target=lambda: found.append(verdicts(run))) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found == [ALL_PASS] * 3
    with sqlite3.connect(store) as db:
        for table in ("memories", "messages", "tombstones"):
            assert db.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)


def test_a_service_that_dies_during_the_run_is_an_error_that_says_what_is_left(tmp_path: Path) -> None:
    with service() as url:
        run = session(tmp_path, url)
        adapter = run.open("service")()
    adapter.close()
    result = fits_result(run.run("service", "MT-AF-001"))
    assert (result["status"], "no connection" in result["reason"]) == ("ERROR", True)
