# SPDX-License-Identifier: Apache-2.0
"""Sleep until an exact instant."""

from __future__ import annotations

import threading
import time


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
