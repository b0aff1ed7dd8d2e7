"""CSV text that is the same bytes for the same table."""

from __future__ import annotations

import csv
import io
from typing import Any

import pyarrow as pa


def to_csv(table: pa.Table) -> str:
    """Header and rows, "\\n" line ends; six decimals for floats, true/false for booleans, empty for null."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(table.column_names)
    writer.writerows([_text(row[name]) for name in table.column_names] for row in table.to_pylist())
    return out.getvalue()


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value + 0.0:.6f}"
    return str(value)
