"""A run over the systems and scenarios of a configuration."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from afterdelete.afterlife.catalogue import scenarios
from afterdelete.afterlife.environments import stamp
from afterdelete.afterlife.markers import Markers
from afterdelete.afterlife.opening import opener
from afterdelete.afterlife.paths import ROOT
from afterdelete.afterlife.protocol import MemoryAdapter
from afterdelete.afterlife.results import result_json
from afterdelete.afterlife.runner import run_scenario
from afterdelete.afterlife.settings import AfterlifeConfig, HttpSystem, Launch, load
from afterdelete.core.canonical import content_key
from afterdelete.core.errors import AfterDeleteError

# Raised when the meaning of a result changes; results under older keys stay where they are.
STAGE_VERSION = 2
DEFAULT_CONFIG = ROOT / "config" / "afterlife" / "default.yaml"


@dataclass(frozen=True)
class Session:
    """One configuration file, read and checked."""

    path: Path
    config: AfterlifeConfig
    show_markers: bool = False

    @classmethod
    def read(cls, path: Path = DEFAULT_CONFIG, *, show_markers: bool = False) -> Session:
        """Read and check the file at ``path``."""
        return cls(path, load(path), show_markers)

    def chosen(self, systems: Sequence[str], ids: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Pairs of system and scenario: those named, or all of the configuration."""
        for name in systems:
            if name not in self.config.systems:
                known = ", ".join(self.config.systems)
                raise AfterDeleteError(f"{self.path} has no system {name}", f"it has {known}")
        for id in ids:
            if id not in scenarios():
                raise AfterDeleteError(f"there is no scenario {id}", f"there are {', '.join(scenarios())}")
        for name in systems or self.config.systems:
            for id in ids or self.config.scenarios:
                yield name, id

    def open(self, name: str) -> Callable[[], MemoryAdapter]:
        """What opens a fresh adapter for system ``name``."""
        system = self.config.systems[name]
        return opener(system, self.path.resolve().parent, self.config.limits(name))

    def run(self, name: str, id: str) -> dict[str, Any]:
        """The result of scenario ``id`` on system ``name``, as the report has it."""
        system = self.config.systems[name]
        markers = Markers(self.config.seed, show=self.show_markers)
        limits = self.config.limits(name)
        result = run_scenario(
            scenarios()[id], self.open(name), limits=limits, markers=markers, without=system.without
        )
        facts = {
            "name": name,
            "title": system.title or name,
            "configuration": system.model_dump(
                mode="json", exclude_defaults=True, exclude={"title", "times"}
            ),
            "times": {"window_ms": round(limits.window * 1000), "interval_ms": round(limits.interval * 1000)},
        }
        return result_json(result, facts, [self.reproduce(name, id)], markers, show_markers=self.show_markers)

    def key(self, name: str, id: str) -> str:
        """Names a result by what it depends on: the system's entry, times, seed, the scenario's row."""
        return content_key(self._recipe(name, id))

    def result_file(self, name: str, id: str) -> str:
        """Where the workflow keeps a result, below its folder for them."""
        return f"{name}/{id}-{self.key(name, id)}.json"

    def table_recipe(self) -> dict[str, Any]:
        """What the table of all results depends on."""
        upstream = {f"{name} {id}": self.key(name, id) for name, id in self.chosen([], [])}
        return {"key_version": 1, "stage": "afterlife", "stage_version": STAGE_VERSION, "upstream": upstream}

    def _recipe(self, name: str, id: str) -> dict[str, Any]:
        parameters = {
            "system": self.config.systems[name].model_dump(mode="json"),
            "times": asdict(self.config.limits(name)),
            "seed": self.config.seed,
            "scenario": scenarios()[id].model_dump(mode="json"),
        }
        return {
            "key_version": 1,
            "stage": "afterlife_result",
            "stage_version": STAGE_VERSION,
            "parameters": parameters,
        }

    def files(self, name: str) -> list[Path]:
        """Files that decide how system ``name`` behaves.

        Those are its program, the Python files beside it, and the stamp of its environment.
        """
        system = self.config.systems[name]
        launch = system.launch if isinstance(system, HttpSystem) else system
        if not isinstance(launch, Launch):
            return []
        folder = self.path.resolve().parent
        programs = [folder / word for word in launch.command if (folder / word).is_file()]
        beside = [path for program in programs for path in program.parent.glob("*.py")]
        stamps = [stamp(launch.environment)] if launch.environment else []
        return sorted({*programs, *beside, *(path for path in stamps if path.is_file())})

    def reproduce(self, name: str, id: str) -> str:
        """The command that gives this result again."""
        words = ["afterdelete", "afterlife", "test", "--system", name, "--scenario", id]
        if self.path != DEFAULT_CONFIG:
            here = Path.cwd()
            inside = self.path.is_relative_to(here)
            words[3:3] = ["--config", str(self.path.relative_to(here) if inside else self.path)]
        return shlex.join(words)
