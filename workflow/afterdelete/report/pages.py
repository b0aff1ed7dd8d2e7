"""Templates, style and script: found once, rendered with autoescape, sealed by a content policy."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from afterdelete.core.errors import AfterDeleteError
from afterdelete.report.visible import visible

_VARIABLE = re.compile(r"(--[a-z]+):\s*([^;]+);")
_USE = re.compile(r"var\((--[a-z]+)\)")
TEMPLATES = Path(__file__).parents[2] / "report"


def environment(templates: Path = TEMPLATES) -> Environment:
    """A Jinja environment over ``templates``. Everything that is not Markup is escaped."""
    if not (templates / "index.html.j2").is_file():
        raise AfterDeleteError(f"no report templates in {templates}", "run from a checkout of the project")
    made = Environment(
        loader=FileSystemLoader(templates),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters["visible"] = visible
    made.globals["style"] = _raw(templates / "figure.css") + _raw(templates / "style.css")
    made.globals["script"] = _raw(templates / "filter.js")
    made.globals["policy"] = policy(str(made.globals["style"]), str(made.globals["script"]))
    return made


def figure_style(templates: Path = TEMPLATES) -> str:
    """The style sheet of a figure in a file of its own: the chart rules with the light colours put in.

    Figure files end up in papers and image viewers, few of which know CSS variables.
    """
    palette, _, rules = str(_raw(templates / "figure.css")).partition("/* chart */")
    light = dict(_VARIABLE.findall(palette.split("@media", 1)[0]))
    return _USE.sub(lambda use: light[use.group(1)], rules)


def caption(name: str, templates: Path = TEMPLATES) -> str:
    """A figure's caption: the plain text of ``captions/<name>.rst``, on one line."""
    path = templates / "captions" / f"{name}.rst"
    try:
        return " ".join(path.read_text(encoding="utf-8").split())
    except OSError as error:
        raise AfterDeleteError(f"no caption {path}", "restore it from the repository") from error


def policy(style: str, script: str) -> str:
    """A Content-Security-Policy under which only this style sheet and this script work, and nothing loads."""
    return (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def render(env: Environment, template: str, **values: Any) -> str:
    """A page as text."""
    return env.get_template(template).render(**values)


def _raw(path: Path) -> Markup:
    return Markup(path.read_text(encoding="utf-8"))


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode()
