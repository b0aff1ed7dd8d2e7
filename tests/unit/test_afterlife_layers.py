"""What the Afterlife package may import, and what an adapter's environment needs of it."""

from __future__ import annotations

import argparse
import ast
import subprocess
import sys
from pathlib import Path

import pytest

from afterdelete.afterlife import cli
from tests.afterlife_support import ROOT

PACKAGE = ROOT / "workflow" / "afterdelete" / "afterlife"
THIRD_PARTY = {"jinja2", "markupsafe", "pyarrow", "pydantic", "requests", "urllib3"}


@pytest.mark.parametrize(
    "path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE))
)
def test_it_imports_the_core_and_light_packages_only(path: Path) -> None:
    modules: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            modules.add(
                f"{node.module}.{node.names[0].name}" if node.module == "afterdelete" else node.module or ""
            )
    ours = {module for module in modules if module.partition(".")[0] == "afterdelete"}
    assert all(module.split(".")[1:2] in ([], ["afterlife"], ["core"]) for module in ours)
    roots = {module.partition(".")[0] for module in modules - ours}
    assert roots <= THIRD_PARTY | set(sys.stdlib_module_names)


def test_a_worker_needs_the_standard_library_only() -> None:
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT / 'workflow')!r})\n"
        "import afterdelete.afterlife.worker, afterdelete.afterlife.systems.builtin\n"
    )
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_no_memory_system_is_loaded_by_the_command_line() -> None:
    code = "import sys, afterdelete.afterlife.cli; sys.exit(any('langgraph' in name for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_commands_hang_into_a_bigger_command_line() -> None:
    parser = argparse.ArgumentParser()
    cli.add_parser(parser.add_subparsers(required=True)).set_defaults(command=cli.run)
    args = parser.parse_args(["afterlife", "test", "--system", "a", "--system", "b", "--junit", "out.xml"])
    assert args.command is cli.run
    assert (args.afterlife_command, args.system, args.junit) == ("test", ["a", "b"], Path("out.xml"))


def test_the_pins_are_exact() -> None:
    for path in (ROOT / "envs").glob("memory-*.txt"):
        lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
        assert lines
        assert all(line.count("==") == 1 for line in lines)
    pins = (ROOT / "envs" / "memory-langgraph.txt").read_text(encoding="utf-8").splitlines()
    assert {"langgraph==1.2.24", "langgraph-checkpoint-sqlite==3.1.2"} <= set(pins)
