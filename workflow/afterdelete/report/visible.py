"""Model text made safe and honest to look at: escaped, with characters that hide or reorder made visible."""

from __future__ import annotations

import re
import unicodedata

from markupsafe import Markup, escape

# Controls but newline and tab, and format characters: bidi overrides, zero-width characters, tags.
_UNSEEN = {"Cc", "Cf", "Zl", "Zp", "Cs", "Co"}
_PLAIN = {"\n", "\t"}
_NAMES = {0x07: "BEL", 0x08: "BS", 0x0D: "CR", 0x1B: "ESC", 0x00: "NUL"}
_ASCII = re.compile(r"[^\x20-\x7e\n\t]")


def visible(text: str) -> Markup:
    """``text`` as HTML in which it can neither act, nor hide, nor reorder anything.

    Every character of a hiding kind becomes a small labelled box with its code point; a joiner inside an
    emoji too, because a reader of evidence must see what is there.
    """
    parts: list[str] = []
    start = 0
    for match in _ASCII.finditer(text):
        character = match.group()
        if unicodedata.category(character) not in _UNSEEN:
            continue
        parts += (str(escape(text[start : match.start()])), _box(character))
        start = match.end()
    parts.append(str(escape(text[start:])))
    return Markup("".join(parts))


def marked(text: str, target: str) -> Markup:
    """:func:`visible`, with each literal occurrence of ``target`` in a ``<mark>``.

    The raw text is cut at the target before anything is escaped, so markup can neither be matched nor
    be broken by it. An empty target marks nothing.
    """
    if not target:
        return visible(text)
    inside = Markup("<mark>") + visible(target) + Markup("</mark>")
    return inside.join(visible(part) for part in text.split(target))


def _box(character: str) -> str:
    code = ord(character)
    label = _NAMES.get(code, f"U+{code:04X}")
    title = unicodedata.name(character, f"control character {code:#04x}")
    return f'<span class="ctl" title="{escape(title)}">{label}</span>'
