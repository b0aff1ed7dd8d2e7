"""Running: damage, bad input, secrecy, determinism."""

from __future__ import annotations

import json
import os
import resource
import stat
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from afterdelete.config.model_spec import load_model_spec
from afterdelete.core.errors import AfterDeleteError
from afterdelete.stages.fetch import model_files
from tests.rules.harness import ROOT, SCRIPTED, Tree


def _rows(path: Path) -> list[dict]:  # type: ignore[type-arg]
    return pq.read_table(path).to_pylist()


def test_every_audit_job_asks_what_the_plan_bounds(finished: Tree) -> None:
    rows = [
        row for stage in ("audit", "activate") for path in finished.artifacts(stage) for row in _rows(path)
    ]
    assert sum(row["generated"] for row in rows) <= 400
    assert len(rows) > 400  # identical twins were asked, and not generated again


def test_the_scripted_study_shows_the_known_effects(finished: Tree) -> None:
    """The scripted engine quotes any whole code in memory, so every outcome is known beforehand."""
    table = (finished.root / "results/report/quick/summary.csv").read_text(encoding="utf-8")
    lines = [line.split(",") for line in table.splitlines()]
    head = {name: at for at, name in enumerate(lines[0])}
    rows = [{name: line[at] for name, at in head.items()} for line in lines[1:]]

    def one(**wanted: str) -> dict[str, str]:
        found = [row for row in rows if all(row[k] == v for k, v in wanted.items())]
        assert len(found) == 1, (wanted, len(found))
        return found[0]

    exact = {"split": "iid", "memory": "hierarchical", "deletion": "exact", "auditor": "direct"}
    aligned = {**exact, "audit_contract": "aligned", "activation_contract": "aligned"}
    off = one(**aligned, gate="off", endpoint="R")
    assert (float(off["forget"]), float(off["clean"]), off["status"]) == (0.75, 0.0, "above_zero")
    assert float(one(**aligned, gate="off", endpoint="E")["delta"]) == 0.75
    assert float(one(**aligned, gate="on", endpoint="R")["delta"]) == 0.75
    assert float(one(**aligned, gate="on", endpoint="C")["delta"]) == 0.0
    assert float(one(**aligned, gate="on", endpoint="A")["delta"]) == 0.75
    legacy = one(**exact, audit_contract="legacy", endpoint="R")
    assert (float(legacy["forget"]), legacy["raw_forget"]) == (0.0, "12")
    for deletion, memory in (("closure", "hierarchical"), ("group", "hierarchical"), ("exact", "flat")):
        row = one(split="iid", memory=memory, deletion=deletion, endpoint="R")
        assert (row["status"], float(row["retained"])) == ("proved_zero", 0.75)


def _small(root: Path, script: str = "echo-target") -> Tree:
    """The study `tiny`, scripted, through the whole lifecycle with the gate off and on."""
    tree = Tree.make(root, study="tiny", model={**SCRIPTED, "script": script})
    (cell,) = tree.read("studies/tiny.yaml")["cells"]
    cell |= {"gate": ["off", "on"], "activation_contract": ["aligned"]}
    tree.edit("studies/tiny.yaml", cells=[cell], max_requests=None)
    return tree


def test_two_gate_keys_give_equal_digests(tmp_path: Path) -> None:
    one, other = _small(tmp_path / "one"), _small(tmp_path / "other")
    for tree in (one, other):
        tree.run()
    keys = [(tree.root / ".protected/gate.key").read_bytes() for tree in (one, other)]
    assert keys[0] != keys[1]
    blocked = [row for path in one.artifacts("commit") for row in _rows(path) if row["decision"] == "blocked"]
    assert len(blocked) == 6
    assert one.digests() == other.digests()
    assert _report(one, "tiny") == _report(other, "tiny")


