"""The console command: `afterdelete run quick` and what one needs around it."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from afterdelete import __version__
from afterdelete.afterlife import cli as afterlife_cli
from afterdelete.config.load import Config
from afterdelete.core.errors import AfterDeleteError
from afterdelete.plan.study import StudyPlan, describe, plan_study


def main(arguments: list[str] | None = None) -> int:
    """Entry point. An AfterDeleteError is one line on stderr and exit 1."""
    options = _parser().parse_args(arguments)
    try:
        status: int = options.command(options)
        return status
    except AfterDeleteError as error:
        print(f"afterdelete: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        # The reader (head, less) has seen enough. Nothing more may be flushed to it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print(
            "afterdelete: interrupted; finished artifacts stay, the same command continues", file=sys.stderr
        )
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="afterdelete", description="Audits what an LLM agent can still reveal after a deletion."
    )
    parser.add_argument("--version", action="version", version=f"afterdelete {__version__}")
    commands = parser.add_subparsers(title="commands", required=True)
    for name, command, text in (
        ("run", _run, "run a study and show its table"),
        ("plan", _plan, "what a study would do: cells, artifacts, requests, and what is left of it"),
        ("table", _table, "print the table of a finished study"),
        ("repair", _repair, "put damaged artifacts aside, so that they are made anew"),
        ("verify", _verify, "recompute every checksum, key and link of a study; exit 1 if any differs"),
        ("freeze", _freeze, "write data/frozen/<study>.json from a study that verifies"),
        ("publish", _publish, "point report/<study> at the report of the present configuration"),
    ):
        sub = commands.add_parser(name, help=text, description=text)
        sub.add_argument(
            "study", nargs="?", help="a file in config/studies (default: `study` in config.yaml)"
        )
        sub.add_argument("--config-dir", type=Path, default=Path("config"))
        sub.add_argument("--overrides", default="{}", help="JSON object laid over config.yaml")
        sub.set_defaults(command=command)
        if name == "run":
            sub.add_argument("--profile", default="profiles/local", help="Snakemake profile directory")
    afterlife = afterlife_cli.add_parser(commands)
    afterlife.set_defaults(command=afterlife_cli.run)
    return parser


def _planned(options: argparse.Namespace) -> StudyPlan:
    try:
        overrides = dict(json.loads(options.overrides))
    except (ValueError, TypeError) as error:
        raise AfterDeleteError(
            f"--overrides is not a JSON object: {error}", 'write it as {"key": value}'
        ) from None
    return plan_study(Config(options.config_dir, tuple(overrides.items())), options.study)


def _run(options: argparse.Namespace) -> int:
    from afterdelete.running import run_study

    return run_study(_planned(options), options.config_dir, options.profile)


def _plan(options: argparse.Namespace) -> int:
    from afterdelete.plan.node import MODEL_STAGES
    from afterdelete.plan.outlook import due, outlook
    from afterdelete.plan.status import damaged

    plan = _planned(options)
    counts = describe(plan)
    left = due(plan)
    print(f"study {plan.name}: {counts['cells']} cells, at most {counts['requests']} model requests")
    print("artifacts: " + ", ".join(f"{stage} {count}" for stage, count in counts["artifacts"].items()))
    calling = sum(1 for each in left if each.node.stage in MODEL_STAGES)
    print(f"left to do: {len(left)}, of which {calling} call a model")
    for line in outlook(plan, left):
        print(line)
    for path, problem in damaged(plan):
        print(f"damaged: {path}: {problem}")
    return 0


def _table(options: argparse.Namespace) -> int:
    from afterdelete.running import print_table

    print_table(_planned(options))
    return 0


def _repair(options: argparse.Namespace) -> int:
    from afterdelete.plan.status import QUARANTINE, repair

    plan = _planned(options)
    moved = repair(plan)
    for path, problem in moved:
        print(f"put aside: {path}: {problem}")
    if moved:
        print(f"{len(moved)} damaged, kept in {Path(plan.config.main.results) / QUARANTINE}")
    else:
        print("nothing is damaged")
    return 0


def _verify(options: argparse.Namespace) -> int:
    from afterdelete.verify import frozen
    from afterdelete.verify.check import verify
    from afterdelete.verify.page import terminal, write_page

    plan = _planned(options)
    path = frozen.frozen_path(plan.name)
    known = frozen.load(path) if path.exists() else None
    checks = verify(plan, known)
    page = Path(plan.config.main.results) / "verify" / f"{plan.name}.html"
    write_page(page, plan.name, checks, known is not None)
    print(terminal(checks, known is not None))
    print(f"page: {page}")
    return 1 if any(check.problems for check in checks) else 0


def _freeze(options: argparse.Namespace) -> int:
    from afterdelete.verify import frozen
    from afterdelete.verify.check import verify

    plan = _planned(options)
    path = frozen.frozen_path(plan.name)
    known = frozen.load(path) if path.exists() else None
    captured = frozen.capture(plan, verify(plan, None), known)
    frozen.save(captured, path)
    print(f"{path}: {len(captured.digests)} artifacts, made on {len(captured.machines)} kind(s) of machine")
    return 0


def _publish(options: argparse.Namespace) -> int:
    from afterdelete.plan.status import publish, report_problem

    plan = _planned(options)
    problem = report_problem(plan)
    if problem:
        raise AfterDeleteError(
            f"study {plan.name} has no finished report: {problem}", f"afterdelete run {plan.name}"
        )
    print(f"{publish(plan)} -> {plan.report.directory}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
