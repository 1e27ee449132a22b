# SPDX-License-Identifier: Apache-2.0
"""Watch a guest from outside, and decide when and why it must be ended.

A guest cannot detect all of its own failures. A program that spins stops the virtual clock. If the host kills a process
of the guest, other processes wait for it for ever, while the clock advances from timer to timer.
"""

from __future__ import annotations

import contextlib
import re
import struct
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rdcnlab.engines.kernel.guest import quota
from rdcnlab.engines.kernel.guest.processes import Started

#: Seconds of wall clock between two checks whether the guest has ended.
WAIT_S = 0.02
#: Seconds of wall clock between two examinations of all processes of the guest.
EXAMINE_S = 0.25
#: A dead process of a guest counts as lost if its entry still exists after this many seconds. The guest's kernel kills
#: its processes too, but removes them at once.
LOST_S = 1.0
#: Seconds of wall clock after which a guest counts as stopped: its kernel has the state T, as after SIGSTOP.
STOPPED_S = 30.0
#: Messages of the guest's kernel if a process of the host, which represents one of the guest, does not respond.
LOSS = re.compile(
    r"failed to wait for SIGTRAP|PTRACE_GETREGS failed|ptrace set (?:fp )?regs failed|ptrace continue failed|"
    r"Failed to continue stub|: continue failed, errno|- wait failed, errno"
)
LOST = "the host ended a process of the guest from outside; its OOM killer does so when memory runs out"

#: Called from time to time with the virtual time in ns.
Watcher = Callable[[int], None]
#: Called again and again with the guest, which it may stop for a while.
Visitor = Callable[[Started], None]


@dataclass(frozen=True)
class Limits:
    """Limits of a guest.

    Parameters
    ----------
    wall_s : float
        Seconds of wall clock.
    stall_s : float
        Seconds of processor time during which the virtual clock may stand still.
    virtual_ns : int or None
        Virtual time in ns at which the guest must have ended; None means no limit.
    processes : int or None
        Number of processes of the guest from which on it is ended; None means no limit.
    stored_B : int or None
        Bytes in the directory of the run from which on the guest is ended; None means no limit.
    stopped_s : float
        Seconds of wall clock during which the guest's kernel may be stopped.
    """

    wall_s: float
    stall_s: float
    virtual_ns: int | None = None
    processes: int | None = None
    stored_B: int | None = None  # noqa: N815  (unit)
    stopped_s: float = STOPPED_S


def wait(
    guest: Started,
    clock: Path,
    log: Path,
    limits: Limits,
    watch: Watcher | None = None,
    visit: Visitor | None = None,
) -> str | None:
    """Wait until a guest ends or exceeds a limit.

    Parameters
    ----------
    guest : Started
        The guest.
    clock : Path
        File with the page that contains the guest's virtual time.
    log : Path
        Log of the guest's console.
    limits : Limits
        The limits of the guest.
    watch : callable, optional
        Called from time to time with the virtual time in ns.
    visit : callable, optional
        Called each `WAIT_S` with the guest.

    Returns
    -------
    str or None
        The reason why the guest must be ended; None if it ended by itself.
    """
    begun = examined = time.monotonic()
    last_ns, spent_then_s, running = -1, 0.0, begun
    dead_since: dict[int, float] = {}
    leaders = {guest.process.pid, guest.kernel}
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            guest.process.wait(WAIT_S)
            return None
        if visit is not None:
            visit(guest)
        now = time.monotonic()
        if now - begun > limits.wall_s:
            return f"the run took longer than the limit of {limits.wall_s:g} s of wall clock"
        if now - examined < EXAMINE_S:
            continue
        examined = now
        virtual_ns = read(clock)
        if watch is not None:
            watch(virtual_ns)
        alive = guest.members()
        dead_since = {one.pid: dead_since.get(one.pid, now) for one in alive if one.dead and one.pid not in leaders}
        if complained(log) or any(now - since > LOST_S for since in dead_since.values()):
            return LOST
        if limits.virtual_ns is not None and virtual_ns > limits.virtual_ns:
            return (
                f"the virtual clock is at {virtual_ns / 1e9:.0f} s and the run had to end before "
                f"{limits.virtual_ns / 1e9:.0f} s: a program in the guest waits for what does not come"
            )
        if limits.processes is not None and len(alive) > limits.processes:
            return (
                f"the guest has {len(alive)} processes at {virtual_ns / 1e9:.6f} s, and {limits.processes} is the "
                "most: a program starts processes again and again"
            )
        if limits.stored_B is not None and (stored := quota.stored_B(log.parent)) > limits.stored_B:
            return quota.reason(stored, limits.stored_B)
        if not any(one.stopped for one in alive if one.pid == guest.kernel):
            running = now
        elif now - running > limits.stopped_s:
            return (
                f"the guest's kernel (process {guest.kernel}) has been stopped for {now - running:.0f} s, at "
                f"{virtual_ns / 1e9:.6f} s of virtual time: its state is T, as after SIGSTOP, and nobody lets it go on"
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
    """Return the virtual time in ns that a guest shows to the host."""
    with clock.open("rb") as file:
        value: int = struct.unpack("<Q", file.read(8))[0]
    return value


def complained(log: Path) -> bool:
    """Return whether a guest's kernel reports that it has lost a process."""
    return LOSS.search(log.read_text(errors="replace")) is not None
