"""The main function of every stage script: find the job, run it, write its artifact."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any, NoReturn

import pyarrow as pa

from afterdelete.config.load import Config
from afterdelete.core.artifacts import write_artifact
from afterdelete.core.errors import AfterDeleteError
from afterdelete.core.provenance import worker
from afterdelete.plan.study import plan_study
from afterdelete.stages.context import Job

Maker = Callable[[Job], pa.Table | tuple[pa.Table, dict[str, Any]]]


def find_job(arguments: list[str]) -> Job:
    """Parse a stage script's command line: the study, the configuration, and which artifact to make."""
    parser = argparse.ArgumentParser(description="Make one artifact of a study.")
    parser.add_argument("artifact", help="<stage>/<label>-<key>/<shard>.parquet, relative to the results")
    parser.add_argument("--study", required=True)
    parser.add_argument("--config-dir", default="config", type=Path)
    parser.add_argument("--overrides", default="{}", help="JSON object laid over config.yaml")
    parser.add_argument("--threads", type=int, default=None, help="cores for the model (default: all)")
    options = parser.parse_args(arguments)
    config = Config(options.config_dir, tuple(json.loads(options.overrides).items()))
    plan = plan_study(config, options.study)
    path = PurePosixPath(options.artifact)
    return Job(plan, plan.node(str(path.parent)), path.stem, options.threads)


def run(make: Maker) -> None:
    """Make one artifact as told by the command line; an AfterDeleteError is one line and exit 1."""

    def work(job: Job) -> None:
        started = time.monotonic()
        made = make(job)
        table, extra = made if isinstance(made, tuple) else (made, {})
        write_artifact(
            job.output(),
            table,
            recipe=job.node.recipe,
            upstream=job.upstream(),
            provenance={**worker(), "wall_seconds": round(time.monotonic() - started, 3), **extra},
        )
        job.checkpoint().unlink(missing_ok=True)

    run_for_effect(work)


def run_for_effect(work: Callable[[Job], None]) -> None:
    """Run a job that writes its own files, with the same command line and errors as :func:`run`."""
    with one_line_errors():
        work(find_job(sys.argv[1:]))


@contextmanager
def one_line_errors() -> Iterator[None]:
    """What a person sees of an error: one line on stderr, exit 1, no traceback."""
    try:
        yield
    except AfterDeleteError as error:
        _fail(str(error))
    except OSError as error:
        place = error.filename or "input or output"
        _fail(f"{place}: {error.strerror or error} — free space or fix permissions there")
    except MemoryError:
        _fail("out of memory — give the job more, or use a smaller model")


def _fail(message: str) -> NoReturn:
    """One write, so that the lines of jobs that fail together do not run into each other."""
    sys.stderr.write(f"afterdelete: {message}\n")
    sys.exit(1)
