"""Canonical bytes: one JSON text for one value, and its sha256."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

KEY_HEX = 16


def canonical_json(value: Any) -> str:
    """JSON with sorted keys, no spaces, UTF-8 kept as is; NaN and infinities are refused (ValueError)."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def sha256_text(text: str) -> str:
    """Full lower-case hex sha256 of the UTF-8 bytes of ``text``."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def sha256_file(path: Path, block: int = 1 << 20) -> str:
    """Full lower-case hex sha256 of a file's bytes, read in blocks of ``block`` bytes."""
    digest = hashlib.sha256()
    with path.open("rb") as handle:
        while chunk := handle.read(block):
            digest.update(chunk)
    return digest.hexdigest()


def content_key(recipe: dict[str, Any]) -> str:
    """First 16 hex digits of sha256 over the canonical JSON of ``recipe``."""
    return sha256_text(canonical_json(recipe))[:KEY_HEX]
