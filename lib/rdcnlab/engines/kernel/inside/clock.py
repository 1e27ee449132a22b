# SPDX-License-Identifier: Apache-2.0
"""Sleep until an exact instant, and say who goes first of all that run at one instant."""

from __future__ import annotations

import contextlib
import os
import threading
import time

#: The kernel thread that does the network's work when there is much of it at one instant.
_NETWORK = "ksoftirqd/0"


def be_exact() -> None:
    """Remove the timer slack of the calling thread; with slack its timers may be 50 us late."""
    with open(f"/proc/{threading.get_native_id()}/timerslack_ns", "w") as file:
        file.write("1")


def sleep_until(instant_ns: int) -> None:
    """Sleep until an instant of CLOCK_MONOTONIC, exact to the ns in virtual time; return at once if it has passed."""
    ahead = instant_ns - time.monotonic_ns()
    if ahead > 1:
        # Python rounds seconds up to the next ns, and User-Mode Linux sets its timers a ns late
        time.sleep((ahead - 1.5) / 1e9)


def network_first() -> None:
    """Let the kernel's network work of an instant be done before programs run.

    Computation takes no time, so the scheduler chooses between the two by what they used long before, and that includes
    what Python looked for when it started, which differs from machine to machine.
    """
    for pid in sorted(int(name) for name in os.listdir("/proc") if name.isdigit()):
        with contextlib.suppress(FileNotFoundError), open(f"/proc/{pid}/comm") as file:
            if file.read().rstrip() == _NETWORK:
                os.sched_setscheduler(pid, os.SCHED_FIFO, os.sched_param(1))
                return
    raise RuntimeError(f"the guest's kernel has no thread {_NETWORK}")
