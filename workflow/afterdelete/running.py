"""Running a study as a person would: repair, Snakemake, progress, the headline, the table."""

from __future__ import annotations

import fcntl
import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from afterdelete.core.errors import AfterDeleteError
from afterdelete.plan import progress
from afterdelete.plan.node import MODEL_STAGES, Node, shard_range
from afterdelete.plan.status import data_path, is_finished, publish, repair
from afterdelete.plan.study import StudyPlan

TICK_SECONDS = 1.0
QUIET_SECONDS = 30.0
ERROR_PREFIX = "afterdelete: "


def run_study(plan: StudyPlan, config_dir: Path, profile: str) -> int:
    """Run every unfinished artifact of a study; 0 when its report is there."""
    if not Path("Snakefile").is_file():
        raise AfterDeleteError("there is no Snakefile here", "run this from the project's root")
    log = Path(plan.config.main.results) / ".logs" / f"{plan.name}.log"
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise AfterDeleteError(
            f"cannot write {log.parent}: {error.strerror}",
            "set `results` in config.yaml to a directory that can be written",
        ) from error
    # Snakemake inherits this lock with its output, so it holds as long as any process of the run lives.
    sink = log.open("a", encoding="utf-8")
    try:
        fcntl.flock(sink, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        sink.close()
        raise AfterDeleteError(f"another run of {plan.name} is going on", "wait for it") from None
    sink.truncate(0)
    for path, problem in repair(plan):
        print(f"put aside a damaged artifact: {path}: {problem}", flush=True)
    print(f"study {plan.name}: {plan.study.description}", flush=True)
    print(f"at most {plan.request_bound()} model requests; log: {log}", flush=True)
    command = [
        *(sys.executable, "-m", "snakemake", "--profile", profile, "--config"),
        *(f"study={plan.name}", f"config_dir={config_dir}"),
        *(f"{name}={json.dumps(value)}" for name, value in plan.config.overrides),
    ]
    with sink:
        process = subprocess.Popen(command, stdout=sink, stderr=subprocess.STDOUT)
        previous = signal.signal(signal.SIGTERM, _interrupt)
        try:
            _watch(plan, process)
        except BaseException:
            # Whatever ends the watching ends the run: Snakemake cancels its jobs and releases its lock. A
            # terminal's Ctrl-C has reached it already, and a second SIGINT changes nothing.
            process.send_signal(signal.SIGINT)
            process.wait()
            raise
        finally:
            signal.signal(signal.SIGTERM, previous)
    if process.returncode:
        raise _failure(log, process.returncode)
    publish(plan)
    print_table(plan)
    print(f"\nreport: {Path(plan.config.main.results) / 'report' / plan.name / 'index.html'}")
    return 0


def _interrupt(number: int, frame: object) -> None:
    raise KeyboardInterrupt


def print_table(plan: StudyPlan) -> None:
    """The terminal table of a finished study."""
    from afterdelete.core.artifacts import read_artifact
    from afterdelete.stats.terminal import terminal_table

    path = data_path(plan, plan.summary, "all")
    if not is_finished(plan, plan.summary, "all"):
        raise AfterDeleteError(f"study {plan.name} is not finished", f"afterdelete run {plan.name}")
    print(terminal_table(read_artifact(path, plan.summary.key)))


def _watch(plan: StudyPlan, process: subprocess.Popen[bytes]) -> None:
    """Print the headline when it is there, and progress while model jobs run."""
    jobs = [
        (node, shard)
        for node, shard in plan.artifacts()
        if node.stage in MODEL_STAGES and not is_finished(plan, node, shard)
    ]
    headline_due = not is_finished(plan, plan.headline, "all")
    meter = _Meter(plan, jobs)
    while process.poll() is None:
        time.sleep(TICK_SECONDS)
        if headline_due and is_finished(plan, plan.headline, "all"):
            headline_due = False
            meter.clear()
            print(_headline(plan), flush=True)
        meter.show()
    meter.clear()
    if headline_due and is_finished(plan, plan.headline, "all"):
        print(_headline(plan), flush=True)


def _headline(plan: StudyPlan) -> str:
    from afterdelete.core.artifacts import read_artifact
    from afterdelete.stats.terminal import headline_line

    bootstrap = plan.config.main.bootstrap
    units = read_artifact(data_path(plan, plan.headline, "all"), plan.headline.key)
    return headline_line(units, resamples=bootstrap.resamples, seed=bootstrap.seed)


class _Meter:
    """One line of progress: requests done, rate, time left. Rewritten in place on a terminal."""

    def __init__(self, plan: StudyPlan, jobs: list[tuple[Node, str]]) -> None:
        self.plan = plan
        self.jobs = jobs
        self.results = Path(plan.config.main.results)
        self.started = time.monotonic()
        self.last = 0.0
        self.wide = 0
        for node, shard in jobs:
            progress.forget(self.results, node, shard)

    def counts(self) -> tuple[int, int]:
        """(done, total) over this run's jobs; the total falls as episodes end early."""
        done = total = 0
        for node, shard in self.jobs:
            start, stop = shard_range(shard)
            seen = progress.read(self.results, node, shard) or (0, node.requests * (stop - start))
            done += seen[0]
            total += seen[1]
        return done, total

    def show(self) -> None:
        """Print the line if it is due."""
        now = time.monotonic()
        if not self.jobs or now - self.last < (TICK_SECONDS if sys.stdout.isatty() else QUIET_SECONDS):
            return
        done, total = self.counts()
        if not done:
            return
        self.last = now
        rate = done / (now - self.started)
        left = (total - done) / rate
        line = f"{done} of at most {total} requests, {rate:.2f} a second, about {_minutes(left)} left"
        if sys.stdout.isatty():
            print(f"\r{line:<{self.wide}}", end="", flush=True)
            self.wide = max(self.wide, len(line))
        else:
            print(line, flush=True)

    def clear(self) -> None:
        """Leave the terminal's line empty for what comes next."""
        if sys.stdout.isatty() and self.wide:
            print(f"\r{'':<{self.wide}}\r", end="", flush=True)


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"


def _failure(log: Path, status: int) -> AfterDeleteError:
    """The first error line that a job or the Snakefile left in the log."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    for line in _own_errors(lines):
        return AfterDeleteError(line, f"full log: {log}")
    if any("Directory cannot be locked" in line or "LockException" in line for line in lines):
        return AfterDeleteError(
            "another run holds this directory, or a killed one left its lock",
            "wait for it; if none is running: afterdelete repair, make unlock, then the same command again",
        )
    tail = next((line.strip() for line in reversed(lines) if "rror" in line), f"exit status {status}")
    return AfterDeleteError(f"the workflow failed: {tail}", f"full log: {log}")


def _own_errors(lines: list[str]) -> Iterator[str]:
    for line in lines:
        if line.startswith(ERROR_PREFIX):
            yield line.removeprefix(ERROR_PREFIX)