def _report(tree: Tree, study: str) -> dict[str, bytes]:
    root = (tree.root / "results/report" / study).resolve()
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_protected_state_appears_nowhere_else(finished: Tree) -> None:
    for path in (finished.root / ".protected").rglob("*.json"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert finished.leaks("results", ".snakemake") == []


def test_logs_hold_no_target_and_no_world_label(finished: Tree) -> None:
    targets = {row["target"].encode() for path in finished.artifacts("profiles") for row in _rows(path)}
    for path in (finished.root / ".snakemake" / "log").glob("*.log"):
        text = path.read_bytes()
        assert not any(target in text for target in targets)
        for world in (b"forget", b"retained"):
            assert world not in text.replace(b"headline", b"")


def _flip(path: Path) -> None:
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 1
    path.write_bytes(bytes(raw))


@pytest.mark.parametrize("stage", ["deleted", "audit", "scored"])
@pytest.mark.parametrize("harm", ["truncate", "flip"])
def test_damage_is_named_then_repaired_alone(tree: Tree, stage: str, harm: str) -> None:
    before = tree.digests()
    path = tree.artifacts(stage)[0]
    path.write_bytes(path.read_bytes()[:-9]) if harm == "truncate" else _flip(path)
    refused = tree.snakemake("--dry-run")
    lines = [line for line in refused.stderr.splitlines() if line.startswith("afterdelete: ")]
    assert refused.returncode != 0
    assert len(lines) == 1
    assert str(path.relative_to(tree.root)) in lines[0]
    assert "afterdelete repair" in lines[0]
    repaired = tree.command("repair")
    assert repaired.returncode == 0
    assert str(path.relative_to(tree.root)) in repaired.stdout
    assert [rule for rule, _ in tree.planned()] == [stage]
    tree.run()
    assert tree.digests() == before
    assert list((tree.root / "results/.quarantine" / stage).rglob("*.parquet"))


def test_a_quiet_flip_is_found_by_repair(tree: Tree) -> None:
    path = tree.artifacts("audit")[0]
    times = path.stat()
    _flip(path)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert "sha256" in tree.command("repair").stdout
    assert [rule for rule, _ in tree.planned()] == ["audit"]


@pytest.mark.parametrize(
    ("file", "changes", "message"),
    [
        ("config.yaml", {"studdy": "x"}, "unknown key `studdy`"),
        ("config.yaml", {"study": "quik"}, "quik.yaml does not exist"),
        ("config.yaml", {"scoring_parser": 9}, "unknown parser version 9"),
        ("studies/quick.yaml", {"models": ["gpt-9"]}, "gpt-9.yaml"),
    ],
)
def test_bad_input_is_one_line_and_nothing_is_written(
    tmp_path: Path,
    file: str,
    changes: dict,
    message: str,  # type: ignore[type-arg]
) -> None:
    tree = Tree.make(tmp_path)
    tree.edit(file, **changes)
    for done in (tree.snakemake(), tree.command("run")):
        lines = [line for line in done.stderr.splitlines() if line.startswith("afterdelete: ")]
        assert done.returncode != 0
        assert len(lines) == 1
        assert message in lines[0]
        assert "Traceback" not in done.stderr
    assert not (tree.root / "results").exists()


@pytest.mark.parametrize("script", ["prose", "html", "malformed", "empty"])
def test_a_model_that_misbehaves_gives_a_report_all_the_same(tmp_path: Path, script: str) -> None:
    tree = _small(tmp_path, script=script)
    tree.run()
    pages = sorted((tree.root / "results/report/tiny").glob("replies/*.html"))
    assert len(pages) == 2
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert "<img src=x" not in text
        assert "<script>alert" not in text
    if script == "html":
        assert "&lt;img src=x" in pages[0].read_text(encoding="utf-8")


def test_results_that_cannot_be_written_are_an_error_with_a_remedy(tmp_path: Path) -> None:
    tree = _small(tmp_path)
    (tree.root / "results").write_text("a file, not a directory")
    done = tree.command("run")
    assert done.returncode == 1
    assert done.stderr.startswith("afterdelete: cannot write")
    assert len(done.stderr.splitlines()) == 1


def test_the_console_command_runs_a_study_and_shows_it(tmp_path: Path) -> None:
    tree = _small(tmp_path)
    done = tree.command("run")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    headline = next(at for at, line in enumerate(lines) if "R 6 of 8 in forget, 0 of 8 in clean" in line)
    table = next(at for at, line in enumerate(lines) if line.startswith("auditor "))
    assert headline < table
    assert lines[-1] == "report: results/report/tiny/index.html"
    again = tree.command("run")
    assert again.returncode == 0
    assert "R 6 of 8" not in again.stdout  # the headline is news once
    assert tree.command("table").stdout.splitlines()[0].startswith("auditor ")
    gone = tree.command("run", "quik")
    assert (gone.returncode, len(gone.stderr.splitlines())) == (1, 1)


def test_a_stage_command_can_be_run_by_hand(tree: Tree) -> None:
    lost = tree.artifacts("worlds")[0]
    lost.unlink()
    text = tree.run("--dry-run", "--printshellcmds")
    line = next(line for line in text.splitlines() if "worlds_build.py" in line)
    command = line.strip().removeprefix("Shell command: ")
    subprocess.run(command, shell=True, check=True, cwd=tree.root)
    assert tree.planned() == []


def test_a_full_disk_is_one_line_and_leaves_nothing(tree: Tree) -> None:
    """A file-size limit stands for a full disk: the write fails in the middle."""
    lost = tree.artifacts("worlds")[0]
    lost.unlink()
    lost.with_suffix(".json").unlink()
    script = ROOT / "workflow" / "scripts" / "worlds_build.py"
    target = str(lost.relative_to(tree.root / "results"))
    done = subprocess.run(
        [sys.executable, str(script), "--study", "quick", target],
        capture_output=True,
        text=True,
        cwd=tree.root,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500)),
    )
    assert done.returncode == 1
    assert done.stderr.startswith("afterdelete: cannot write")
    assert len(done.stderr.splitlines()) == 1
    assert not lost.exists()
    assert not [path for path in lost.parent.iterdir() if path.suffix == ".part"]
    tree.run()
    assert tree.planned() == []


