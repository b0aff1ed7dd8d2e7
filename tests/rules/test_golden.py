"""A committed digest per stage: output that changes without a raised stage version fails here.

To accept a change, raise the stage's version in ``afterdelete/plan/versions.py`` and run
``AFTERDELETE_ACCEPT=1 pytest tests/rules/test_golden.py``.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from afterdelete.core.canonical import canonical_json, sha256_text
from afterdelete.plan.versions import STAGES
from tests.rules.harness import Tree

GOLDEN = Path(__file__).with_name("golden.json")


def _digests(tree: Tree) -> dict[str, str]:
    """One digest a stage: over what its artifacts hold, not over their keys."""
    found: dict[str, list[list[str]]] = {}
    for path, digest in tree.digests().items():
        stage, name, shard = path.split("/")
        found.setdefault(stage, []).append([name[:-17], shard, digest])
    return {stage: sha256_text(canonical_json(sorted(parts))) for stage, parts in sorted(found.items())}


def _golden() -> dict[str, dict[str, object]]:
    golden: dict[str, dict[str, object]] = json.loads(GOLDEN.read_text(encoding="utf-8"))
    return golden


def test_every_stage_is_covered(finished: Tree) -> None:
    digests = _digests(finished)
    assert set(digests) == set(STAGES) - {"report"}
    if os.environ.get("AFTERDELETE_ACCEPT"):
        accepted = {stage: {"version": STAGES[stage], "digest": digest} for stage, digest in digests.items()}
        GOLDEN.write_text(json.dumps(accepted, indent=1) + "\n", encoding="utf-8")


@pytest.mark.parametrize("stage", sorted(set(STAGES) - {"report"}))
def test_output_changes_only_with_its_version(finished: Tree, stage: str) -> None:
    known = _golden()[stage]
    digest = _digests(finished)[stage]
    if STAGES[stage] == known["version"]:
        assert digest == known["digest"], f"output of {stage} changed: raise its version in plan/versions.py"
    else:
        pytest.fail(
            f"version of {stage} is {STAGES[stage]}, the golden digest is of {known['version']}: accept it"
        )
