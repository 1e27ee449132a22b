# SPDX-License-Identifier: Apache-2.0
"""Kernels for notebooks that start within a tenth of a second: copies of a process with all libraries loaded.

A notebook's kernel needs most of its time for loading pandas, SciPy and matplotlib. Here one process loads them, and a
kernel is a fork of it. Everything else is that of Jupyter.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jupyter_client.manager import AsyncKernelManager
from jupyter_client.provisioning.local_provisioner import LocalProvisioner

_SERVER = Path(__file__).with_name("warm_server.py")
#: How the names of variables begin that Python reads when it starts.
_READ_ONCE = "PYTHON"

_Variables = tuple[tuple[str, str], ...]


class WarmKernelManager(AsyncKernelManager):
    """Jupyter's manager of a kernel, whose process is a fork."""

    async def start_kernel(self, **options: Any) -> None:  # type: ignore[override]
        """Start the kernel."""
        if self.provisioner is None:
            self.kernel_id = self.kernel_id or str(uuid.uuid4())
            self.provisioner = _Provisioner(kernel_id=self.kernel_id, kernel_spec=self.kernel_spec, parent=self)
        await super().start_kernel(**options)


class _Provisioner(LocalProvisioner):
    """Jupyter's local processes, but forked where the kernel is that of this Python."""

    async def launch_kernel(self, cmd: list[str], **options: Any) -> Any:
        """Fork the kernel. A kernel of another Python, or if the server is lost, is started in Jupyter's way."""
        number = None
        if cmd[:3] == [sys.executable, "-m", "ipykernel_launcher"] and _can_watch():
            directory, environment = str(options.get("cwd") or Path.cwd()), dict(options.get("env") or os.environ)
            number = _server(_of_python(environment)).fork(cmd[3:], directory, environment)
        if number is None:
            return await super().launch_kernel(cmd, **options)
        # the fork makes itself the leader of a group of this number
        self.process = _Forked(number)  # type: ignore[assignment]
        self.pid, self.pgid, self.cwd = number, number, directory
        return self.connection_info


class _Server:
    """The process that forks kernels.

    Parameters
    ----------
    python : tuple
        Variables of the environment that Python reads once, when it starts, such as ``PYTHONPATH``, with their values.
    """

    def __init__(self, python: _Variables) -> None:
        others = {name: value for name, value in os.environ.items() if not name.startswith(_READ_ONCE)}
        self._connection, theirs = socket.socketpair()
        with theirs:
            # a session of its own, as Ctrl-C in a terminal is not for it
            self._process = subprocess.Popen(
                # as Jupyter starts its kernels: without it, the debugger warns when it is loaded
                [sys.executable, "-Xfrozen_modules=off", str(_SERVER), str(theirs.fileno())],
                stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()], start_new_session=True,
                env=others | dict(python),
            )  # fmt: skip
        self._answers = self._connection.makefile(encoding="utf-8")
        self._lock = threading.Lock()
        atexit.register(self._end)

    def fork(self, arguments: list[str], directory: str, environment: dict[str, str]) -> int | None:
        """Return the number of a new process, a kernel with these arguments; None if the server has ended."""
        order = {"arguments": arguments, "directory": directory, "environment": environment}
        try:
            with self._lock:
                self._connection.sendall(json.dumps(order).encode() + b"\n")
                return int(self._answers.readline())
        except (OSError, ValueError):  # a broken connection, or no answer
            _server.cache_clear()
            return None

    def _end(self) -> None:
        self._answers.close()
        self._connection.close()
        self._process.wait()


def _of_python(environment: Mapping[str, str]) -> _Variables:
    return tuple(sorted((name, value) for name, value in environment.items() if name.startswith(_READ_ONCE)))


@functools.cache
def _server(python: _Variables) -> _Server:
    """Return the server for kernels whose Python starts with these variables; each set of them has its own."""
    return _Server(python)


@functools.cache
def _can_watch() -> bool:
    """Whether processes that are no children can be watched; old kernels and old profiles of containers forbid it."""
    try:
        os.close(os.pidfd_open(os.getpid()))
    except OSError:
        return False
    return True


class _Forked:
    """A kernel's process as Jupyter uses it, like `subprocess.Popen`. It is not a child of this process."""

    stdin = stdout = stderr = None

    def __init__(self, number: int) -> None:
        self.pid = number
        try:
            self._descriptor = os.pidfd_open(number)
        except ProcessLookupError:  # it has ended already
            self._descriptor = -1

    def poll(self) -> int | None:
        """Return None while the process runs, and 0 when it has ended: its result is not known here."""
        return None if self._descriptor >= 0 and not self._ended(0) else 0

    def wait(self) -> int:
        """Wait for the end of the process."""
        if self._descriptor >= 0:
            self._ended(None)
            os.close(self._descriptor)
            self._descriptor = -1
        return 0

    def send_signal(self, number: int) -> None:
        """Send a signal to the process."""
        if self._descriptor >= 0:
            signal.pidfd_send_signal(self._descriptor, number)

    def kill(self) -> None:
        """End the process at once."""
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        """Ask the process to end."""
        self.send_signal(signal.SIGTERM)

    def _ended(self, timeout_s: float | None) -> bool:
        poll = select.poll()
        poll.register(self._descriptor, select.POLLIN)
        return bool(poll.poll(None if timeout_s is None else timeout_s * 1000))
