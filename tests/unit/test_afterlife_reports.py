"""The reports: schema, JUnit, page and terminal, also with hostile texts in them."""

from __future__ import annotations

import base64
import hashlib
import html as html_module
import re
from typing import Any
from xml.etree import ElementTree as XML

import pytest

from afterdelete.afterlife.protocol import Description, ProviderError
from afterdelete.afterlife.report_html import html
from afterdelete.afterlife.report_junit import junit
from afterdelete.afterlife.report_text import finding_lines, leftover_lines, table_lines
from afterdelete.afterlife.results import report_json
from afterdelete.afterlife.stage import table_row
from afterdelete.afterlife.systems.builtin import BuiltinStore, Defect
from tests.afterlife_support import always, fits_report, judge, raising, twisted

HOSTILE = "<script>alert('x')</script>&\"\x00\x1b[31m]]>"


@pytest.fixture(scope="module")
def report() -> dict[str, Any]:
    """One result of each status."""
    error = raising(ProviderError(HOSTILE))
    named = always(Description(HOSTILE, "1.0", {"lib<b>": "2"}))
    results = [
        judge("MT-AF-001", BuiltinStore),
        judge("MT-AF-001", lambda: BuiltinStore(Defect.LATE_WRITE_RESURRECTION)),
        judge("AF-003", lambda: BuiltinStore(Defect.DELETE_WITHOUT_EFFECT)),
        judge("MT-AF-002", lambda: BuiltinStore(Defect.DELETE_WITHOUT_EFFECT)),
        judge("MT-AF-002", BuiltinStore, without=["MEMORY_DELETE"]),  # type: ignore[list-item]
        judge("AF-003", twisted(describe=named, write=error, discard=error)),
    ]
    for number, result in enumerate(results):
        name = ("good", "bad", "bad", "bad", "good", "hostile")[number]
        result["system"] = {**result["system"], "name": name, "title": f"{name} {HOSTILE}"}
    return fits_report(report_json(results))


def test_the_summary_counts_and_gives_the_exit_code(report: dict[str, Any]) -> None:
    assert report["summary"] == {"PASS": 1, "FAIL": 2, "SKIPPED": 1, "INCONCLUSIVE": 1, "ERROR": 1}
    assert report["exit_code"] == 1


def test_junit_tells_a_ci_what_it_can_show(report: dict[str, Any]) -> None:
    root = XML.fromstring(junit(report))
    assert {key: root.get(key) for key in ("tests", "failures", "errors", "skipped")} == {
        "tests": "6",
        "failures": "2",
        "errors": "2",
        "skipped": "1",
    }
    suites = {suite.get("name"): suite for suite in root}
    assert list(suites) == ["good", "bad", "hostile"]
    late, delete, inconclusive = suites["bad"]
    assert late.find("failure").get("type") == "late_write_resurrected"  # type: ignore[union-attr]
    assert delete.find("failure").get("type") == "visible_after_delete"  # type: ignore[union-attr]
    assert inconclusive.find("error").get("type") == "inconclusive"  # type: ignore[union-attr]
    output = late.findtext("system-out") or ""
    assert "\n>  7  observe" in output
    assert "reproduce: afterdelete afterlife test" in output


def test_the_page_escapes_everything_and_may_load_nothing(report: dict[str, Any]) -> None:
    page = html(report)
    assert "<script" not in page
    assert html_module.escape("<script>alert('x')</script>", quote=False).replace("'", "&#39;") in page
    assert not re.search(r"\b(src|href)=\"(?!#)", page)
    assert not re.search(r"\sstyle=|\son\w+=|url\(|@import", page)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    style = re.search(r"<style>(.*?)</style>", page, re.S)
    assert policy
    assert style
    digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    assert (
        policy[1] == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )
    assert "width=device-width" in page


def test_the_page_has_one_timeline_for_each_result_that_ran(report: dict[str, Any]) -> None:
    page = html(report)
    ran = [result for result in report["results"] if result.get("afterlife", {}).get("events")]
    assert page.count('<ol class="timeline">') == len(ran)
    assert page.count('class="back seen returned"') == 3
    anchors = re.findall(r'<article id="([^"]+)"', page)
    assert sorted(anchors) == sorted(re.findall(r'href="#([^"]+)"', page))


def test_the_page_is_the_same_for_the_same_report(report: dict[str, Any]) -> None:
    assert html(report) == html(report)


def test_the_terminal_shows_a_table_and_every_finding(report: dict[str, Any]) -> None:
    assert table_lines(report) == [
        "system   MT-AF-001  AF-003  MT-AF-002",
        "good     PASS       -       SKIPPED",
        "bad      FAIL       FAIL    INCONCLUSIVE",
        "hostile  -          ERROR   -",
    ]
    text = "\n".join(finding_lines(report))
    assert "FAIL late_write_resurrected  bad  MT-AF-001" in text
    assert "SKIPPED  good  MT-AF-002\n  the system lacks MEMORY_DELETE" in text
    assert "\x1b" not in text
    (left,) = leftover_lines(report)
    assert left.startswith("left behind by hostile AF-003: could not discard a tombstone in afterlife-")


def test_a_row_names_what_a_claim_must_name(report: dict[str, Any]) -> None:
    row = table_row(report["results"][1])
    assert (row["status"], row["event"], row["trigger"]) == ("FAIL", "7", "release_pending_writes")
    assert all(row[key] for key in ("product", "version", "configuration", "scenario", "reproduce"))
