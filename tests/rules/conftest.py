"""One finished quick study on the scripted engine, copied for each test that changes something."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.rules.harness import Tree


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    """A finished tree. Read it; do not change it."""
    tree = Tree.make(tmp_path_factory.mktemp("finished"))
    tree.run()
    return tree


@pytest.fixture
def tree(finished: Tree, tmp_path: Path) -> Tree:
    """A finished tree of one's own: times and links as they were."""
    root = tmp_path / "tree"
    shutil.copytree(finished.root, root, symlinks=True, ignore=shutil.ignore_patterns(".snakemake"))
    return Tree(root)
