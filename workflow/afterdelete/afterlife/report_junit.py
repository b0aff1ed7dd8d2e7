"""The report as JUnit XML, for the test tab of a CI."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree as XML

from afterdelete.afterlife.report_text import timeline_lines
from afterdelete.afterlife.verdict import Status


def junit(report: dict[str, Any]) -> str:
    """One suite for each system, one case for each scenario.

    JUnit knows no INCONCLUSIVE: it becomes an error of that type, since a green or a skipped case would hide
    that nothing was shown.
    """
    root = XML.Element("testsuites", name="afterlife")
    suites: dict[str, XML.Element] = {}
    for result in report["results"]:
        name = result["system"]["name"]
        suite = suites.get(name)
        if suite is None:
            suite = suites[name] = XML.SubElement(root, "testsuite", name=name)
        _case(suite, result)
    for suite in [*suites.values(), root]:
        cases = list(suite.iter("testcase"))
        suite.set("tests", str(len(cases)))
        for tag, attribute in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
            suite.set(attribute, str(sum(case.find(tag) is not None for case in cases)))
        suite.set("time", f"{sum(float(case.get('time', '0')) for case in cases):.3f}")
    XML.indent(root)
    return XML.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _case(suite: XML.Element, result: dict[str, Any]) -> None:
    scenario, status = result["scenario"], Status(result["status"])
    case = XML.SubElement(
        suite,
        "testcase",
        classname=f"afterlife.{result['system']['name']}",
        name=f"{scenario['id']} {scenario['title']}",
        time=f"{result['elapsed_ms'] / 1000:.3f}",
    )
    if status is Status.FAIL:
        XML.SubElement(case, "failure", type=result["label"], message=result["reason"])
    elif status is Status.SKIPPED:
        XML.SubElement(case, "skipped", message=result["reason"])
    elif status is not Status.PASS:
        XML.SubElement(case, "error", type=status.lower(), message=f"{status}: {result['reason']}")
    lines = [*timeline_lines(result), *(f"reproduce: {command}" for command in result["reproduce"])]
    XML.SubElement(case, "system-out").text = "\n".join(lines)
