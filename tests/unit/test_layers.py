"""The library's layers import downward only, and scoring can never reach an engine."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

LIBRARY = Path(__file__).resolve().parents[2] / "workflow" / "afterdelete"
SCRIPTS = LIBRARY.parent / "scripts"

# Lowest first: a layer may import itself and what stands before it.
LAYERS = [
    "core",
    "profiles",
    "config",
    "memory",
    "prompts",
    "auditors",
    "engines",
    "lifecycle",
    "scoring",
    "plan",
    "stats",
    "report",
    "verify",
    "stages",
    "running",
    "cli",
]
HEAVY = ["torch", "transformers", "xllamacpp"]
ENGINE_MODULES = ["afterdelete.engines"]
NO_ENGINE = [
    "afterdelete.stages.score",
    "afterdelete.stages.report",
    "afterdelete.stages.memory",
    "afterdelete.scoring.score",
    "afterdelete.stats.summary",
    "afterdelete.report.build",
    "afterdelete.plan.study",
    "afterdelete.plan.status",
    "afterdelete.verify.page",
]


def _imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def _layer(module: str) -> str | None:
    parts = module.split(".")
    return parts[1] if parts[0] == "afterdelete" and len(parts) > 1 and parts[1] in LAYERS else None


MODULES = sorted(LIBRARY.rglob("*.py"))


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(LIBRARY)))
def test_imports_point_downward(path: Path) -> None:
    own = path.relative_to(LIBRARY).parts[0].removesuffix(".py")
    if own not in LAYERS:
        assert own in {"__init__", "afterlife"}, f"give {own} a place in LAYERS"
        return
    above = set(LAYERS[LAYERS.index(own) + 1 :])
    assert not {layer for module in _imports(path) if (layer := _layer(module))} & above
    assert not any(module.split(".")[0] == "snakemake" for module in _imports(path))


@pytest.mark.parametrize("module", NO_ENGINE)
def test_what_scores_or_plans_or_plots_reaches_no_engine(module: str) -> None:
    code = (
        f"import sys, {module}\n"
        f"bad = [m for m in {HEAVY + ENGINE_MODULES!r} if m in sys.modules]\n"
        "sys.exit(f'loaded {bad}' if bad else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_scripts_are_thin() -> None:
    for path in SCRIPTS.glob("*.py"):
        assert len(path.read_text(encoding="utf-8").splitlines()) <= 20, path.name


def test_modules_can_be_read_in_one_sitting() -> None:
    long = {str(p): n for p in MODULES if (n := len(p.read_text(encoding="utf-8").splitlines())) > 400}
    assert not long
