"""Markers are secrets of a run: unique, repeatable only on demand, and never shown."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from afterdelete.afterlife.markers import MASK, Markers, shows
from afterdelete.afterlife.protocol import ProviderError
from afterdelete.afterlife.systems.builtin import BuiltinStore
from tests.afterlife_support import judge, twisted


def test_markers_differ_between_labels_and_runs() -> None:
    made = [Markers().make(label) for label in ("a", "b") for _ in range(50)]
    assert len(set(made)) == 100


def test_a_seed_makes_markers_repeatable() -> None:
    assert Markers(7).make("a") == Markers(7).make("a")
    assert len({Markers(7).make("a"), Markers(7).make("b"), Markers(8).make("a")}) == 3


def test_a_marker_survives_json_urls_and_case() -> None:
    from urllib.parse import quote

    marker = Markers().make("a")
    assert quote(marker) == marker
    assert marker.isalnum()
    assert shows(f"LOCKER {marker.upper()}!", marker)
    assert not shows(marker[:-1], marker)


@given(
    before=st.text(max_size=20),
    after=st.text(max_size=20),
    start=st.integers(0, 17),
    length=st.integers(8, 25),
    upper=st.booleans(),
)
def test_no_piece_of_a_marker_gets_through(
    before: str, after: str, start: int, length: int, upper: bool
) -> None:
    markers = Markers(1)
    marker = markers.make("a")
    piece = marker[start : start + length]
    shown = markers.clean(f"{before}{piece.upper() if upper else piece}{after}").casefold()
    pieces = {marker[at : at + 8] for at in range(len(marker) - 7)}
    assert not any(each in shown for each in pieces)
    assert len(shown) <= 250  # casefold may lengthen what clean limits to 200
    assert not any(not character.isprintable() for character in markers.clean(before + after))


def test_ordinary_words_stay() -> None:
    markers = Markers(1)
    markers.make("a")
    text = "search raised OperationalError: database is locked"
    assert markers.clean(text) == text
    assert markers.clean("id " + Markers().make("another run's")) == f"id {MASK}"
    assert markers.clean("bell\x07 and\n\x1b[31mred") == "bell and [31mred"


@pytest.mark.parametrize("operation", ["write", "search", "delete", "release_pending_writes", "discard"])
def test_an_error_that_quotes_the_marker_does_not_leak(operation: str) -> None:
    texts: list[str] = []

    def remembering(original: Callable[..., Any]) -> Callable[..., Any]:
        def write(ctx: Any, text: str) -> Any:
            texts.append(text)
            return original(ctx, text)

        return write

    def quoting(original: Callable[..., Any]) -> Callable[..., Any]:
        def operation(*arguments: Any) -> Any:
            raise ProviderError(f"constraint failed for {texts or arguments}")

        return operation

    twists = {"write": remembering, operation: quoting}
    result = judge("MT-AF-001", twisted(**twists))  # judge looks for markers in the whole result
    assert MASK in result["reason"] + str(result["cleanup"])


def test_two_runs_at_once_on_one_store_do_not_meet(tmp_path: Path) -> None:
    """Same store, same seed, so even the same markers: the namespaces keep them apart."""
    path = tmp_path / "store.sqlite"
    BuiltinStore(path=path).close()
    results: list[str] = []

    def run(id: str) -> None:
        results.append(judge(id, lambda: BuiltinStore(path=path), markers=Markers(5))["status"])

    threads = [threading.Thread(target=run, args=(id,)) for id in ("MT-AF-001", "MT-AF-002", "AF-003") * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == ["PASS"] * 6


def test_a_seeded_report_is_the_same_but_for_elapsed_ms() -> None:
    def timeless(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: timeless(part) for key, part in value.items() if key != "elapsed_ms"}
        return [timeless(part) for part in value] if isinstance(value, list) else value

    for id in ("MT-AF-001", "MT-AF-002", "AF-003"):
        first, second = (judge(id, BuiltinStore, markers=Markers(5)) for _ in range(2))
        assert timeless(first) == timeless(second)
