"""`snakemake afterlife`: every system x scenario into one table, and only what changed again."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.afterlife_support import ROOT, fits_report, fits_result

SNAKEFILE = ROOT / "tests" / "rules" / "afterlife.Snakefile"
SYSTEMS: dict[str, Any] = {
    "good": {"kind": "builtin"},
    "late": {"kind": "builtin", "defect": "late_write_resurrection"},
    "absent": {"kind": "process", "environment": "memory-nowhere", "command": ["python", "x.py"]},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the rules have run once."""
    folder = tmp_path_factory.mktemp("afterlife")
    configure(folder, SYSTEMS)
    done = snakemake(folder)
    assert done.returncode == 0, done.stderr
    return folder


def configure(folder: Path, systems: dict[str, Any]) -> None:
    config = {"seed": 1, "times": {"window_ms": 40, "interval_ms": 10}, "systems": systems}
    (folder / "my.yaml").write_text(json.dumps(config), encoding="utf-8")


def snakemake(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        "-m",
        "snakemake",
        "-s",
        str(SNAKEFILE),
        "--directory",
        str(folder),
        "--cores",
        "2",
    ]
    command += [*options, "--config", "afterlife=my.yaml", "--", "afterlife"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "workflow")}
    return subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment, check=False)


def test_every_system_and_scenario_is_in_the_table(folder: Path) -> None:
    (table,) = (folder / "results" / "afterlife").glob("table-*")
    with (table / "table.csv").open(encoding="utf-8") as lines:
        rows = {(row["system"], row["scenario"]): row for row in csv.DictReader(lines)}
    assert {key: row["status"] for key, row in rows.items()} == {
        ("good", "MT-AF-001"): "PASS",
        ("good", "MT-AF-002"): "PASS",
        ("good", "AF-003"): "PASS",
        ("late", "MT-AF-001"): "FAIL",
        ("late", "MT-AF-002"): "PASS",
        ("late", "AF-003"): "PASS",
        ("absent", "MT-AF-001"): "SKIPPED",
        ("absent", "MT-AF-002"): "SKIPPED",
        ("absent", "AF-003"): "SKIPPED",
    }
    report = fits_report(json.loads((table / "report.json").read_text(encoding="utf-8")))
    assert report["exit_code"] == 1
    assert (table / "report.html").is_file()
    assert (table / "junit.xml").is_file()


def test_the_table_has_a_manifest_that_fits(folder: Path) -> None:
    from afterdelete.core.artifacts import read_artifact
    from afterdelete.core.canonical import content_key

    (path,) = (folder / "results" / "afterlife").glob("table-*/table.parquet")
    manifest = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    assert path.parent.name == f"table-{content_key(manifest['recipe'])}"
    assert read_artifact(path, manifest["key"]).num_rows == 9


def test_every_result_fits_the_schema(folder: Path) -> None:
    paths = list((folder / "results" / "afterlife").glob("*/*-*.json"))
    assert len(paths) == 9
    for path in paths:
        fits_result(json.loads(path.read_text(encoding="utf-8")))


def test_a_second_run_has_nothing_to_do_and_a_change_reruns_its_own(folder: Path) -> None:
    assert "Nothing to be done" in snakemake(folder, "--dry-run").stdout
    configure(folder, SYSTEMS | {"good": {"kind": "builtin", "defect": "history_reingestion"}})
    plan = snakemake(folder, "--dry-run")
    text = plan.stdout + plan.stderr
    assert text.count("rule afterlife_result:") == 3
    assert text.count("results/afterlife/good/") >= 3
    configure(folder, SYSTEMS)
    assert "Nothing to be done" in snakemake(folder, "--dry-run").stdout


def test_a_changed_program_reruns_its_results(tmp_path: Path) -> None:
    (tmp_path / "worker.py").write_text("raise SystemExit(5)\n", encoding="utf-8")
    configure(tmp_path, {"own": {"kind": "process", "command": ["python", "worker.py"]}})
    assert snakemake(tmp_path).returncode == 0
    (tmp_path / "imported.py").write_text("# beside the program\n", encoding="utf-8")
    plan = snakemake(tmp_path, "--dry-run").stdout
    assert plan.count("rule afterlife_result:") == 3


def test_a_mistake_in_the_configuration_is_one_line(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "my.yaml").write_text("systems: {}\n", encoding="utf-8")
    done = snakemake(tmp_path)
    assert done.returncode != 0
    assert "afterdelete: my.yaml: systems: " in done.stderr
    assert "Traceback" not in done.stderr
