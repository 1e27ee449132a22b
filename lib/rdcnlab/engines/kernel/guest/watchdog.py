# SPDX-License-Identifier: Apache-2.0
"""Look at a guest from outside, and say why it has to be ended.

A guest cannot be trusted to notice what is wrong with it: a program that spins stops its clock, and a process that the
host has killed leaves others waiting for ever, while the clock jumps on from timer to timer.
"""

from __future__ import annotations

import contextlib
import os
import re
import struct
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

#: How often the end of a guest is looked for, in seconds of wall clock.
WAIT_S = 0.02
#: How often all its processes are examined.
EXAMINE_S = 0.25
#: Seconds for which a process of a guest must be dead and still there before it counts as lost. The guest's kernel
#: kills its processes too, and takes them away at once.
LOST_S = 1.0
#: What the guest's kernel says when a process of the host, which stands for one of its own, does not obey any more.
LOSS = re.compile(
    r"failed to wait for SIGTRAP|PTRACE_GETREGS failed|ptrace set (?:fp )?regs failed|ptrace continue failed|"
    r"Failed to continue stub|: continue failed, errno|- wait failed, errno"
)
LOST = "the host ended a process of the guest from outside; its OOM killer does so when memory runs out"

#: Called with the virtual time in ns now and then.
Watcher = Callable[[int], None]


@dataclass(frozen=True)
class Limits:
    """What a guest may take.

    Parameters
    ----------
    wall_s : float
        Seconds of wall clock.
    stall_s : float
        Seconds of processor time in which the virtual clock may stand still.
    virtual_ns : int or None
        Where on the virtual clock it must have ended; None leaves that open.
    """

    wall_s: float
    stall_s: float
    virtual_ns: int | None = None


@dataclass(frozen=True)
class Process:
    """A process of the host, as ``/proc/PID/stat`` tells of it: `dead` ones wait to be taken away by their parent."""

    pid: int
    dead: bool
    processor_s: float


def wait(
    process: subprocess.Popen[bytes], clock: Path, log: Path, limits: Limits, watch: Watcher | None = None
) -> str | None:
    """Wait for the end of a guest.

    Parameters
    ----------
    process : Popen
        The guest, which leads a session of its own.
    clock : Path
        The page with its virtual time.
    log : Path
        Its console.
    limits : Limits
        What it may take.
    watch : callable, optional
        Called with the virtual time in ns now and then.

    Returns
    -------
    str or None
        Why it has to be ended, or None when it ended by itself.
    """
    begun = examined = time.monotonic()
    last_ns, spent_then_s = -1, 0.0
    dead_since: dict[int, float] = {}
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(WAIT_S)
            return None
        now = time.monotonic()
        if now - begun > limits.wall_s:
            return f"the run took longer than the limit of {limits.wall_s:g} s of wall clock"
        if now - examined < EXAMINE_S:
            continue
        examined = now
        virtual_ns = read(clock)
        if watch is not None:
            watch(virtual_ns)
        alive = members(process.pid)
        dead_since = {one.pid: dead_since.get(one.pid, now) for one in alive if one.dead and one.pid != process.pid}
        if complained(log) or any(now - since > LOST_S for since in dead_since.values()):
            return LOST
        if limits.virtual_ns is not None and virtual_ns > limits.virtual_ns:
            return (
                f"the virtual clock is at {virtual_ns / 1e9:.0f} s and the run had to end before "
                f"{limits.virtual_ns / 1e9:.0f} s: a program in the guest waits for what does not come"
            )
        spent_s = sum(one.processor_s for one in alive)
        if virtual_ns != last_ns:
            last_ns, spent_then_s = virtual_ns, spent_s
        elif spent_s - spent_then_s > limits.stall_s:
            return (
                f"the virtual clock stands still at {virtual_ns / 1e9:.6f} s although the guest was busy for "
                f"{spent_s - spent_then_s:.0f} s: something in it spins"
            )


def read(clock: Path) -> int:
    """Return the virtual time [ns] that a guest shows to the host."""
    with clock.open("rb") as file:
        value: int = struct.unpack("<Q", file.read(8))[0]
    return value


def complained(log: Path) -> bool:
    """Whether a guest's kernel says that it has lost a process."""
    return LOSS.search(log.read_text(errors="replace")) is not None


def members(session: int) -> list[Process]:
    """Return the processes of a session; a guest starts one of its own."""
    tick = os.sysconf("SC_CLK_TCK")
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, IndexError, ValueError):
                if os.getsid(int(entry.name)) == session:
                    fields = (entry / "stat").read_text().rpartition(")")[2].split()
                    spent = (int(fields[11]) + int(fields[12])) / tick
                    found.append(Process(int(entry.name), fields[0] == "Z", spent))
    return found
