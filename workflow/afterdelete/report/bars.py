"""The one chart of the report: rows of horizontal bars from 0 to 1, each bar a link to its replies.

A panel is as wide as a phone. On a wide screen panels stand side by side, so text never shrinks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from afterdelete.report import svg
from afterdelete.stats.bootstrap import Interval

WIDTH = 360.0
_LEFT, _RIGHT = 1.0, 352.0
_GAP = 28.0
# About the widest text that fits the panel at its font size, in characters.
_LABEL_CHARS, _NOTE_CHARS = 46, 66


@dataclass(frozen=True)
class Bar:
    """One bar: ``kind`` is its CSS class (forget, clean, retained, raw), ``count`` of ``n`` its length."""

    kind: str
    count: int
    n: int
    href: str
    title: str

    @property
    def rate(self) -> float:
        """Length, 0 to 1."""
        return self.count / self.n if self.n else 0.0


@dataclass(frozen=True)
class Row:
    """One line of a panel: a label, a short note under it, and up to three bars over one another.

    ``behind`` is drawn pale and wide, ``main`` on it, ``under`` thin below. ``interval`` is that of a gap;
    it is drawn from the rate of ``under``, so that it ends where the bars would.
    """

    label: str
    main: Bar
    note: str = ""
    value: str = ""
    behind: Bar | None = None
    under: Bar | None = None
    interval: Interval | None = None
    heading: str = ""


@dataclass(frozen=True)
class Panel:
    """Rows under one title, sharing one axis."""

    title: str
    rows: Sequence[Row] = field(default_factory=tuple)


@dataclass(frozen=True)
class Chart:
    """A figure: ``name`` is its file name, ``label`` its description, ``legend`` its (kind, words)."""

    name: str
    label: str
    legend: Sequence[tuple[str, str]]
    panels: Sequence[Panel]

    def inline(self) -> list[str]:
        """Each panel as a drawing for the page, whose style sheet it uses."""
        drawn = [(panel, *_panel(panel, "")) for panel in self.panels]
        return [svg.frame(WIDTH, high, body, f"{self.label}: {panel.title}") for panel, body, high in drawn]

    def standalone(self, style: str) -> str:
        """All panels in one file, links relative to a folder beside the pages."""
        drawn = [_panel(panel, "../") for panel in self.panels]
        # Two entries of the legend side by side fit the narrowest figure.
        top = _GAP + 18 * ((len(self.legend) + 1) // 2) + 10
        height = max((high for _, high in drawn), default=0.0) + top + _GAP
        width = max(1, len(drawn)) * (WIDTH + _GAP) + _GAP
        body = svg.rect(0, 0, width, height, "paper")
        body += "".join(_legend_entry(at, *entry) for at, entry in enumerate(self.legend))
        body += "".join(
            svg.nested(_GAP + at * (WIDTH + _GAP), top, WIDTH, high, inner)
            for at, (inner, high) in enumerate(drawn)
        )
        return svg.frame(width, height, body, self.label, style) + "\n"


def _legend_entry(at: int, kind: str, words: str) -> str:
    x, y = _GAP + (at % 2) * WIDTH / 2, _GAP + 18 * (at // 2)
    height = {"forget": 10.0, "clean": 4.0}.get(kind, 14.0)
    key = svg.rect(x, y + 2 - height / 2, 22, height, f"bar {kind}", 1.5)
    if kind == "whisker":
        ends = ((x, y + 2, x + 22, y + 2), (x, y - 2, x, y + 6), (x + 22, y - 2, x + 22, y + 6))
        key = "".join(svg.line(*each, kind) for each in ends)
    return key + svg.text(x + 29, y + 6, words, "row-note")


def _x(rate: float) -> float:
    return _LEFT + rate * (_RIGHT - _LEFT)


def _panel(panel: Panel, root: str) -> tuple[str, float]:
    parts = [svg.text(0, 14, _short(panel.title, _LABEL_CHARS), "panel-title")]
    top = y = 26.0
    for row in panel.rows:
        body, high = _row(row, y, root)
        parts.append(body)
        y += high
    axis = [svg.line(_x(tick / 4), top, _x(tick / 4), y, "grid") for tick in range(5)]
    ends = {0: "start", 4: "end"}
    names = ("0", "25 %", "50 %", "75 %", "100 %")
    axis += [svg.text(_x(at / 4), y + 13, names[at], "tick", ends.get(at, "middle")) for at in range(5)]
    return parts[0] + "".join(axis) + "".join(parts[1:]), y + 18


def _row(row: Row, y: float, root: str) -> tuple[str, float]:
    """The elements of a row that starts at ``y``, and its height."""
    parts: list[str] = []
    at = y
    if row.heading:
        at += 20
        parts.append(svg.text(0, at - 3, _short(row.heading, _LABEL_CHARS), "row-heading"))
    room = _LABEL_CHARS - len(row.value)
    parts.append(svg.text(0, at + 12, _short(row.label, room), "row-label"))
    if row.value:
        parts.append(svg.text(_RIGHT, at + 12, row.value, "row-value", "end"))
    at += 16
    if row.note:
        parts.append(svg.text(0, at + 10, _short(row.note, _NOTE_CHARS), "row-note"))
        at += 14
    at += 2
    if row.behind:
        parts.append(_bar(row.behind, at, 16, root))
    parts.append(_bar(row.main, at + 3, 10, root))
    if row.under:
        parts.append(_bar(row.under, at + 18, 4, root))
    if row.interval:
        start = row.under.rate if row.under else 0.0
        parts.append(_whisker(start + row.interval[0], start + row.interval[1], at + 8))
    return "".join(parts), at + (24 if row.under else 18) + 10 - y


def _bar(bar: Bar, y: float, height: float, root: str) -> str:
    """A bar with its link. An empty one keeps a stub; the full track is invisible but can be clicked."""
    track = svg.rect(_LEFT, y, _RIGHT - _LEFT, height, "hit") if bar.kind != "retained" else ""
    drawn = svg.rect(_LEFT, y, max(_x(bar.rate) - _LEFT, 2.5), height, f"bar {bar.kind}", 1.5)
    inner = track + drawn
    return svg.link(root + bar.href, bar.title, inner) if bar.href else drawn


def _whisker(low: float, high: float, y: float) -> str:
    a, b = (_x(min(max(rate, 0.0), 1.0)) for rate in (low, high))
    lines = [(a, y, b, y), (a, y - 4, a, y + 4), (b, y - 4, b, y + 4)]
    return "".join(svg.line(*ends, "whisker") for ends in lines)


def _short(words: str, limit: int) -> str:
    return words if len(words) <= limit else f"{words[: limit - 1]}…"
