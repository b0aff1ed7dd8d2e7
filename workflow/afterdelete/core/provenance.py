"""Who made an artifact: the machine and software of the worker. Recorded, never hashed into a key."""

from __future__ import annotations

import os
import platform
import socket
from importlib import metadata
from pathlib import Path
from typing import Any

PACKAGES = ("afterdelete", "numpy", "pyarrow", "scipy", "snakemake")


def worker() -> dict[str, Any]:
    """Host, CPU, operating system, Python, package versions and Slurm job of this process."""
    return {
        "host": socket.gethostname(),
        "cpu": _cpu_model(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "platform": platform.platform(),
        "python": platform.python_version(),
        "packages": {name: version for name in PACKAGES if (version := _version(name))},
        "slurm_job_id": os.environ.get("SLURM_JOB_ID", ""),
    }


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def _cpu_model() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor()
