"""Real models, fetched once into the project's own directory by the workflow's own rule."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.rules.harness import ROOT, Tree


@pytest.fixture(scope="session")
def real_tree(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Tree]:
    """Make a tree for a study on its own models."""

    def make(study: str) -> Tree:
        tree = Tree.make(tmp_path_factory.mktemp(study), study=study, model=None)
        tree.edit("config.yaml", models=str(ROOT / "models"))
        # It rambles up to any limit, and 24 tokens of that are as good a test as 96.
        tree.edit("models/smollm2-135m.yaml", max_new_tokens=24)
        return tree

    return make


@pytest.fixture(scope="session")
def smoke(real_tree: Callable[[str], Tree]) -> Tree:
    """All of quick's conditions on smollm2-135m, run once on this machine. Read it; do not change it."""
    tree = real_tree("smoke")
    tree.run("--resources", "model=1", timeout=1500)
    return tree
