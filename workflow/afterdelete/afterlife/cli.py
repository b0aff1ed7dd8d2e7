"""`afterdelete afterlife`: test, demo and doctor."""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from afterdelete.afterlife.doctor import examine
from afterdelete.afterlife.paths import ROOT
from afterdelete.afterlife.report_html import html
from afterdelete.afterlife.report_junit import junit
from afterdelete.afterlife.report_text import finding_lines, leftover_lines, table_lines, timeline_lines
from afterdelete.afterlife.results import report_json
from afterdelete.afterlife.runner import Interrupted
from afterdelete.afterlife.session import DEFAULT_CONFIG, Session
from afterdelete.afterlife.verdict import EXIT_FAIL, EXIT_INTERRUPTED, EXIT_PASS, EXIT_USAGE
from afterdelete.core.atomic import write_text
from afterdelete.core.errors import AfterDeleteError

_DEMO = ROOT / "config" / "afterlife" / "demo.yaml"
_DEMO_VERDICTS = {
    ("broken-late-write", "MT-AF-001"): "FAIL",
    ("broken-reingestion", "MT-AF-002"): "FAIL",
    ("fixed", "MT-AF-001"): "PASS",
    ("fixed", "MT-AF-002"): "PASS",
}
_EXIT_CODES = (
    "exit status: 0 all that ran passed, 1 a FAIL, 2 usage, 3 inconclusive or nothing ran, 4 an ERROR, "
    "130 interrupted"
)


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Add `afterlife` with its own commands to an argparse set of subcommands."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "afterlife", help="does a delete stay deleted?", description=__doc__, epilog=_EXIT_CODES
    )
    add_commands(parser)
    return parser


def add_commands(parser: argparse.ArgumentParser) -> None:
    """Add the three commands to ``parser``; what it parses goes to :func:`run`."""
    commands = parser.add_subparsers(dest="afterlife_command", required=True, metavar="COMMAND")
    test = commands.add_parser("test", help="run scenarios against systems", epilog=_EXIT_CODES)
    _add_choice(test)
    test.add_argument(
        "--out", type=Path, metavar="DIR", help="write report.json, junit.xml and report.html there"
    )
    test.add_argument("--json", type=Path, metavar="FILE", help="write the JSON report")
    test.add_argument("--junit", type=Path, metavar="FILE", help="write the JUnit XML report")
    test.add_argument("--html", type=Path, metavar="FILE", help="write the HTML report")
    test.add_argument("--show-markers", action="store_true", help="do not redact the synthetic markers")
    demo = commands.add_parser("demo", help="a broken store, a fixed store, and the comparison")
    demo.add_argument("--html", type=Path, metavar="FILE", help="write the HTML report")
    doctor = commands.add_parser("doctor", help="what the adapters declare and which scenarios would run")
    _add_choice(doctor)


def _add_choice(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--config", type=Path, default=DEFAULT_CONFIG, metavar="FILE", help="configuration (YAML)"
    )
    parser.add_argument(
        "--system", action="append", default=[], metavar="NAME", help="only this one; repeatable"
    )
    parser.add_argument(
        "--scenario", action="append", default=[], metavar="ID", help="only this one; repeatable"
    )


def run(args: argparse.Namespace) -> int:
    """Carry out the parsed command and return the exit status."""
    command = {"test": _test, "demo": _demo, "doctor": _doctor}[args.afterlife_command]
    try:
        with _terminable():
            return command(args)
    except AfterDeleteError as error:
        print(f"afterdelete: {error}", file=sys.stderr)
        return EXIT_USAGE
    except KeyboardInterrupt as interrupt:
        cleanup = interrupt.cleanup if isinstance(interrupt, Interrupted) else None
        problems = cleanup.problems if cleanup else ()
        print(
            "interrupted; what this run created was removed" if not problems else "interrupted",
            file=sys.stderr,
        )
        for problem in problems:
            print(f"left behind: {problem}", file=sys.stderr)
        return EXIT_INTERRUPTED


def _test(args: argparse.Namespace) -> int:
    session = Session.read(args.config, show_markers=args.show_markers)
    targets = _targets(args)
    report = report_json(
        session.run(name, id) for name, id in list(session.chosen(args.system, args.scenario))
    )
    _print(table_lines(report), finding_lines(report))
    for line in leftover_lines(report):
        print(line, file=sys.stderr)
    code = int(report["exit_code"])
    for path, render in targets:
        # A report that cannot be written must not hide the others, nor turn a FAIL into a usage error.
        try:
            write_text(path, render(report))
        except AfterDeleteError as error:
            print(f"afterdelete: {error}", file=sys.stderr)
            code = code or EXIT_USAGE
    return code


def _demo(args: argparse.Namespace) -> int:
    session = Session.read(_DEMO)
    report = report_json(session.run(name, id) for name, id in _DEMO_VERDICTS)
    for result in report["results"]:
        print(f"{result['system']['title']}, {result['scenario']['title'].lower()}: {result['status']}")
        _print([f"  {line}" for line in timeline_lines(result)])
    _print(table_lines(report))
    if args.html:
        write_text(args.html, html(report))
    seen = {(each["system"]["name"], each["scenario"]["id"]): each["status"] for each in report["results"]}
    return EXIT_PASS if seen == _DEMO_VERDICTS else EXIT_FAIL


def _doctor(args: argparse.Namespace) -> int:
    lines, code = examine(Session.read(args.config), args.system, args.scenario)
    _print(lines)
    return code


def _targets(args: argparse.Namespace) -> list[tuple[Path, Any]]:
    out: Path | None = args.out
    wanted = [
        (args.json or (out and out / "report.json"), lambda report: json.dumps(report, indent=2) + "\n"),
        (args.junit or (out and out / "junit.xml"), junit),
        (args.html or (out and out / "report.html"), html),
    ]
    return [(path, render) for path, render in wanted if path]


def _print(*blocks: list[str]) -> None:
    for block in blocks:
        if block:
            print("\n".join(block), end="\n\n")


@contextmanager
def _terminable() -> Iterator[None]:
    """Let a SIGTERM (a CI that cancels) clean up as a Ctrl-C does."""

    def interrupt(_signal: int, _frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
