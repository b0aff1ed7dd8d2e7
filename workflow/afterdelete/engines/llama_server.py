"""One private llama.cpp server inside this process: its settings, its session, its saved states."""

from __future__ import annotations

import secrets
import tempfile
import time
from collections import OrderedDict
from pathlib import Path
from typing import Any

import requests

from afterdelete.config.model_spec import ModelSpec
from afterdelete.core.errors import AfterDeleteError


class ServerSession(requests.Session):
    """Talks to our own server only: no proxies, no netrc, and a key that other users do not know."""

    def __init__(self, base: str, key: str) -> None:
        super().__init__()
        self.base = base
        self.trust_env = False
        self.headers["Authorization"] = f"Bearer {key}"


class SlotStates:
    """Saved slot states in a private folder (mode 0700), bounded in bytes, removed at close."""

    def __init__(self, budget_bytes: int) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="afterdelete-states-")
        self.directory = Path(self._folder.name)
        self._budget = budget_bytes
        self._sizes: OrderedDict[str, int] = OrderedDict()

    def find(self, key: str) -> str | None:
        """File name of a saved state that is still whole, or None; counts as a use.

        llama.cpp aborts the process on a state that is cut short, so the size is compared first.
        """
        if key not in self._sizes:
            return None
        if self._size(key) != self._sizes[key]:
            self.forget(key)  # taken or cut, for example by a cleaner of temporary files
            return None
        self._sizes.move_to_end(key)
        return self.name(key)

    def name(self, key: str) -> str:
        """File name of a state, as the server wants it: without a folder."""
        return f"{key[:32]}.bin"

    def forget(self, key: str) -> None:
        self._sizes.pop(key, None)
        (self.directory / self.name(key)).unlink(missing_ok=True)

    def keep(self, key: str) -> None:
        """Record a state just written, then drop the oldest ones beyond the budget."""
        self._sizes[key] = self._size(key)
        while sum(self._sizes.values()) > self._budget:
            self.forget(next(iter(self._sizes)))

    def _size(self, key: str) -> int:
        try:
            return (self.directory / self.name(key)).stat().st_size
        except OSError:
            return -1

    def close(self) -> None:
        self._sizes.clear()
        self._folder.cleanup()


def start_server(spec: ModelSpec, path: Path, threads: int, states: Path) -> tuple[Any, ServerSession]:
    """Load ``path`` into a server with one slot on a free port of 127.0.0.1, and wait until it answers."""
    try:
        import xllamacpp
    except ImportError as error:
        raise AfterDeleteError(
            f"{spec.name} needs the package xllamacpp", "install envs/inference.txt"
        ) from error
    key = secrets.token_hex(16)
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.n_ctx = spec.context
    params.n_parallel = 1
    params.cpuparams.n_threads = threads
    params.cpuparams_batch.n_threads = threads
    params.n_gpu_layers = 0
    params.fit_params = False  # it would change the context or layers to fit the memory that is free today
    # Everything that could evaluate other tokens than asked for is off.
    params.n_cache_reuse = 0
    params.n_ctx_checkpoints = 0
    params.cache_ram_mib = 0
    params.cache_idle_slots = False
    params.slot_prompt_similarity = 0.0
    params.ctx_shift = False
    params.cont_batching = False
    params.warmup = True
    params.endpoint_slots = True
    params.slot_save_path = f"{states}/"
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [key]
    params.ui = False
    params.verbosity = 0
    try:
        server = xllamacpp.Server(params)
    except Exception as error:
        raise AfterDeleteError(
            f"llama.cpp cannot load {path}: {' '.join(str(error).split()) or type(error).__name__}",
            "check free memory and that the file is a model this llama.cpp knows; fetch it again",
        ) from error
    http = ServerSession(server.listening_address, key)
    deadline = time.monotonic() + 600
    while time.monotonic() < deadline:
        try:
            if http.get(f"{http.base}/health", timeout=10).status_code == 200:
                return server, http
        except requests.RequestException:
            pass
        time.sleep(0.05)
    raise AfterDeleteError(f"llama.cpp did not become ready with {path}", "check free memory, then run again")
