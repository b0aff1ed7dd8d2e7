"""Whole studies on real small models, through the workflow."""

from __future__ import annotations

import csv
from collections.abc import Callable

import pyarrow.parquet as pq
import pytest

from tests.rules.harness import Tree

pytestmark = [pytest.mark.model, pytest.mark.slow]


def _summary(tree: Tree, study: str) -> list[dict[str, str]]:
    with (tree.root / f"results/report/{study}/summary.csv").open(encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle))


def test_every_condition_of_quick_runs_on_a_real_small_model(smoke: Tree) -> None:
    rows = _summary(smoke, "smoke")
    assert {row["model"] for row in rows} == {"smollm2-135m"}
    assert all(float(row["clean"]) == 0.0 for row in rows)
    zeros = [
        row
        for row in rows
        if row["endpoint"] == "R" and (row["deletion"], row["memory"]) != ("exact", "hierarchical")
    ]
    assert {row["status"] for row in zeros} == {"proved_zero"}
    assert smoke.planned() == []


def test_raw_replies_are_kept_and_identical_prompts_generated_once(smoke: Tree) -> None:
    for path in smoke.artifacts("audit"):
        rows = pq.read_table(path).to_pylist()
        assert all(row["reply"] is not None and row["completion_tokens"] <= 24 for row in rows)
        assert all(row["finish_reason"] in {"stop", "length"} for row in rows)
        generated = [row["token_ids_sha256"] for row in rows if row["generated"]]
        assert len(set(generated)) == len(generated)
        by_prompt: dict[str, set[str]] = {}
        for row in rows:
            by_prompt.setdefault(row["token_ids_sha256"], set()).add(row["reply"])
        assert all(len(replies) == 1 for replies in by_prompt.values())


def test_the_default_model_reveals_what_was_deleted(real_tree: Callable[[str], Tree]) -> None:
    """Eight profiles, one cell: a real disclosure after a successful exact deletion."""
    tree = real_tree("tiny")
    tree.run("--resources", "model=1", timeout=1500)
    (row,) = _summary(tree, "tiny")
    assert row["endpoint"] == "R"
    assert float(row["clean"]) == 0.0
    assert float(row["delta"]) > 0.0
    assert row["status"] == "above_zero"
