# SPDX-License-Identifier: Apache-2.0
"""Sleep until an exact instant, and use time."""

from __future__ import annotations

import os
import threading
import time

#: Virtual time that the program has used when it begins, in ns: more than Python's start uses (0 to 0.1 ms were seen).
USED_NS = 200_000


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


def use_time(until_ns: int = USED_NS) -> None:
    """Let the calling thread use virtual time until it has used `until_ns` since its start.

    If several threads are ready at one instant, the scheduler chooses by the virtual time that each used before.
    Python's start uses different times on different machines; after this function the time is the same.
    """
    while time.thread_time_ns() < until_ns:
        for _ in range(100):
            os.access("/proc/nothing", os.F_OK)  # from the thousandth on, it takes 1 us
