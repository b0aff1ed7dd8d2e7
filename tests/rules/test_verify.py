"""Verify finds and names each difference; freeze refuses what does not verify."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from afterdelete.config.load import Config
from afterdelete.plan.study import plan_study
from afterdelete.verify.frozen import load
from tests.rules.harness import ROOT, Tree


def test_a_finished_study_verifies_and_freezes_and_verifies_again(tree: Tree) -> None:
    done = tree.command("verify")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "not compared" in done.stdout
    assert tree.command("freeze").returncode == 0
    done = tree.command("verify")
    assert done.returncode == 0
    assert "compared with the frozen file" in done.stdout
    page = (tree.root / "results/verify/quick.html").read_text(encoding="utf-8")
    assert "verified" in page
    assert "xllamacpp" not in page  # the scripted engine's provenance is its own


def test_the_workflow_s_own_targets(tree: Tree) -> None:
    tree.run("freeze")
    assert (tree.root / "data/frozen/quick.json").is_file()
    tree.run("verify")


def _flip(path: Path) -> None:
    times = path.stat()
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 1
    path.write_bytes(bytes(raw))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def _edit_manifest(path: Path, change: Callable[[dict], None]) -> None:  # type: ignore[type-arg]
    manifest_path = path.with_suffix(".json")
    manifest = json.loads(manifest_path.read_text())
    change(manifest)
    manifest_path.write_text(json.dumps(manifest))


HARMS: dict[str, tuple[Callable[[Path], None], str]] = {
    "flipped byte": (_flip, "sha256 is"),
    "truncated": (lambda p: p.write_bytes(p.read_bytes()[:-5]), "bytes, its manifest says"),
    "lost manifest": (lambda p: p.with_suffix(".json").unlink(), "is missing"),
    "lost data": (Path.unlink, "the data file is missing"),
    "other rows": (lambda p: _edit_manifest(p, lambda m: m.update(rows=1)), "rows, its manifest says 1"),
    "other digest": (
        lambda p: _edit_manifest(p, lambda m: m.update(logical_digest="0" * 64)),
        "logical digest is",
    ),
    "field lost": (
        lambda p: _edit_manifest(p, lambda m: m.pop("logical_digest")),
        "its manifest lacks logical_digest",
    ),
    "upstream of text": (
        lambda p: _edit_manifest(p, lambda m: m.update(upstream={"consolidated": "x"})),
        "upstream is not of its type",
    ),
    "recipe with NaN": (
        lambda p: _edit_manifest(p, lambda m: m["recipe"].update(x=float("nan"))),
        "recipe cannot be hashed",
    ),
    "other recipe": (
        lambda p: _edit_manifest(p, lambda m: m["recipe"].update(stage_version=99)),
        "its recipe gives key",
    ),
    "other input": (
        lambda p: _edit_manifest(p, lambda m: m["upstream"]["consolidated"].update(logical_digest="0" * 64)),
        "made from another consolidated",
    ),
}


@pytest.mark.parametrize("harm", HARMS)
def test_each_difference_is_named_with_its_artifact(tree: Tree, harm: str) -> None:
    work, message = HARMS[harm]
    path = tree.artifacts("deleted")[0]
    work(path)
    done = tree.command("verify")
    name = str(path.relative_to(tree.root / "results").with_suffix(""))
    lines = [line for line in done.stdout.splitlines() if line.startswith("DIFFERS")]
    assert done.returncode == 1
    assert any(name in line and message in line for line in lines), done.stdout
    refused = tree.command("freeze")
    assert refused.returncode == 1
    assert "nothing was frozen" in refused.stderr
    assert not (tree.root / "data").exists()


def test_a_changed_report_file_is_named(tree: Tree) -> None:
    (tree.root / "results/report/quick/summary.csv").write_text("edited")
    (tree.root / "results/report/quick/extra.html").write_text("stray")
    done = tree.command("verify")
    assert done.returncode == 1
    assert "summary.csv has another sha256" in done.stdout
    assert "extra.html does not belong" in done.stdout


def test_other_replies_fail_on_a_known_machine_and_are_noted_on_another(tree: Tree) -> None:
    tree.command("freeze")
    path = tree.root / "data/frozen/quick.json"
    stored = json.loads(path.read_text())
    audit = next(name for name in stored["digests"] if name.startswith("audit/"))
    stored["digests"][audit] = "0" * 64
    unit = sorted(stored["replies"][audit])[0]
    stored["replies"][audit][unit] = "0" * 12
    path.write_text(json.dumps(stored))
    done = tree.command("verify")
    assert done.returncode == 1
    assert f"1 of 32 replies: {unit}" in done.stdout or f"replies: {unit}" in done.stdout
    stored["machines"] = [{"cpu": "another", "engine": "scripted", "device": ""}]
    path.write_text(json.dumps(stored))
    done = tree.command("verify")
    assert done.returncode == 0, done.stdout
    assert unit in done.stdout
    deterministic = next(name for name in stored["digests"] if name.startswith("deleted/"))
    stored["digests"][deterministic] = "0" * 64
    path.write_text(json.dumps(stored))
    assert tree.command("verify").returncode == 1


def test_the_committed_frozen_file_is_of_this_configuration_and_code(tmp_path: Path) -> None:
    """Its artifacts are those that quick plans, and its deterministic stages come out the same here."""
    frozen = load(ROOT / "data/frozen/quick.json")
    plan = plan_study(Config(ROOT / "config"), "quick")
    planned = {f"{node.directory}/{shard}" for node, shard in plan.artifacts() if node.stage != "report"}
    assert set(frozen.digests) == planned, "run the study, then: afterdelete freeze quick"
    tree = Tree.make(tmp_path, model=None)
    tree.run("--until", "certified")
    made = {name.removesuffix(".json"): digest for name, digest in tree.digests().items()}
    assert {name.split("/")[0] for name in made} == {
        "profiles",
        "worlds",
        "consolidated",
        "deleted",
        "certified",
    }
    assert made == {name: frozen.digests[name] for name in made}


def test_a_flipped_report_page_is_repaired(tree: Tree) -> None:
    _flip(tree.root / "results/report/quick/index.html")
    assert tree.command("verify").returncode == 1
    assert "index.html has another sha256" in tree.command("repair").stdout
    assert [rule for rule, _ in tree.planned()] == ["report"]
    tree.run()
    assert tree.command("verify").returncode == 0


@pytest.mark.parametrize("change", [{"study": "other"}, {"machines": 5}, {"digests": []}])
def test_a_frozen_file_of_something_else_is_refused(tree: Tree, change: dict) -> None:  # type: ignore[type-arg]
    assert tree.command("freeze").returncode == 0
    path = tree.root / "data/frozen/quick.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    for command in ("verify", "freeze"):
        done = tree.command(command)
        assert done.returncode == 1
        assert "is not a frozen file of quick" in done.stderr
        assert len(done.stderr.splitlines()) == 1
