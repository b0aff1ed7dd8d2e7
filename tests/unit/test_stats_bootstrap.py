"""Intervals against a naive bootstrap, and the exact interval against its definition."""

from __future__ import annotations

import hashlib
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from afterdelete.stats.bootstrap import SEED, clopper_pearson, draw_counts, index_matrix, paired_intervals


def naive(differences: list[int], resamples: int, seed: int) -> tuple[float, float] | None:
    """Resample profile by profile, one vector at a time, without any count matrix."""
    if len(set(differences)) == 1:
        return None
    means = []
    for draw in index_matrix(len(differences), resamples, seed):
        means.append(sum(differences[at] for at in draw) / len(differences))
    means.sort()
    # Percentile by linear interpolation between order statistics.
    return tuple(_at(means, q * (resamples - 1)) for q in (0.025, 0.975))  # type: ignore[return-value]


def _at(ordered: list[float], position: float) -> float:
    low = int(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (position - low)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(st.integers(-1, 1), min_size=1, max_size=9), min_size=1, max_size=5))
def test_equals_the_naive_bootstrap(vectors: list[list[int]]) -> None:
    got = paired_intervals(vectors, resamples=200, seed=3)
    for interval, vector in zip(got, vectors, strict=True):
        expected = naive(vector, 200, 3)
        assert (interval is None) == (expected is None)
        if expected is not None:
            assert interval == pytest.approx(expected, abs=1e-12)


def test_equals_indexing_exactly_at_full_size() -> None:
    random = np.random.default_rng(1)
    vectors = [random.integers(-1, 2, size=n).astype(np.int8) for n in (1, 2, 16, 104, 200, 200, 200)]
    for vector, interval in zip(vectors, paired_intervals(vectors), strict=True):
        if vector.min() == vector.max():
            assert interval is None
            continue
        means = vector[index_matrix(vector.size, 10_000, SEED)].mean(axis=1)
        assert interval == tuple(np.percentile(means, [2.5, 97.5]))


def test_many_cells_in_chunks_equal_each_cell_alone() -> None:
    random = np.random.default_rng(2)
    vectors = [random.integers(-1, 2, size=12) for _ in range(900)]
    together = paired_intervals(vectors, resamples=10_000)
    assert together[::100] == [paired_intervals([vector], resamples=10_000)[0] for vector in vectors[::100]]


@settings(max_examples=25, deadline=None)
@given(st.lists(st.lists(st.integers(-1, 1), min_size=3, max_size=3), min_size=2, max_size=6), st.randoms())
def test_no_result_depends_on_the_order_of_cells(vectors: list[list[int]], random: object) -> None:
    order = list(range(len(vectors)))
    random.shuffle(order)  # type: ignore[attr-defined]
    plain = paired_intervals(vectors, resamples=100)
    shuffled = paired_intervals([vectors[at] for at in order], resamples=100)
    assert shuffled == [plain[at] for at in order]


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(-1, 1), min_size=2, max_size=30))
def test_an_interval_is_ordered_and_swapping_the_worlds_mirrors_it(vector: list[int]) -> None:
    (interval,) = paired_intervals([vector], resamples=300)
    (mirrored,) = paired_intervals([[-value for value in vector]], resamples=300)
    if interval is None:
        assert mirrored is None
        return
    assert -1 <= interval[0] <= interval[1] <= 1
    assert mirrored is not None
    assert mirrored == pytest.approx((-interval[1], -interval[0]), abs=1e-12)


def test_the_draws_are_pinned() -> None:
    # Another generator, or another numpy stream, would silently move every published interval.
    digest = hashlib.sha256(index_matrix(16, 100, SEED).astype("<i8").tobytes()).hexdigest()
    assert digest[:16] == "b360cdb1013824ad"


def test_counts_are_the_draws() -> None:
    counts = draw_counts(7, 50, 4)
    for row, draw in zip(counts, index_matrix(7, 50, 4), strict=True):
        assert row.tolist() == [list(draw).count(at) for at in range(7)]


@pytest.mark.parametrize("vector", [[], [2, 0], [[0, 1]]])
def test_refuses_what_are_no_paired_differences(vector: list[int]) -> None:
    with pytest.raises(ValueError, match="nonempty vector"):
        paired_intervals([vector])


@pytest.mark.parametrize(("k", "n"), [(0, 50), (1, 16), (8, 16), (16, 16), (136, 200)])
def test_clopper_pearson_by_its_tails(k: int, n: int) -> None:
    low, high = clopper_pearson(k, n)

    def at_least(p: float) -> float:
        return sum(comb(n, j) * p**j * (1 - p) ** (n - j) for j in range(k, n + 1))

    assert low == 0 if k == 0 else at_least(low) == pytest.approx(0.025, abs=1e-9)
    if k == n:
        assert high == 1
    else:
        at_most = 1 - at_least(high) + comb(n, k) * high**k * (1 - high) ** (n - k)
        assert at_most == pytest.approx(0.025, abs=1e-9)


def test_clopper_pearson_of_none_in_fifty() -> None:
    assert clopper_pearson(0, 50) == (0.0, pytest.approx(0.0711, abs=5e-5))


def test_clopper_pearson_refuses_nonsense() -> None:
    with pytest.raises(ValueError, match="is no rate"):
        clopper_pearson(3, 2)
