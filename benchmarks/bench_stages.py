"""Time and peak memory from profiles to deleted snapshots, each size in a process of its own.

    make bench-stages

For every profile: generation, the forget and clean worlds, hierarchical consolidation, exact and closure
deletion. Peak memory is the resident set's high-water mark of the whole process; chunks are made and
dropped, as a stage that writes shards does, so memory should hardly grow while time grows linearly.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from typing import TypeVar

SIZES = (20_000, 200_000)
STAGES = ("profiles", "worlds", "consolidated", "deleted")
Made = TypeVar("Made")


def measure(split: str, count: int) -> dict[str, float]:
    """Run every stage over ``count`` profiles: seconds by stage, and peak RSS in MiB (Linux gives KiB)."""
    from afterdelete.memory import consolidate, delete, worlds
    from afterdelete.memory.state import from_table, to_table
    from afterdelete.profiles import generate_chunks

    spent: dict[str, float] = defaultdict(float)

    def timed(stage: str, work: Callable[[], Made]) -> Made:
        start = time.perf_counter()
        made = work()
        spent[stage] += time.perf_counter() - start
        return made

    rows = 0
    chunks = generate_chunks(split, 0, count)
    while (profiles := timed("profiles", lambda: next(chunks, None))) is not None:
        for world in ("forget", "clean"):
            told = timed("worlds", lambda w=world, p=profiles: worlds.build(p, w))
            states = timed(
                "consolidated",
                lambda t=told: [consolidate.consolidate(state, "hierarchical") for state in from_table(t)],
            )
            for deletion in ("exact", "closure"):
                table = timed(
                    "deleted", lambda s=states, d=deletion: to_table(delete.delete(state, d) for state in s)
                )
                rows += table.num_rows
    assert rows == 4 * count
    return {**spent, "mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def main() -> None:
    """Print one line a size, and the ratio of the last to the first."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--split", default="iid")
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one is not None:
        print(json.dumps(measure(options.split, options.one)))
        return
    heads = [*(f"{stage} s" for stage in STAGES), "all s", "us/profile", "peak MiB"]
    print(f"{'profiles':>10}" + "".join(f"{head:>15}" for head in heads))
    results = []
    for size in options.sizes:
        command = [sys.executable, __file__, "--split", options.split, "--one", str(size)]
        result = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        total = sum(result[stage] for stage in STAGES)
        results.append([*(result[stage] for stage in STAGES), total, 1e6 * total / size, result["mib"]])
        print(f"{size:>10,}" + "".join(f"{value:>15.2f}" for value in results[-1]), flush=True)
    ratios = [last / first for first, last in zip(results[0], results[-1], strict=True)]
    print(f"{'ratio':>10}" + "".join(f"{ratio:>15.2f}" for ratio in ratios))


if __name__ == "__main__":
    main()
