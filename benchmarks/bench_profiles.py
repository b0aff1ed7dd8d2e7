"""Time and peak memory of generating profiles, each size in a process of its own.

    PYTHONPATH=workflow python benchmarks/bench_profiles.py

Peak memory is the resident set's high-water mark of the whole process, interpreter and libraries
included; chunks are made and dropped, as a stage that writes shards does.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time

SIZES = (20_000, 200_000)


def measure(split: str, count: int) -> dict[str, float]:
    """Generate ``count`` profiles here: seconds, and peak RSS in MiB (Linux gives it in KiB)."""
    from afterdelete.profiles import generate_chunks

    start = time.perf_counter()
    rows = sum(table.num_rows for table in generate_chunks(split, 0, count))
    seconds = time.perf_counter() - start
    assert rows == count
    return {"seconds": seconds, "mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


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
    print(f"{'profiles':>10} {'seconds':>9} {'us/profile':>11} {'peak MiB':>9}")
    results = []
    for size in options.sizes:
        command = [sys.executable, __file__, "--split", options.split, "--one", str(size)]
        result = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        results.append(result)
        per_profile = 1e6 * result["seconds"] / size
        print(f"{size:>10,} {result['seconds']:>9.2f} {per_profile:>11.1f} {result['mib']:>9.0f}")
    first, last = results[0], results[-1]
    print(f"{'ratio':>10} {last['seconds'] / first['seconds']:>9.2f} {'':>11} {last['mib'] / first['mib']:>9.2f}")


if __name__ == "__main__":
    main()
