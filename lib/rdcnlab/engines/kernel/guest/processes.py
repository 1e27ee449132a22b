# SPDX-License-Identifier: Apache-2.0
"""The processes of a guest on the host: start them, find them, and end them."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from types import FrameType
from typing import Any, BinaryIO

from rdcnlab.engines.kernel.jail import sandbox
from rdcnlab.engines.kernel.jail.sandbox import Command


@dataclass(frozen=True)
class Process:
    """A process of the host, from ``/proc/PID/stat``.

    A `dead` process waits until its parent removes it. A `stopped` one waits until somebody lets it go on (SIGCONT).
    """

    pid: int
    dead: bool
    stopped: bool
    processor_s: float


@dataclass(frozen=True)
class Started:
    """A guest that was started.

    Parameters
    ----------
    process : Popen
        Our child process: the guest's kernel, or what has started it: the launcher, or bubblewrap. It leads a session.
    kernel : int
        Process id of the guest's kernel. All processes of the guest are in the session that it leads.
    jail : str
        The walls of its jail, in words.
    """

    process: subprocess.Popen[bytes]
    kernel: int
    jail: str = ""

    def members(self) -> list[Process]:
        """Return the processes of the guest, with those that have started it."""
        return members({self.process.pid, self.kernel})

    def died_of(self) -> str | None:
        """Return the name of the signal that ended the guest's kernel; None if it ended in another way."""
        status = self.process.returncode
        if self.kernel != self.process.pid and status > _SIGNALLED:
            # launcher and bubblewrap return the status of a shell if a signal ended their program
            status = _SIGNALLED - status
        return signal.Signals(-status).name if status < 0 else None

    @contextlib.contextmanager
    def stopped(self) -> Iterator[None]:
        """Stop the guest during the block: its clock stands, and it uses no processor.

        Only the guest's kernel is stopped. Its other processes go on when it says so.
        """
        os.kill(self.kernel, signal.SIGSTOP)
        try:
            yield
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.kernel, signal.SIGCONT)

    def end(self) -> None:
        """End every process of the guest, by its process id."""
        for _ in range(100):
            # Dead processes do not count: in some containers nobody removes them.
            alive = [one.pid for one in self.members() if not one.dead]
            if not alive:
                break
            for pid in alive:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.01)
        self.process.wait()


#: A shell's exit status for a program that a signal ended is the signal's number, plus this.
_SIGNALLED = 128


@contextlib.contextmanager
def started(command: Command, directory: Path, environment: dict[str, str], console: BinaryIO) -> Iterator[Started]:
    """Start a guest, and end all of its processes after the block, whatever happened.

    Parameters
    ----------
    command : Command
        The command, which pins and confines the guest.
    directory : Path
        Working directory of the guest.
    environment : dict
        Its environment variables, and no others.
    console : file
        File for its output.
    """
    guest: Started | None = None
    try:
        # Ctrl-C within Popen would leave a process whose id is not known
        with _signals_wait():
            guest = _start(command, directory, environment, console)
        yield guest
    finally:
        if guest is not None:
            guest.end()


def _start(command: Command, directory: Path, environment: dict[str, str], console: BinaryIO) -> Started:
    ours, theirs = os.pipe()
    with os.fdopen(ours, "rb", buffering=0) as told:
        try:
            process = subprocess.Popen(
                command.line(theirs), cwd=directory, env=environment, stdin=subprocess.DEVNULL, stdout=console,
                stderr=subprocess.STDOUT, start_new_session=True, pass_fds=[theirs],
            )  # fmt: skip
        finally:
            os.close(theirs)
        walls = _told(told)
        # a launcher that ended before it said anything has a reason, which is on the console
        jail = sandbox.described(command.kind, walls) if walls else ""
        return Started(process, walls.get("child-pid") or process.pid, jail)


def _told(told: FileIO) -> dict[str, Any]:
    """Return what the launcher said of its program and its jail; empty if it ended before."""
    text = b""
    # We do not wait for the end of the file: another process may hold a copy of it for longer.
    while not text.endswith(b"\n") and (chunk := told.read(4096)):
        text += chunk
    walls: dict[str, Any] = json.loads(text) if text.endswith(b"\n") else {}
    return walls


def members(sessions: set[int]) -> list[Process]:
    """Return the processes of sessions."""
    tick = os.sysconf("SC_CLK_TCK")
    processes = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, IndexError, ValueError):
                if os.getsid(int(entry.name)) in sessions:
                    fields = (entry / "stat").read_text().rpartition(")")[2].split()
                    spent = (int(fields[11]) + int(fields[12])) / tick
                    processes.append(Process(int(entry.name), fields[0] == "Z", fields[0] == "T", spent))
    return processes


@contextlib.contextmanager
def _signals_wait() -> Iterator[None]:
    """Deliver signals that end this process only after the block."""
    if threading.current_thread() is not threading.main_thread():
        # Python handles signals in the main thread only
        yield
        return
    came: list[tuple[int, FrameType | None]] = []
    handlers = {
        number: signal.signal(number, lambda *which: came.append(which)) for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    for which, frame in came[:1]:
        handler = handlers[signal.Signals(which)]
        if callable(handler):
            handler(which, frame)
        else:
            signal.raise_signal(which)
