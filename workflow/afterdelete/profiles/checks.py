"""Refusals at generation: what makes a table of profiles unusable, found before anything is written.

Each check takes a table of PROFILE_SCHEMA and raises AfterDeleteError naming the profile and the field.
No message holds a target or a component.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from afterdelete.core.errors import AfterDeleteError
from afterdelete.profiles.schema import COMPONENTS
from afterdelete.profiles.twins import LENGTH_PERCENT, code_like, lengths_match, sentences

_REMEDY = "mend data/inventories so that this cannot arise"
_SIZES = {"atomic": (1, 1), "duplicated": (2, 3), "correlated": (1, 1), "compositional": (3, 3)}


def check_all(table: pa.Table) -> None:
    """Every check of this module."""
    check_stray(table)
    check_twins(table)
    check_ids(table)
    check_sources(table)


def check_stray(table: pa.Table) -> None:
    """No target and no component of a profile stands, at token bounds and in any case, where it must not.

    Fields: background (clues included), neutral, attribute, agent, neutral_attribute.
    """
    needles = list(
        zip(*(_folded(table, name) for name in ("target", *COMPONENTS)), strict=True),
    )
    for field in ("attribute", "agent", "neutral_attribute"):
        for row, text in enumerate(_folded(table, field)):
            if any(occurs(needle, text) for needle in needles[row]):
                raise _refusal(table, row, field, "holds the target or a component")
    for field in ("background", "neutral"):
        for row, records in enumerate(_records(table, field)):
            for entry_id, text in records:
                folded = text.casefold()
                if any(occurs(needle, folded) for needle in needles[row]):
                    raise _refusal(table, row, f"{field} {entry_id}", "holds the target or a component")


def check_twins(table: pa.Table) -> None:
    """Neutral and exposure records match: ids, sentences, characters; the neutral ones are not code-like."""
    attributes = zip(_folded(table, "attribute"), _folded(table, "neutral_attribute"), strict=True)
    pairs = zip(_records(table, "exposure"), _records(table, "neutral"), attributes, strict=True)
    for row, (exposure, neutral, (attribute, neutral_attribute)) in enumerate(pairs):
        if attribute == neutral_attribute:
            raise _refusal(table, row, "neutral_attribute", "is the attribute itself")
        if [entry_id for entry_id, _ in exposure] != [entry_id for entry_id, _ in neutral]:
            raise _refusal(table, row, "neutral", "has other ids than exposure")
        for (entry_id, text), (_, twin) in zip(exposure, neutral, strict=True):
            field = f"neutral {entry_id}"
            if sentences(text) != sentences(twin):
                raise _refusal(table, row, field, "has another number of sentences than its exposure record")
            if not lengths_match(text, twin):
                raise _refusal(
                    table, row, field, f"is not within {LENGTH_PERCENT} % of its exposure record's length"
                )
            if code_like(twin):
                raise _refusal(table, row, field, "looks like it holds a code")
            if occurs(attribute, twin.casefold()):
                raise _refusal(table, row, field, "mentions the attribute")


def check_ids(table: pa.Table) -> None:
    """Entry ids are r-01, r-02, .. over background and exposure; exposure is not all at the end."""
    for row, (background, exposure) in enumerate(
        zip(_records(table, "background"), _records(table, "exposure"), strict=True)
    ):
        ids = sorted(entry_id for entry_id, _ in (*background, *exposure))
        if ids != [f"r-{n:02d}" for n in range(1, len(ids) + 1)]:
            raise _refusal(
                table, row, "background", "and exposure do not share out r-01, r-02, .. between them"
            )
        for field, records in (("background", background), ("exposure", exposure)):
            order = [entry_id for entry_id, _ in records]
            if order != sorted(order):
                raise _refusal(table, row, field, "is not in the order of its ids")
        if not background or not exposure or exposure[0][0] > background[-1][0]:
            raise _refusal(table, row, "exposure", "comes after all background, which gives it away")


def check_sources(table: pa.Table) -> None:
    """Sources are the exposure records, which hold what the structure says; neighbours are background."""
    structures = table["structure"].to_pylist()
    targets = _folded(table, "target")
    parts = list(zip(*(_folded(table, name) for name in COMPONENTS), strict=True))
    columns = zip(
        _records(table, "exposure"),
        _records(table, "background"),
        table["source_ids"].to_pylist(),
        table["neighbour_ids"].to_pylist(),
        strict=True,
    )
    for row, (exposure, background, sources, neighbours) in enumerate(columns):
        least, most = _SIZES[structures[row]]
        if not least <= len(exposure) <= most:
            raise _refusal(
                table, row, "exposure", f"has {len(exposure)} records, {structures[row]} needs {least}"
            )
        if sources != [entry_id for entry_id, _ in exposure]:
            raise _refusal(table, row, "source_ids", "are not the ids of its exposure records")
        if not neighbours or not set(neighbours) <= {entry_id for entry_id, _ in background}:
            raise _refusal(
                table, row, "neighbour_ids", "must name at least one background record, and no other"
            )
        for number, (entry_id, text) in enumerate(exposure):
            folded = text.casefold()
            whole = occurs(targets[row], folded)
            held = [occurs(part, folded) for part in parts[row]]
            if structures[row] == "compositional":
                if whole or held != [number == n for n in range(len(COMPONENTS))]:
                    raise _refusal(
                        table, row, f"exposure {entry_id}", "does not hold its one component alone"
                    )
            elif not whole:
                raise _refusal(table, row, f"exposure {entry_id}", "does not state the target")


def occurs(needle: str, text: str) -> bool:
    """Whether ``needle`` stands in ``text`` with no letter or digit touching it. Fold case first."""
    start = text.find(needle)
    while start >= 0:
        end = start + len(needle)
        if not text[start - 1 : start].isalnum() and not text[end : end + 1].isalnum():
            return True
        start = text.find(needle, start + 1)
    return False


def _folded(table: pa.Table, field: str) -> list[str]:
    return [value.casefold() for value in table[field].to_pylist()]


def _records(table: pa.Table, field: str) -> Iterator[list[tuple[str, str]]]:
    """The (entry_id, text) pairs of every row, by flat columns: rows of dictionaries cost much more."""
    for chunk in table[field].chunks:
        flat = chunk.flatten()
        pairs = list(zip(flat.field("entry_id").to_pylist(), flat.field("text").to_pylist(), strict=True))
        start = 0
        for count in chunk.value_lengths().to_pylist():
            yield pairs[start : start + count]
            start += count


def _refusal(table: pa.Table, row: int, field: str, fault: str) -> AfterDeleteError:
    return AfterDeleteError(f"{table['profile_id'][row].as_py()}: {field} {fault}", _REMEDY)
