"""Percentile intervals of paired gaps, and the exact interval of one world's rate.

A paired difference is forget minus clean of one profile and one endpoint: -1, 0 or 1. A resample draws n
profiles with replacement, both worlds of a profile together.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy.stats import beta

RESAMPLES = 10_000
SEED = 20260816
LEVEL = 0.95
# Rows of the draw matrix that are made at once: bounds the memory of a panel of many profiles.
_BLOCK_ENTRIES = 4_000_000

Interval = tuple[float, float]


def index_matrix(n: int, resamples: int, seed: int) -> npt.NDArray[np.int64]:
    """Which profiles each resample draws: shape (resamples, n), entries 0 to n - 1.

    A function of its arguments only, so every cell with n profiles meets the same resamples.
    """
    generator = np.random.Generator(np.random.PCG64(seed))
    return generator.integers(0, n, size=(resamples, n), dtype=np.int64)


@lru_cache(maxsize=8)
def draw_counts(n: int, resamples: int, seed: int) -> npt.NDArray[np.float32]:
    """How often each resample draws each profile: shape (resamples, n), rows sum to n.

    float32 because a matrix product of it is fast, and exact while n stays below 2**24.
    """
    drawn = index_matrix(n, resamples, seed)
    counts = np.empty((resamples, n), dtype=np.float32)
    block = max(1, _BLOCK_ENTRIES // n)
    for start in range(0, resamples, block):
        part = drawn[start : start + block]
        flat = part + np.arange(len(part), dtype=np.int64)[:, None] * n
        tally = np.bincount(flat.ravel(), minlength=len(part) * n)
        counts[start : start + block] = tally.reshape(len(part), n)
    counts.flags.writeable = False
    return counts


def paired_intervals(
    differences: Sequence[npt.ArrayLike], *, resamples: int = RESAMPLES, seed: int = SEED
) -> list[Interval | None]:
    """The 95 % percentile interval of the mean of each vector of paired differences.

    Each vector holds one -1, 0 or 1 a profile, in a fixed order of profiles. None where all differences
    are equal: then every resample is the observed gap, and a point is no interval. Vectors of one length
    share one matrix product. Raises ValueError for an empty vector or another value.
    """
    vectors = [np.asarray(each, dtype=np.int8) for each in differences]
    by_length: dict[int, list[int]] = {}
    for at, vector in enumerate(vectors):
        if vector.ndim != 1 or not vector.size or np.abs(vector).max() > 1:
            raise ValueError("paired differences must be a nonempty vector of -1, 0 and 1")
        if vector.min() != vector.max():
            by_length.setdefault(vector.size, []).append(at)
    intervals: list[Interval | None] = [None] * len(vectors)
    for n, members in by_length.items():
        counts = draw_counts(n, resamples, seed)
        width = max(1, _BLOCK_ENTRIES // resamples)
        for start in range(0, len(members), width):
            chunk = members[start : start + width]
            stacked = np.stack([vectors[at] for at in chunk]).astype(np.float32)
            # Small integers in float32: every product and partial sum is exact, whatever the order.
            sums = stacked @ counts.T
            low, high = _percentiles(sums.astype(np.float64) / n)
            for at, one, other in zip(chunk, low, high, strict=True):
                intervals[at] = (float(one) + 0.0, float(other) + 0.0)
    return intervals


def _percentiles(means: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    tail = 100 * (1 - LEVEL) / 2
    # A round number first: 2.5 and 97.5, free of the rounding of 1 - 0.95.
    return np.percentile(means, [round(tail, 9), round(100 - tail, 9)], axis=1)


def clopper_pearson(successes: int, n: int) -> Interval:
    """The exact 95 % interval of one world's marginal rate. It is not an interval of a paired gap.

    Raises ValueError unless 0 <= successes <= n and n > 0.
    """
    if not 0 <= successes <= n or n <= 0:
        raise ValueError(f"{successes} of {n} is no rate")
    tail = (1 - LEVEL) / 2
    low = 0.0 if successes == 0 else float(beta.ppf(tail, successes, n - successes + 1))
    high = 1.0 if successes == n else float(beta.ppf(1 - tail, successes + 1, n - successes))
    return low, high
