"""Reads the header of a GGUF file: enough to refuse a broken one before llama.cpp aborts on it.

Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md (versions 2 and 3, little endian).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from afterdelete.core.errors import AfterDeleteError

_SCALARS = {
    0: "<B",
    1: "<b",
    2: "<H",
    3: "<h",
    4: "<I",
    5: "<i",
    6: "<f",
    7: "<?",
    10: "<Q",
    11: "<q",
    12: "<d",
}
_STRING, _ARRAY = 8, 9
_LIMIT = 1 << 26  # no honest length in a header is larger; a broken one must not ask for terabytes
_CONTROL_TYPES = (2, 3)  # llama.cpp's token types "unknown" and "control"


@dataclass(frozen=True)
class GgufHeader:
    """Metadata by key, and the offset in bytes that the file must at least reach."""

    metadata: dict[str, Any]
    least_bytes: int

    @property
    def chat_template(self) -> str | None:
        return self.metadata.get("tokenizer.chat_template")

    @property
    def trained_context(self) -> int | None:
        """Tokens of context that the model was trained for."""
        return self.metadata.get(f"{self.metadata.get('general.architecture')}.context_length")

    def token_text(self, key: str) -> str:
        """Text of the token whose id is stored under ``tokenizer.ggml.<key>``, or ""."""
        index = self.metadata.get(f"tokenizer.ggml.{key}")
        tokens = self.metadata.get("tokenizer.ggml.tokens", [])
        return tokens[index] if isinstance(index, int) and 0 <= index < len(tokens) else ""

    @property
    def control_tokens(self) -> dict[int, str]:
        """Ids and texts that only a chat template may produce."""
        types = self.metadata.get("tokenizer.ggml.token_type", [])
        tokens = self.metadata.get("tokenizer.ggml.tokens", [])
        pairs = enumerate(zip(tokens, types, strict=False))
        return {index: text for index, (text, kind) in pairs if kind in _CONTROL_TYPES and text}


def read_header(path: Path) -> GgufHeader:
    """Parse the header of ``path``; ``AfterDeleteError`` when it is no GGUF file or is cut short."""
    try:
        with path.open("rb") as handle:
            header = _parse(handle)
    except OSError as error:
        raise AfterDeleteError(
            f"cannot read model file {path}: {error.strerror}", "fetch it again"
        ) from error
    except (ValueError, struct.error, UnicodeDecodeError) as error:
        raise AfterDeleteError(f"{path} is not a readable GGUF file: {error}", "fetch it again") from error
    size = path.stat().st_size
    if size < header.least_bytes:
        raise AfterDeleteError(
            f"{path} is cut short: {size} bytes, its tensors reach to at least {header.least_bytes}",
            "delete it and fetch it again",
        )
    return header


def _parse(handle: BinaryIO) -> GgufHeader:
    if handle.read(4) != b"GGUF":
        raise ValueError("it does not begin with the letters GGUF")
    version = _scalar(handle, "<I")
    if version not in (2, 3):
        raise ValueError(f"version {version} is not 2 or 3")
    tensors, pairs = _scalar(handle, "<Q"), _scalar(handle, "<Q")
    if tensors > _LIMIT or pairs > _LIMIT:
        raise ValueError("impossible counts in the header")
    metadata = {}
    for _ in range(pairs):
        key = _string(handle)
        metadata[key] = _value(handle, _scalar(handle, "<I"))
    last = 0
    for _ in range(tensors):
        _string(handle)
        handle.seek(8 * _scalar(handle, "<I") + 4, 1)
        last = max(last, _scalar(handle, "<Q"))
    alignment = int(metadata.get("general.alignment", 32))
    start = -(-handle.tell() // alignment) * alignment
    return GgufHeader(metadata, start + last + 1)


def _scalar(handle: BinaryIO, layout: str) -> Any:
    return struct.unpack(layout, handle.read(struct.calcsize(layout)))[0]


def _string(handle: BinaryIO) -> str:
    length = _scalar(handle, "<Q")
    if length > _LIMIT:
        raise ValueError("impossible string length")
    data = handle.read(length)
    if len(data) != length:
        raise ValueError("the header ends early")
    return data.decode("utf-8", errors="replace")


def _value(handle: BinaryIO, kind: int) -> Any:
    if kind == _STRING:
        return _string(handle)
    if kind == _ARRAY:
        inner, count = _scalar(handle, "<I"), _scalar(handle, "<Q")
        if count > _LIMIT:
            raise ValueError("impossible array length")
        if inner in (_STRING, _ARRAY):
            return [_value(handle, inner) for _ in range(count)]
        layout = f"<{count}{_layout(inner)[1]}"
        return list(struct.unpack(layout, handle.read(struct.calcsize(layout))))
    return _scalar(handle, _layout(kind))


def _layout(kind: int) -> str:
    try:
        return _SCALARS[kind]
    except KeyError:
        raise ValueError(f"unknown value type {kind}") from None
