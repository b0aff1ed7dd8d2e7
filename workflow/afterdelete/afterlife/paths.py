"""Where the committed files that the package reads are."""

from __future__ import annotations

from pathlib import Path

from afterdelete.core.errors import AfterDeleteError

# The package is used from its repository (an editable install): tables and schemas lie beside workflow/.
ROOT = Path(__file__).resolve().parents[3]


def committed(relative: str) -> Path:
    """The path of a committed file, which must be there."""
    path = ROOT / relative
    if not path.is_file():
        raise AfterDeleteError(
            f"{relative} is missing", "install with `pip install -e .` from a complete checkout"
        )
    return path
