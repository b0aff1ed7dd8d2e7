"""Values that cross the adapter boundary: checks that both sides use, and their JSON form.

Standard library only. A value that does not fit raises ``ProtocolViolation``, whose text tells the shape that
was seen and never the contents, since those may hold a marker.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, TypeGuard

from afterdelete.afterlife.protocol import (
    Context,
    Created,
    DeletionContract,
    Description,
    Hit,
    HookReceipt,
    ProtocolViolation,
    Scope,
    Surface,
)

SEARCH_LIMIT = 50  # memories asked for per search; a test's namespace holds a handful
SURFACE_LIMIT = 1000  # entries of another surface
_TEXT_LIMIT = 200_000  # characters of one entry
_ID_LIMIT = 512
_CREATED_LIMIT = 1000
_SURFACES_LIMIT = 32
_CAPABILITIES_LIMIT = 100
_CAPABILITY = re.compile(r"[A-Z][A-Z0-9_]{0,63}")
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")
_NAMESPACE = re.compile(r"[a-z0-9][a-z0-9-]{7,63}")


def checked_receipt(value: Any) -> HookReceipt:
    """``value`` if it is a well-formed receipt."""
    if not isinstance(value, HookReceipt) or not isinstance(value.executed, bool):
        raise ProtocolViolation(f"expected a receipt, got {_shape(value)}")
    if not isinstance(value.created, tuple) or len(value.created) > _CREATED_LIMIT:
        raise ProtocolViolation(f"a receipt's created is a tuple of at most {_CREATED_LIMIT} records")
    for record in value.created:
        if not isinstance(record, Created) or not _is_name(record.kind) or not _is_id(record.id):
            raise ProtocolViolation("a created record has a kind (lower-case word) and an id (text)")
    processed = value.processed
    if processed is not None and (
        not isinstance(processed, int) or isinstance(processed, bool) or processed < 0
    ):
        raise ProtocolViolation("a receipt's processed is a count or absent")
    return value


def checked_hits(value: Any, limit: int) -> Sequence[Hit]:
    """``value`` if it is a list of at most ``limit`` well-formed hits."""
    if not isinstance(value, list | tuple):
        raise ProtocolViolation(f"expected a list of entries, got {_shape(value)}")
    if len(value) > limit:
        raise ProtocolViolation(f"{len(value)} entries were returned where at most {limit} are allowed")
    for hit in value:
        if not isinstance(hit, Hit) or not _is_id(hit.id) or not isinstance(hit.text, str):
            raise ProtocolViolation("an entry has an id and a text, both strings")
        if len(hit.text) > _TEXT_LIMIT:
            raise ProtocolViolation(
                f"an entry of {len(hit.text)} characters; at most {_TEXT_LIMIT} are allowed"
            )
    return value


def checked_surfaces(value: Any) -> list[Surface]:
    """``value`` if it is a list of distinct, well-named surfaces."""
    if not isinstance(value, list | tuple) or len(value) > _SURFACES_LIMIT:
        raise ProtocolViolation(f"expected a list of at most {_SURFACES_LIMIT} surfaces, got {_shape(value)}")
    for surface in value:
        if (
            not isinstance(surface, Surface)
            or not _is_name(surface.name)
            or not isinstance(surface.scope, Scope)
        ):
            raise ProtocolViolation("a surface has a name (lower-case word) and a scope (memory or thread)")
    if len({surface.name for surface in value}) != len(value):
        raise ProtocolViolation("two surfaces have the same name")
    return list(value)


def context_json(ctx: Context) -> dict[str, str]:
    """``ctx`` as it is sent."""
    return {"namespace": ctx.namespace, "contract": str(ctx.contract)}


def context_from(value: Any) -> Context:
    """The context that was sent."""
    fields = _object(value)
    namespace, contract = fields.get("namespace"), fields.get("contract", "memory_record")
    if not isinstance(namespace, str) or not _NAMESPACE.fullmatch(namespace):
        raise ProtocolViolation("namespace: 8 to 64 lower-case letters, digits and hyphens")
    if contract not in set(DeletionContract):
        raise ProtocolViolation("contract: memory_record or thread_checkpoint")
    return Context(namespace, DeletionContract(contract))


def receipt_json(receipt: HookReceipt) -> dict[str, Any]:
    """``receipt`` as it is sent."""
    created = [{"kind": record.kind, "id": record.id} for record in receipt.created]
    return {"executed": receipt.executed, "created": created, "processed": receipt.processed}


def receipt_from(value: Any) -> HookReceipt:
    """The receipt that was sent; ``created`` and ``processed`` may be absent."""
    fields = _object(value)
    created = fields.get("created") or []
    if not isinstance(created, list):
        raise ProtocolViolation(f"a receipt's created is a list, got {_shape(created)}")
    records = tuple(created_from(record) for record in created)
    return checked_receipt(HookReceipt(fields.get("executed"), records, fields.get("processed")))  # type: ignore[arg-type]


def created_from(value: Any) -> Created:
    """The created record that was sent."""
    fields = _object(value)
    kind, id = fields.get("kind"), fields.get("id")
    if not _is_name(kind) or not _is_id(id):
        raise ProtocolViolation("a created record has a kind (lower-case word) and an id (text)")
    return Created(kind, id)


def hits_json(hits: Sequence[Hit]) -> list[dict[str, str]]:
    """``hits`` as they are sent."""
    return [{"id": hit.id, "text": hit.text} for hit in hits]


def hits_from(value: Any) -> list[Hit]:
    """The hits that were sent. How many are allowed is the caller's business."""
    if not isinstance(value, list):
        raise ProtocolViolation(f"expected a list of entries, got {_shape(value)}")
    return [Hit(fields.get("id"), fields.get("text")) for fields in map(_object, value)]  # type: ignore[arg-type]


