"""Draws and the bijection beneath the targets."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from afterdelete.profiles.hashing import draw, mix, permute, stream_key

keys = st.integers(0, 2**64 - 1).map(np.uint64)


@settings(max_examples=150, deadline=None)
@given(size=st.integers(1, 3000), key=keys)
def test_permute_is_a_bijection_of_every_small_range(size: int, key: np.uint64) -> None:
    images = permute(np.arange(size, dtype=np.int64), size, key)
    assert np.array_equal(np.sort(images), np.arange(size))


@settings(deadline=None)
@given(size=st.integers(1, 2**62), key=keys, data=st.data())
def test_permute_stays_inside_a_large_range_and_is_elementwise(
    size: int, key: np.uint64, data: st.DataObject
) -> None:
    indices = np.array(data.draw(st.lists(st.integers(0, size - 1), min_size=1, max_size=8, unique=True)))
    images = permute(indices, size, key)
    assert ((images >= 0) & (images < size)).all()
    assert len(set(images.tolist())) == len(indices)
    assert [permute(indices[n : n + 1], size, key)[0] for n in range(len(indices))] == images.tolist()


@pytest.mark.parametrize(("index", "size"), [(5, 5), (-1, 5), (0, 0)])
def test_permute_refuses_what_is_outside(index: int, size: int) -> None:
    with pytest.raises(ValueError, match="must lie in"):
        permute(np.array([index], dtype=np.int64), size, np.uint64(1))


def test_permute_scatters_consecutive_indices() -> None:
    images = permute(np.arange(20_000, dtype=np.int64), 3_000_000, stream_key(3, "iid"))
    assert abs(images.mean() / 1_500_000 - 1) < 0.02
    assert abs(np.corrcoef(images[:-1], images[1:])[0, 1]) < 0.03


def test_mix_agrees_with_the_published_generator() -> None:
    # First outputs of SplitMix64 with state 1234567, as its reference program prints them.
    states = np.uint64(1234567) + np.arange(3, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    assert mix(states).tolist() == [6457827717110365317, 3203168211198807973, 9817491932198370423]


def test_draws_depend_on_key_purpose_and_counter() -> None:
    counters = np.arange(1000)
    base = draw(stream_key(1, "iid"), "agent", counters)
    assert base.dtype == np.uint64
    assert len(set(base.tolist())) == 1000
    for other in (
        draw(stream_key(2, "iid"), "agent", counters),
        draw(stream_key(1, "ood"), "agent", counters),
        draw(stream_key(1, "iid"), "place", counters),
    ):
        assert not (base == other).any()
    assert np.array_equal(draw(stream_key(1, "iid"), "agent", counters[500:]), base[500:])


@given(options=st.integers(2, 24))
def test_draws_are_even(options: int) -> None:
    counts = np.bincount(
        (draw(stream_key(5, "dev"), "x", np.arange(24_000)) % np.uint64(options)).astype(int)
    )
    expected = 24_000 / options
    assert ((counts - expected) ** 2 / expected).sum() < options + 6 * (2 * options) ** 0.5
