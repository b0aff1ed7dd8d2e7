"""The sealed gate: refuses to write back exactly what was deleted, without knowing it.

At deletion an HMAC-SHA256 descriptor of the exact UTF-8 pair (attribute, target) goes into protected
state: a directory outside the results, files of mode 0600, never logged, never hashed into an artifact.
A proposed write is parsed strictly and compared by descriptor, with no normalisation of any kind.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
from pathlib import Path
from typing import Literal

from afterdelete.core.atomic import write_text
from afterdelete.core.canonical import canonical_json
from afterdelete.core.errors import AfterDeleteError
from afterdelete.core.jsonstrict import parse_object

Decision = Literal["no_candidate", "unparseable", "blocked", "accepted"]
KEY_BYTES = 32


def candidate_json(attribute: str, value: str) -> str:
    """A candidate write as it is proposed: one JSON object of two strings."""
    return json.dumps({"attribute": attribute, "value": value}, ensure_ascii=False)


def parse_candidate(text: str) -> tuple[str, str] | None:
    """(attribute, value) of a strictly formed candidate, else None."""
    candidate = parse_object(text)
    if candidate is None or set(candidate) != {"attribute", "value"}:
        return None
    attribute, value = candidate["attribute"], candidate["value"]
    if not isinstance(attribute, str) or not isinstance(value, str) or not value:
        return None
    return attribute, value


def descriptor(key: bytes, attribute: str, value: str) -> str:
    """Hex HMAC-SHA256 of the pair; the pair is framed as a JSON array so that no two pairs collide."""
    return hmac.new(key, canonical_json([attribute, value]).encode("utf-8"), hashlib.sha256).hexdigest()


def decide(candidate: str | None, *, key: bytes | None, sealed: str | None) -> Decision:
    """What happens to a proposed write. ``key`` and ``sealed`` are None while the gate is off."""
    if candidate is None:
        return "no_candidate"
    pair = parse_candidate(candidate)
    if pair is None:
        return "unparseable"
    if key is not None and sealed is not None and hmac.compare_digest(descriptor(key, *pair), sealed):
        return "blocked"
    return "accepted"


def load_key(protected: Path) -> bytes:
    """The gate's key in ``protected``, made at first use (mode 0600 in a directory of mode 0700).

    Raises AfterDeleteError when the key is readable by others or has the wrong length.
    """
    path = protected / "gate.key"
    try:
        protected.mkdir(parents=True, exist_ok=True, mode=0o700)
        _create_key(path)
        mode = path.stat().st_mode & 0o077
        key = path.read_bytes()
    except OSError as error:
        raise AfterDeleteError(
            f"cannot use the gate's protected state {protected}: {error.strerror or error}",
            "set `protected` in config/config.yaml to a directory that only you can read and write",
        ) from error
    if mode:
        raise AfterDeleteError(f"{path} can be read by others", f"chmod 600 {path}")
    if len(key) != KEY_BYTES:
        raise AfterDeleteError(f"{path} does not hold {KEY_BYTES} bytes", "remove it; a new key will be made")
    return key


def _create_key(path: Path) -> None:
    """Publish a whole key file under its name at once: link() fails if another node was faster."""
    if path.exists():
        return
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.write(handle, secrets.token_bytes(KEY_BYTES))
        os.fsync(handle)
    finally:
        os.close(handle)
    try:
        os.link(temporary, path)
    except FileExistsError:
        pass
    finally:
        temporary.unlink()


def seal(protected: Path, path: Path, pairs: dict[str, tuple[str, str]]) -> None:
    """Store the descriptor of every profile's (attribute, target) at ``path`` inside ``protected``."""
    key = load_key(protected)
    descriptors = {profile: descriptor(key, *pair) for profile, pair in sorted(pairs.items())}
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    write_text(path, canonical_json({"key_check": _key_check(key), "sealed": descriptors}), mode=0o600)


def unseal(protected: Path, path: Path) -> tuple[bytes, dict[str, str]]:
    """The key and the descriptors stored at ``path``; refuses descriptors made with another key."""
    key = load_key(protected)
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        sealed = {str(profile): str(value) for profile, value in stored["sealed"].items()}
        check = stored["key_check"]
    except (OSError, ValueError, KeyError, AttributeError, TypeError) as error:
        raise AfterDeleteError(
            f"cannot read the gate's descriptors in {path.name}", f"remove {path} and run again"
        ) from error
    if not hmac.compare_digest(str(check), _key_check(key)):
        raise AfterDeleteError(f"{path.name} was sealed with another key", f"remove {path} and run again")
    return key, sealed


def _key_check(key: bytes) -> str:
    return hmac.new(key, b"afterdelete gate key check", hashlib.sha256).hexdigest()[:16]
