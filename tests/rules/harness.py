"""A throw-away tree: a copy of the configuration, results of its own, and Snakemake run in it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
SCRIPTED = {
    "name": "scripted",
    "license": "none",
    "engine": "scripted",
    "script": "echo-target",
}


@dataclass
class Tree:
    """One directory with `config/`; `results/`, `models/` and `.protected/` appear in it."""

    root: Path

    @classmethod
    def make(cls, root: Path, study: str = "quick", model: dict[str, Any] | None = SCRIPTED) -> Tree:
        """Copy the project's configuration; every study asks ``model`` (None: the models it names)."""
        tree = cls(root)
        shutil.copytree(ROOT / "config", root / "config")
        for name in ("Snakefile", "workflow", "profiles"):
            (root / name).symlink_to(ROOT / name)
        if model:
            tree.write(f"models/{model['name']}.yaml", model)
            for path in (root / "config" / "studies").glob("*.yaml"):
                tree.edit(f"studies/{path.name}", models=[model["name"]])
        tree.edit("config.yaml", study=study)
        return tree

    def write(self, name: str, data: Any) -> None:
        """Write one configuration file."""
        path = self.root / "config" / name
        # Quoted words, so that `off` and `on` stay words for every YAML reader.
        path.write_text(yaml.safe_dump(data, sort_keys=False, allow_unicode=True), encoding="utf-8")

    def read(self, name: str) -> Any:
        """Read one configuration file as the project does."""
        from afterdelete.core.yamlfile import load_yaml

        return load_yaml(self.root / "config" / name)

    def edit(self, name: str, **changes: Any) -> None:
        """Change some keys of one configuration file."""
        self.write(name, {**self.read(name), **changes})

    def snakemake(self, *arguments: str, timeout: float = 600) -> subprocess.CompletedProcess[str]:
        """Run Snakemake in this tree, on the project's Snakefile."""
        command = [sys.executable, "-m", "snakemake", "-s", str(ROOT / "Snakefile")]
        command += ["--directory", str(self.root), "--cores", "2", *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=timeout, cwd=self.root)

    def run(self, *arguments: str, timeout: float = 600) -> str:
        """Run Snakemake and insist that it succeeds."""
        done = self.snakemake(*arguments, timeout=timeout)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-6000:]
        return done.stdout + done.stderr

    def planned(self, *arguments: str) -> list[tuple[str, str]]:
        """(rule, first output) of every job that a dry run plans, `all` left out."""
        text = self.run("--dry-run", *arguments)
        jobs = re.findall(
            r"^(?:local)?rule (\w+):\n(?:    (?!output)\w+: .*\n)*(?:    output: ([^,\n]*))?", text, re.M
        )
        return [(rule, output) for rule, output in jobs if rule != "all"]

    def command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the console command in this tree."""
        command = [sys.executable, "-m", "afterdelete.cli", *arguments]
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "workflow")}
        return subprocess.run(
            command, capture_output=True, text=True, cwd=self.root, env=environment, timeout=300
        )

    def artifacts(self, stage: str) -> list[Path]:
        """Every data file of a stage."""
        return sorted((self.root / "results" / stage).glob("*/*.parquet"))

    def digests(self) -> dict[str, str]:
        """Logical digest of every artifact, by path."""
        import json

        found = {}
        for path in sorted((self.root / "results").glob("*/*/*.json")):
            manifest = json.loads(path.read_text(encoding="utf-8"))
            if "logical_digest" in manifest:
                found[str(path.relative_to(self.root / "results"))] = manifest["logical_digest"]
        return found

    def leaks(self, *directories: str) -> list[Path]:
        """Files below ``directories`` that hold the gate's key or one of its descriptors."""
        protected = self.root / ".protected"
        key = (protected / "gate.key").read_bytes()
        needles = [key, key.hex().encode()]
        for path in protected.rglob("*.json"):
            needles += [part.encode() for part in path.read_text().split('"') if len(part) == 64]
        assert len(needles) > 10
        files = [path for name in directories for path in (self.root / name).rglob("*") if path.is_file()]
        return [path for path in files if any(needle in path.read_bytes() for needle in needles)]
