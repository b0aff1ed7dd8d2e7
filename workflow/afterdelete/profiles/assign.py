"""Which domain and structure each profile has: balanced over any 8 and any 16, seeded within them.

A block is 16 consecutive profiles from a multiple of 16, and holds each of the 4 x 4 combinations once.
Its halves must hold each domain and each structure twice. Cells of a 4 x 4 grid with (row + column) mod 4
in two of the four residues do exactly that; the other two residues are the other half.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from afterdelete.profiles.hashing import draw

BLOCK = 16
_Codes = NDArray[np.int64]


def assign(key: np.uint64, start: int, stop: int) -> tuple[_Codes, _Codes]:
    """Domain and structure codes (0..3 each) of profiles start..stop-1: two arrays of shape (stop - start,).

    A block's assignment depends on the key and the block's number only.
    """
    first = start // BLOCK
    blocks = np.arange(first, -(-stop // BLOCK), dtype=np.int64)
    if not len(blocks):
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    domain_order = _orders(key, "domain order", blocks, 4)
    structure_order = _orders(key, "structure order", blocks, 4)
    residues = _orders(key, "half residues", blocks, 4)
    # Position p of a half takes cell `cells[p]`; cells 0..3 have the half's first residue, 4..7 its second.
    halves = (blocks[:, None] * 2 + np.arange(2)).ravel()
    cells = _orders(key, "places in a half", halves, 8).reshape(len(blocks), 2, 8)
    half = np.arange(2)[None, :, None]
    residue = np.take_along_axis(residues, (half * 2 + cells // 4).reshape(len(blocks), BLOCK), axis=1)
    row = (cells % 4).reshape(len(blocks), BLOCK)
    column = (residue - row) % 4
    domains = np.take_along_axis(domain_order, row, axis=1).ravel()
    structures = np.take_along_axis(structure_order, column, axis=1).ravel()
    cut = slice(start - first * BLOCK, stop - first * BLOCK)
    return domains[cut], structures[cut]


def _orders(key: np.uint64, purpose: str, counters: _Codes, width: int) -> _Codes:
    """One seeded order of range(width) a counter: shape (len(counters), width)."""
    ranks = draw(key, purpose, counters[:, None] * width + np.arange(width))
    return np.argsort(ranks, axis=1, kind="stable").astype(np.int64)
