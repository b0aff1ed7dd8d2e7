"""Model text on a page: nothing acts, nothing hides, the target is marked where it is."""

from __future__ import annotations

import re
from html import unescape
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from afterdelete.report.visible import marked, visible

TEXT = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("<>&\"'\x1b\u202e\u200b\r\n\tA"))


class Tags(HTMLParser):
    """Collects the tags of a fragment."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, tuple[str, ...]]] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, tuple(name for name, _ in attrs)))


@given(TEXT, TEXT)
def test_only_our_own_tags_come_out(text: str, target: str) -> None:
    assert set(Tags(marked(text, target)).tags) <= {("mark", ()), ("span", ("class", "title"))}


@given(TEXT)
def test_no_hiding_character_comes_out(text: str) -> None:
    assert not re.search(
        "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]", visible(text)
    )


@given(st.text("abc<>&\"' \n\té漢🙂"))
def test_plain_text_is_kept_as_it_is(text: str) -> None:
    assert unescape(visible(text)) == text


@given(st.text("ab<&"), st.text("ab<&", min_size=1, max_size=3))
def test_each_occurrence_is_marked(text: str, target: str) -> None:
    html = marked(text, target)
    assert html.count("<mark>") == html.count("</mark>") == text.count(target)
    assert unescape(re.sub("</?mark>", "", html)) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31m", ">ESC<"),
        ("a\u202eb", ">U+202E<"),
        ("a\u2066b", ">U+2066<"),
        ("\u200b", ">U+200B<"),
        ("\r", ">CR<"),
        ("\U000e0041", ">U+E0041<"),
        ("\x85", ">U+0085<"),
    ],
)
def test_hiding_characters_become_boxes(text: str, shown: str) -> None:
    assert shown in visible(text)
    assert text.strip("ab") not in visible(text)


def test_markup_in_the_target_is_text() -> None:
    assert marked("x <b>1</b> y", "<b>") == "x <mark>&lt;b&gt;</mark>1&lt;/b&gt; y"
