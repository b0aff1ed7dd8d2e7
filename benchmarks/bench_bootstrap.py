"""Time the paired intervals of a large study: 400 cells, n = 200, 10,000 resamples; the aim is 5 s.

Run: ``PYTHONPATH=workflow python benchmarks/bench_bootstrap.py``
"""

from __future__ import annotations

import sys
import time

import numpy as np

from afterdelete.stats.bootstrap import draw_counts, paired_intervals

AIM_S = 5.0


def main(cells: int = 400, n: int = 200) -> int:
    """Print the wall time and return 1 if it is above the aim."""
    random = np.random.default_rng(0)
    vectors = [random.choice([-1, 0, 1], p=[0.02, 0.35, 0.63], size=n).astype(np.int8) for _ in range(cells)]
    start = time.perf_counter()
    draw_counts(n, 10_000, 20260816)
    drawn = time.perf_counter()
    paired_intervals(vectors)
    done = time.perf_counter()
    print(f"{cells} cells x 10000 resamples, n = {n}: {done - start:.2f} s (draws {drawn - start:.2f} s)")
    return int(done - start > AIM_S)


if __name__ == "__main__":
    sys.exit(main())
