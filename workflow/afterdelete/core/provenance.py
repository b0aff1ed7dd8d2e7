"""Who made an artifact: the machine and software of the worker. Recorded, never hashed into a key."""

from __future__ import annotations

import importlib.metadata
import math
import os
import platform
from pathlib import Path
from typing import Any

PACKAGES = ("afterdelete", "numpy", "pyarrow", "scipy", "snakemake")


def worker() -> dict[str, Any]:
    """Host, processor, Python, package versions and Slurm job of this process."""
    return {**host_provenance(*PACKAGES), "slurm_job_id": os.environ.get("SLURM_JOB_ID", "")}


def usable_cpus() -> int:
    """CPUs this process may really use: its affinity, capped by a cgroup quota where there is one.

    llama.cpp's threads spin at barriers, so one thread more than the quota costs far more than it gives.
    """
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text(encoding="ascii").split()
        if quota != "max":
            count = min(count, math.ceil(int(quota) / int(period)))
    except (OSError, ValueError):
        pass
    return max(1, count)


def cpu_model() -> str:
    """The CPU's model string, or the machine type where the kernel names none."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            if line.lower().startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def package_versions(*names: str) -> dict[str, str]:
    """Installed versions of the named distributions; a missing one is left out."""
    found = {}
    for name in names:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def host_provenance(*packages: str) -> dict[str, Any]:
    """Host name, platform, CPU, Python and package versions."""
    return {
        "host": platform.node(),
        "platform": platform.platform(),
        "cpu": cpu_model(),
        "cpus_usable": usable_cpus(),
        "python": platform.python_version(),
        "packages": package_versions(*packages),
    }