def surfaces_json(surfaces: Sequence[Surface]) -> list[dict[str, str]]:
    """``surfaces`` as they are sent."""
    return [{"name": surface.name, "scope": str(surface.scope)} for surface in surfaces]


def surfaces_from(value: Any) -> list[Surface]:
    """The surfaces that were sent."""
    if not isinstance(value, list):
        raise ProtocolViolation(f"expected a list of surfaces, got {_shape(value)}")
    found = []
    for fields in map(_object, value):
        if fields.get("scope", "memory") not in set(Scope):
            raise ProtocolViolation("a surface's scope is memory or thread")
        found.append(Surface(fields.get("name"), Scope(fields.get("scope", "memory"))))  # type: ignore[arg-type]
    return checked_surfaces(found)


def description_json(description: Description) -> dict[str, Any]:
    """``description`` as it is sent."""
    return {
        "name": description.name,
        "version": description.version,
        "versions": dict(description.versions),
        "instance": description.instance,
    }


def description_from(value: Any) -> Description:
    """The description that was sent."""
    fields = _object(value)
    name, version, instance = fields.get("name"), fields.get("version"), fields.get("instance")
    versions = fields.get("versions") or {}
    if not _is_id(name) or not _is_id(version) or not (instance is None or _is_id(instance)):
        raise ProtocolViolation("a description has a name and a version, and may have an instance, all text")
    if not isinstance(versions, dict) or not all(_is_id(text) for pair in versions.items() for text in pair):
        raise ProtocolViolation("a description's versions map a package to its version")
    return Description(name, version, versions, instance)


def capabilities_from(value: Any) -> frozenset[str]:
    """The capability names that were declared, known to this version or not."""
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise ProtocolViolation(f"expected a list of capability names, got {_shape(value)}")
    if not all(_CAPABILITY.fullmatch(name) for name in value) or len(value) > _CAPABILITIES_LIMIT:
        raise ProtocolViolation("capability names are upper-case words")
    return frozenset(value)


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ProtocolViolation(f"expected a JSON object, got {_shape(value)}")
    return value


def _is_id(value: Any) -> TypeGuard[str]:
    return isinstance(value, str) and 0 < len(value) <= _ID_LIMIT


def _is_name(value: Any) -> TypeGuard[str]:
    return isinstance(value, str) and bool(_NAME.fullmatch(value))


def _shape(value: Any) -> str:
    return f"a list of {len(value)}" if isinstance(value, list) else type(value).__name__
