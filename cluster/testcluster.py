"""A Slurm cluster on one machine, for tests: two virtual nodes with fake GPUs, on loopback only.

    python cluster/testcluster.py up /tmp/cluster      # then: export SLURM_CONF=/tmp/cluster/etc/slurm.conf
    python cluster/testcluster.py down /tmp/cluster

Everything lives below the given directory, apart from one link, /etc/slurm/slurm.conf: the jobstep plugin
takes SLURM_CONF away from its inner srun. Daemons run as root and are stopped by the pid in their pid files.
Needs Debian's packages slurmctld, slurmd, slurm-client, slurm-wlm-basic-plugins and munge.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "scancel", "squeue", "sinfo")
LINK = Path("/etc/slurm/slurm.conf")
NODES = ("n1", "n2")
CLIENT_SECONDS = 20
UP_SECONDS = 60

# MinJobAge keeps finished jobs visible to squeue, which stands in for the accounting that is not there.
# Without NoInAddrAny the daemons would listen on every interface.
SLURM_CONF = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={root}/run/munge/munge.socket
StateSaveLocation={root}/state
SlurmdSpoolDir={root}/spool/%n
SlurmctldPidFile={root}/run/slurmctld.pid
SlurmdPidFile={root}/run/slurmd-%n.pid
SlurmctldLogFile={root}/log/slurmctld.log
SlurmdLogFile={root}/log/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SlurmdParameters=config_overrides
SchedulerParameters=batch_sched_delay=0,bf_interval=2
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
GresTypes=gpu
Licenses=model:1
MinJobAge=43200
KillWait=2
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
NodeName=n[1-2] NodeHostname={host} NodeAddr=127.0.0.1 Port=[{first}-{last}] CPUs=4 RealMemory=8000 Gres=gpu:2 State=UNKNOWN
PartitionName=gpu Nodes=ALL Default=YES MaxTime=60 DefMemPerCPU=500 State=UP
"""  # noqa: E501 - one line a node is Slurm's format
GRES_CONF = """
NodeName=n[1-2] Name=gpu File=/dev/null
NodeName=n[1-2] Name=gpu File=/dev/zero
"""


def missing() -> str:
    """Why no cluster can be brought up here, or ""."""
    absent = [name for name in PROGRAMS if not shutil.which(name, path=_search_path())]
    if absent:
        return f"Slurm is not installed: no {', '.join(absent)}"
    if os.geteuid() != 0:
        return "a Slurm of one's own needs root here"
    if LINK.exists() or LINK.is_symlink():
        return f"{LINK} is there: this machine belongs to a cluster, or a test cluster is up"
    return ""


class Cluster:
    """One cluster below one private directory."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self.environment = {**os.environ, "SLURM_CONF": str(self.root / "etc/slurm.conf")}

    def up(self, first_port: int = 17001) -> None:
        """Write the configuration, start the daemons, wait until both nodes are idle."""
        if problem := missing():
            sys.exit(f"testcluster: {problem}")
        self._configure(first_port)
        try:
            self._start("munged", *self._munge_options())
            self._start("slurmctld")
            for node in NODES:
                self._start("slurmd", "-N", node)
            self._wait()
        except BaseException:
            self.down()
            raise

    def down(self) -> None:
        """Cancel every job, stop the daemons by pid, remove the link. Files below the directory stay."""
        with contextlib.suppress(subprocess.SubprocessError, OSError):
            self.client("scancel", "--user=root", "--full")
        for name in ("slurmd-n1", "slurmd-n2", "slurmctld", "munged"):
            _stop(self.root / "run" / f"{name}.pid")
        if LINK.is_symlink() and LINK.readlink() == self.root / "etc/slurm.conf":
            LINK.unlink()

    def client(self, *command: str) -> str:
        """Output of one Slurm client command."""
        done = subprocess.run(
            command,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=CLIENT_SECONDS,
            check=True,
        )
        return done.stdout

    def _configure(self, first_port: int) -> None:
        for name in ("etc", "state", "spool/n1", "spool/n2", "log", "run/munge", "munge"):
            (self.root / name).mkdir(parents=True, exist_ok=True)
        (self.root / "munge").chmod(0o700)
        (self.root / "run/munge").chmod(0o755)
        key = self.root / "munge/munge.key"
        key.touch(0o600)
        key.write_bytes(secrets.token_bytes(1024))
        last = first_port + len(NODES) - 1
        text = SLURM_CONF.format(
            host=socket.gethostname().split(".")[0],
            root=self.root,
            port=last + 1,
            first=first_port,
            last=last,
        )
        (self.root / "etc/slurm.conf").write_text(text, encoding="utf-8")
        (self.root / "etc/gres.conf").write_text(GRES_CONF, encoding="utf-8")
        LINK.parent.mkdir(parents=True, exist_ok=True)
        LINK.symlink_to(self.root / "etc/slurm.conf")

    def _munge_options(self) -> list[str]:
        root = self.root
        return [
            "--force",
            f"--key-file={root}/munge/munge.key",
            f"--socket={root}/run/munge/munge.socket",
            f"--pid-file={root}/run/munged.pid",
            f"--log-file={root}/log/munged.log",
            f"--seed-file={root}/munge/munged.seed",
        ]

    def _start(self, program: str, *options: str) -> None:
        """Start one daemon; it detaches by itself."""
        path = shutil.which(program, path=_search_path())
        assert path, program
        with (self.root / "log" / "start.log").open("a") as log:
            subprocess.run(
                [path, *options],
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                timeout=CLIENT_SECONDS,
                check=True,
            )

    def _wait(self) -> None:
        until = time.monotonic() + UP_SECONDS
        states = ""
        while time.monotonic() < until:
            with contextlib.suppress(subprocess.SubprocessError):
                states = self.client("sinfo", "-h", "-N", "-o", "%T")
                if states.split() == ["idle"] * len(NODES):
                    return
            time.sleep(0.5)
        sys.exit(
            f"testcluster: nodes are not idle after {UP_SECONDS} s: {states.split()}; see {self.root}/log"
        )


def _search_path() -> str:
    # Daemons stand in sbin, which a user's path may lack.
    return os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"])


def _stop(pid_file: Path) -> None:
    """End the daemon of a pid file, gently first."""
    try:
        pid = int(pid_file.read_text(encoding="utf-8"))
        for sign in (signal.SIGTERM, signal.SIGKILL):
            os.kill(pid, sign)
            for _ in range(50):
                time.sleep(0.1)
                os.kill(pid, 0)
    except (OSError, ValueError):
        return  # it is gone, or never came up


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ("up", "down"):
        sys.exit(__doc__)
    getattr(Cluster(Path(sys.argv[2])), sys.argv[1])()
