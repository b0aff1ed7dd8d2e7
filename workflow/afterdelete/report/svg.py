"""A few SVG elements as strings: escaped text, short numbers, nothing that differs from run to run."""

from __future__ import annotations

from markupsafe import escape


def num(value: float) -> str:
    """A coordinate: two decimals at most, no trailing zeros, no negative zero."""
    return f"{round(value, 2) + 0.0:.2f}".rstrip("0").rstrip(".")


def text(x: float, y: float, words: str, css: str, anchor: str = "start") -> str:
    """One line of text; ``css`` names its classes."""
    ends = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f'<text x="{num(x)}" y="{num(y)}" class="{css}"{ends}>{escape(words)}</text>'


def rect(x: float, y: float, width: float, height: float, css: str, radius: float = 0) -> str:
    """A rectangle."""
    corner = f' rx="{num(radius)}"' if radius else ""
    size = f'width="{num(width)}" height="{num(height)}"'
    return f'<rect x="{num(x)}" y="{num(y)}" {size} class="{css}"{corner}/>'


def line(x1: float, y1: float, x2: float, y2: float, css: str) -> str:
    """A straight line."""
    return f'<line x1="{num(x1)}" y1="{num(y1)}" x2="{num(x2)}" y2="{num(y2)}" class="{css}"/>'


def link(href: str, title: str, inner: str) -> str:
    """A link around some elements; ``title`` is read by screen readers and shown on hover."""
    return f'<a href="{escape(href)}"><title>{escape(title)}</title>{inner}</a>'


def frame(width: float, height: float, inner: str, label: str, style: str = "") -> str:
    """A whole drawing. ``style`` is given for a file of its own, and empty inside a page."""
    sheet = f"<style>{style}</style>" if style else ""
    size = f'width="{num(width)}" height="{num(height)}" ' if style else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size}viewBox="0 0 {num(width)} {num(height)}" '
        f'role="group" aria-label="{escape(label)}" class="chart">{sheet}{inner}</svg>'
    )


def nested(x: float, y: float, width: float, height: float, inner: str) -> str:
    """A drawing placed inside another."""
    return f'<svg x="{num(x)}" y="{num(y)}" width="{num(width)}" height="{num(height)}">{inner}</svg>'
