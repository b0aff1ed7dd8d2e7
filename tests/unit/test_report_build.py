"""The report as files: same bytes every time, whole links, true sentences, thin data."""

from __future__ import annotations

import base64
import hashlib
import random
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path

import pytest

from afterdelete.core.errors import AfterDeleteError
from afterdelete.report import build_report
from tests.unit.factories import Spec, Study, add_cell, quick_specs, quick_study

LIVED = Spec(gate="off", activation_contract="aligned")
FAST = {"resamples": 200}
VOID = {"meta", "link", "br", "img", "input", "hr"}


class Page(HTMLParser):
    """Reads a page: tags, ids, links, and whether every tag is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.hrefs: list[str] = []
        self.events: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        values = dict(attrs)
        self.ids += [values["id"] or ""] if "id" in values else []
        self.hrefs += [values["href"] or ""] if "href" in values else []
        self.events += [name for name in values if name.startswith("on") or name in ("src", "style")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        # A page whose tags do not nest here was broken by some text in it.
        assert self.open.pop() == tag


def build(out: Path, study: Study, **more: object) -> dict[str, bytes]:
    files = build_report(out, **study.tables(), **{**FAST, **more})  # type: ignore[arg-type]
    return {str(path.relative_to(out)): path.read_bytes() for path in files}


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("report")


@pytest.fixture(scope="module")
def files(out: Path) -> dict[str, bytes]:
    provenance = {"engine": "scripted", "versions": {"numpy": "2.0"}, "model": {"sha256": "ab" * 32}}
    return build(
        out, quick_study(), provenance=provenance, requests={"asked": 12, "generated": 9, "reused": 3}
    )


def test_writes_every_file(files: dict[str, bytes]) -> None:
    cells = {spec.cell for split in ("iid", "ood") for spec in quick_specs(split)}
    figures = {"recovery", "auditors", "breakdown", "lifecycle", "contracts"}
    tables = {"index.html", "summary.csv", "by_structure.csv", "by_domain.csv", "interface.csv"}
    assert set(files) == tables | {f"figures/{f}.svg" for f in figures} | {f"replies/{c}.html" for c in cells}


def test_same_input_same_bytes_whatever_the_row_order(files: dict[str, bytes], tmp_path: Path) -> None:
    study = quick_study()
    random.Random(3).shuffle(study.units)
    random.Random(4).shuffle(study.replies)
    random.Random(5).shuffle(study.certificates)
    provenance = {"engine": "scripted", "versions": {"numpy": "2.0"}, "model": {"sha256": "ab" * 32}}
    requests = {"asked": 12, "generated": 9, "reused": 3}
    assert build(tmp_path, study, provenance=provenance, requests=requests) == files


def test_every_page_is_well_formed_and_loads_nothing(files: dict[str, bytes]) -> None:
    for name, data in files.items():
        if not name.endswith(".html"):
            continue
        text = data.decode()
        page = Page(text)
        assert page.open == []
        assert page.events == []
        assert not set(page.tags) & {"img", "iframe", "object", "embed", "link", "base"}
        assert len(set(page.ids)) == len(page.ids), name
        assert "http" not in re.sub(r'xmlns="[^"]*"|http-equiv', "", text)


def test_every_link_leads_somewhere(out: Path, files: dict[str, bytes]) -> None:
    ids = {name: set(Page(data.decode()).ids) for name, data in files.items() if name.endswith(".html")}
    seen = 0
    for name in ids:
        for href in Page(files[name].decode()).hrefs:
            path, _, anchor = href.partition("#")
            target = str(((out / name).parent / path).resolve().relative_to(out.resolve())) if path else name
            assert target in files, href
            assert not anchor or anchor in ids[target], href
            seen += 1
    assert seen > 100
    assert f'href="replies/{LIVED.cell}.html#forget"' in files["index.html"].decode()
    assert f'href="replies/{LIVED.cell}.html#forget.atomic"' in files["index.html"].decode()


def test_the_policy_allows_the_style_and_script_of_the_page_only(files: dict[str, bytes]) -> None:
    text = files[f"replies/{LIVED.cell}.html"].decode()
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', text)
    policy = policy.replace("&#39;", "'")
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    for tag in ("style", "script"):
        (body,) = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy


def test_figures_are_xml_with_plain_colours_and_links(files: dict[str, bytes]) -> None:
    for name, data in files.items():
        if name.endswith(".svg"):
            root = ET.fromstring(data)
            assert b"var(" not in data
            links = [a.get("href", "") for a in root.iter("{http://www.w3.org/2000/svg}a")]
            assert links
            assert all(link.startswith("../replies/") for link in links)


def test_opens_with_the_answer_and_shows_what_was_given(files: dict[str, bytes]) -> None:
    text = files["index.html"].decode()
    study = quick_study()

    def recovered(split: str, world: str) -> int:
        spec = Spec(split=split, gate="off", activation_contract="aligned")
        return sum(u["R"] for u in study.units if u["cell"] == spec.cell and u["world"] == world)

    assert recovered("iid", "clean") == recovered("ood", "clean") == 0
    assert (
        "After exact deletion from hierarchical memory, one direct question still recovered "
        f"{recovered('iid', 'forget')} of 16 deleted targets (clean: 0 of 16) on iid, and "
        f"{recovered('ood', 'forget')} of 8 (clean: 0 of 8) on ood."
    ) in text
    for shown in ("<dt>engine</dt><dd>scripted</dd>", "versions.numpy", "<dt>generated</dt><dd>9</dd>"):
        assert shown in text


def test_a_reply_page_holds_every_raw_reply(files: dict[str, bytes]) -> None:
    study = quick_study()
    for spec in (LIVED, Spec(deletion="none", auditor="expert_script")):
        text = files[f"replies/{spec.cell}.html"].decode()
        rows = [row for row in study.replies if row["cell"] == spec.cell]
        assert text.count('<pre class="reply">') == len(rows)
        assert text.count('<article class="unit"') == len({(r["profile_id"], r["world"]) for r in rows})


HOSTILE = [
    "<script>alert(1)</script>",
    "</pre></article></section></main></script><img src=x onerror=alert(1)>",
    "<!-- <style>*{display:none}</style>",
    "{{ 7 * 7 }} {% raw %}",
    "\x1b[2J\x00\u202etxet\u2069",
    "]]>&lt;&#x3c;script>",
    "🙂" * 50,
    "x" * 200_000,
]


def test_hostile_text_stays_text(tmp_path: Path) -> None:
    study = Study()
    add_cell(study, LIVED, len(HOSTILE))
    for row, text in zip((r for r in study.replies if r["world"] == "forget"), HOSTILE * 2, strict=True):
        row |= {
            "reply": text,
            "question": text,
            "private_prompt": text,
            "prediction": text,
            "operator": text[:200],
        }
    study.targets = dict.fromkeys(study.targets, "<script>")
    hostile = {"<b>engine</b>": HOSTILE[1]}
    files = build(tmp_path, study, provenance=hostile)
    text = files[f"replies/{LIVED.cell}.html"].decode()
    for page in (Page(text), Page(files["index.html"].decode())):
        assert page.events == []
        assert "img" not in page.tags
        assert page.tags.count("style") == 1
    assert Page(text).tags.count("script") == 1
    assert "<mark>&lt;script&gt;</mark>alert(1)" in text
    assert "{{ 7 * 7 }}" in text
    assert 'class="reply long"' in text
    assert "\u202e" not in text


def only(*specs: Spec, n: int) -> Study:
    study = Study()
    for spec in specs:
        add_cell(study, spec, n)
    return study


THIN = {
    "one profile, one cell": only(Spec(), n=1),
    "no retained": only(LIVED, n=4),
    "no lifecycle": only(Spec(), Spec(deletion="none"), n=3),
    "ood only": only(Spec(split="ood", memory="flat"), n=2),
    "another auditor only": only(Spec(auditor="greedy_information_gain", audit_contract="legacy"), n=5),
    "two models": only(Spec(), Spec(model="other-model"), n=4),
    "write branches": only(
        LIVED, *(Spec(gate="off", activation_contract="aligned", write_branch="no_write"),), n=4
    ),
}


@pytest.mark.parametrize("name", THIN)
def test_thin_data_still_makes_a_whole_report(name: str, tmp_path: Path) -> None:
    files = build(tmp_path, THIN[name])
    page = Page(files["index.html"].decode())
    assert page.open == []
    for href in page.hrefs:
        path, _, anchor = href.partition("#")
        assert not path or path in files
        assert path or anchor in page.ids
    for data in files.values():
        assert not re.search(rb"\b(None|nan)\b", data)


def sentences_of(tmp_path: Path, study: Study) -> str:
    html = build(tmp_path, study)["index.html"].decode()
    return re.sub(r"\s+", " ", re.sub("<[^>]*>", "", html.split("</style>")[1]))


def test_with_nothing_recovered_the_answer_is_true_too(tmp_path: Path) -> None:
    study = only(Spec(), Spec(deletion="none"), n=4)
    for unit in study.units:
        unit |= {"R": False, "recovery_query": None, "audit_raw_target": False, "audit_where": ""}
    text = sentences_of(tmp_path, study)
    assert "one direct question recovered none of 4 deleted targets (clean: 0 of 4)." in text
    assert "This zero is inconclusive." in text
    assert "No query recovered a target in the forget world." in text
    assert "still recovered" not in text


def test_equal_recovery_in_both_worlds_is_not_attributed(tmp_path: Path) -> None:
    study = only(Spec(), n=4)
    for unit in study.units:
        unit |= {"R": True, "recovery_query": 1, "audit_raw_target": True, "audit_where": "top_value"}
    text = sentences_of(tmp_path, study)
    assert "still recovered 4 of 4 deleted targets (clean: 4 of 4)." in text
    assert "cannot be attributed to the exposure" in text


def test_a_failing_certificate_and_a_gap_against_one_are_said(tmp_path: Path) -> None:
    study = only(Spec(memory="flat"), Spec(deletion="closure"), n=4)
    study.certificates[0]["holds"] = False
    closure = [u for u in study.units if u["deletion"] == "closure" and u["world"] == "forget"]
    closure[0] |= {"R": True, "recovery_query": 1}
    text = sentences_of(tmp_path, study)
    assert "the identical certificate fails for 1 profile." in text
    assert "yet 1 cell shows a gap" in text
    assert "a gap of zero is proved" not in text


def test_no_paired_cell_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(AfterDeleteError, match="no paired cell"):
        build(tmp_path, only(Spec(deletion="none"), n=2))
    with pytest.raises(AfterDeleteError, match="no paired cell ffff"):
        build(tmp_path, only(Spec(), n=2), headline="ffff")


def test_reports_import_no_engine() -> None:
    code = (
        "import sys, afterdelete.report, afterdelete.stats; "
        "print([m for m in sys.modules if m.split('.')[0] in ('torch', 'transformers', 'snakemake') "
        "or m.startswith('afterdelete.engines')])"
    )
    path = str(Path(__file__).parents[2] / "workflow")
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": path}, capture_output=True, text=True
    )
    assert done.stdout.strip() == "[]", done.stderr