def test_a_model_that_changed_since_it_was_fetched_is_named(tmp_path: Path) -> None:
    spec = load_model_spec(ROOT / "config/models/smollm2-135m.yaml")
    directory = tmp_path / "smollm2-135m"
    directory.mkdir()
    with pytest.raises(AfterDeleteError, match="not fetched"):
        model_files(spec, tmp_path)
    weights = directory / "weights.gguf"
    weights.write_bytes(b"GGUF")
    seen = {"bytes": 4, "mtime_ns": weights.stat().st_mtime_ns, "path": "weights.gguf"}
    (directory / "fetched.json").write_text(json.dumps({"weights.gguf": seen}))
    assert model_files(spec, tmp_path) == {"weights.gguf": weights}
    weights.write_bytes(b"GGU")
    with pytest.raises(AfterDeleteError, match="changed since it was fetched"):
        model_files(spec, tmp_path)
    weights.unlink()
    with pytest.raises(AfterDeleteError, match="is missing"):
        model_files(spec, tmp_path)


def test_the_determinism_check_runs_on_request_alone(tree: Tree) -> None:
    assert {rule for rule, _ in tree.planned("determinism")} == {"determinism_check", "determinism"}
    text = tree.run("determinism")
    assert "determinism of scripted on scripted: 0 of 24 raw replies flipped, 0 official readings" in text
    assert tree.planned() == []


def test_a_report_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    tree = _small(tmp_path)
    (tree.root / "results").mkdir()
    (tree.root / "results/report").write_text("a file, not a directory")
    done = tree.command("run")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "results/report" in done.stderr
    assert len(done.stderr.splitlines()) == 1
