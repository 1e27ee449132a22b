# SPDX-License-Identifier: Apache-2.0
"""A Dask cluster of separate processes for tests. Its machines share no files: each has its own home and cache."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections import Counter
from pathlib import Path


def without_rdcnlab(directory: Path) -> str:
    """Return a search path on which rdcnlab seems not to be installed."""
    package = directory / "without" / "rdcnlab"
    package.mkdir(parents=True, exist_ok=True)
    (package / "__init__.py").write_text("raise ModuleNotFoundError(\"No module named 'rdcnlab'\", name='rdcnlab')\n")
    return os.pathsep.join([str(package.parent), os.environ.get("PYTHONPATH", "")])


class Machine:
    """A worker with an empty home, and its process."""

    def __init__(self, cluster: Machines, name: str, *options: str, **environment: str) -> None:
        self.home = cluster.directory / name
        self.home.mkdir()
        own = {"HOME": self.home, "TMPDIR": self.home, "FAKE_MARK": self.home, "XDG_CACHE_HOME": self.home / "cache"}
        command = [sys.executable, "-m", "dask", "worker", cluster.address, "--nthreads", "1", "--no-dashboard"]
        command += ["--local-directory", str(self.home), *(options or ["--no-nanny"])]
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("RDCNLAB_", "KERNEL_"))}
        self.log = self.home / "log"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                command, cwd=self.home, stdout=log, stderr=log, start_new_session=True,
                env={**kept, **{name: str(value) for name, value in own.items()}, **environment},
            )  # fmt: skip

    @property
    def made(self) -> Counter[int]:
        """How many results the fake engine gave here, by seed."""
        path = self.home / "made"
        lines = path.read_text().splitlines() if path.exists() else []
        return Counter(int(line.split()[0]) for line in lines)

    def kill(self) -> None:
        """End the worker as a crash does."""
        self.process.kill()
        self.process.wait()

    def end(self) -> None:
        """End the worker and wait; after some seconds by force."""
        if self.process.poll() is None:
            self.process.terminate()
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.kill()


class Machines:
    """A scheduler and its workers."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.directory.mkdir(exist_ok=True)
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.workers: list[Machine] = []
        self.start()

    @property
    def address(self) -> str:
        return f"tcp://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start the scheduler. rdcnlab need not be installed where it runs."""
        command = [sys.executable, "-m", "dask", "scheduler", "--host", "127.0.0.1", "--port", str(self.port)]
        with (self.directory / "scheduler.log").open("a") as log:
            self.scheduler = subprocess.Popen(
                [*command, "--no-dashboard"], cwd=self.directory, stdout=log, stderr=log, start_new_session=True,
                env={**os.environ, "PYTHONPATH": without_rdcnlab(self.directory), "TMPDIR": str(self.directory)},
            )  # fmt: skip

    def kill_scheduler(self) -> None:
        self.scheduler.kill()
        self.scheduler.wait()

    def add(self, name: str, *options: str, **environment: str) -> Machine:
        self.workers.append(Machine(self, name, *options, **environment))
        return self.workers[-1]

    def end(self) -> None:
        for worker in self.workers:
            worker.end()
        self.scheduler.terminate()
        try:
            self.scheduler.wait(60)
        except subprocess.TimeoutExpired:
            self.kill_scheduler()
