"""Counter-based draws: every random choice is a hash of (key, purpose, counter), never a stream.

A stream would make profile i depend on how many profiles were made before it. The mixer is the finaliser
of SplitMix64 (Steele, Lea and Flood 2014, "Fast splittable pseudorandom number generators").
"""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
# Four rounds already give a good permutation (Luby and Rackoff 1988); two more cost next to nothing.
_ROUNDS = 6


def mix(values: Words) -> Words:
    """SplitMix64's bijective mixer on uint64, elementwise; arithmetic wraps modulo 2**64."""
    with np.errstate(over="ignore"):
        values = values + _GOLDEN
        values = (values ^ (values >> np.uint64(30))) * _MIX_1
        values = (values ^ (values >> np.uint64(27))) * _MIX_2
        return values ^ (values >> np.uint64(31))


def _name_word(name: str) -> np.uint64:
    return np.uint64(int.from_bytes(hashlib.sha256(name.encode("utf-8")).digest()[:8], "little"))


def stream_key(seed: int, name: str) -> np.uint64:
    """One uint64 key of a seed (0 <= seed < 2**64) and a name, such as a split."""
    return mix(mix(np.array([seed], dtype=np.uint64)) ^ _name_word(name))[0]


def draw(key: np.uint64, purpose: str, counters: NDArray[np.int64] | Words) -> Words:
    """Uniform uint64 draws, one a counter; draws for different purposes are independent.

    ``counters``: any shape of non-negative integers; the result has the same shape.
    """
    purpose_key = mix(np.array([key ^ _name_word(purpose)], dtype=np.uint64))[0]
    return mix(mix(counters.astype(np.uint64)) ^ purpose_key)


def permute(indices: NDArray[np.int64], size: int, key: np.uint64) -> NDArray[np.int64]:
    """Image of each index under a keyed bijection of range(size), same shape as ``indices``.

    A balanced Feistel network over the next even number of bits, walked along its cycle until it falls
    inside the range again (Black and Rogaway 2002, "Ciphers with arbitrary finite domains"). The network
    is at most four times as large as the range, so fewer than four walks are expected.
    Raises ValueError for an index outside range(size).
    """
    if not 0 < size <= 2**62:
        raise ValueError("size must lie in 1..2**62")
    if indices.size and not (int(indices.min()) >= 0 and int(indices.max()) < size):
        raise ValueError(f"indices must lie in 0..{size - 1}")
    half = max(1, ((size - 1).bit_length() + 1) // 2)
    round_keys = draw(key, "feistel", np.arange(_ROUNDS, dtype=np.int64))
    images = _feistel(indices.astype(np.uint64), half, round_keys)
    limit = np.uint64(size)
    while (outside := images >= limit).any():
        images[outside] = _feistel(images[outside], half, round_keys)
    return images.astype(np.int64)


def _feistel(values: Words, half: int, round_keys: Words) -> Words:
    shift, mask = np.uint64(half), np.uint64((1 << half) - 1)
    left, right = values >> shift, values & mask
    for round_key in round_keys:
        left, right = right, left ^ (mix(right ^ round_key) & mask)
    return (left << shift) | right
