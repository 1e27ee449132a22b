# SPDX-License-Identifier: Apache-2.0
"""A running ``simple_switch``: its start, its end, and its clock."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterable
from typing import Any

from bmv2_control import Control
from clock import be_exact, sleep_until

THRIFT_PORT = 9090
LOG = "/run/bmv2.log"
#: BMv2's own log. As packages build it, it formats a line at each step of a packet even where nobody reads it, and that
#: is most of what a packet costs. Why it does not load a program it prints nevertheless.
LEVEL = "off"
#: Virtual seconds within which the switch must stand.
PATIENCE_S = 20.0


class SimpleSwitch:
    """BMv2 with a program.

    Parameters
    ----------
    install : dict
        ``switch`` is the path of ``simple_switch``, ``cli`` the command of its control, ``environment`` has variables
        with which they find their libraries and modules.
    program : str
        The compiled program.
    interfaces : iterable of (str, int)
        Interfaces and their port numbers.

    Raises
    ------
    RuntimeError
        It does not start; the message has its own words.
    """

    def __init__(self, install: dict[str, Any], program: str, interfaces: Iterable[tuple[str, int]]) -> None:
        words = [install["switch"], "--thrift-port", str(THRIFT_PORT), "--log-level", LEVEL]
        environment = {**os.environ, **install["environment"]}
        for interface, number in interfaces:
            words += ["-i", f"{number}@{interface}"]
        be_exact()
        _sleep_to_whole_us()
        with open(LOG, "wb") as log:
            self.process = subprocess.Popen(
                [*words, program], env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        self._wait()
        self.control = Control(install["cli"], environment, THRIFT_PORT, self.check)

    def check(self) -> None:
        """Raise RuntimeError, with the switch's own words, if it is not running."""
        status = self.process.poll()
        if status is None:
            return
        how = f"was ended by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"
        with open(LOG, errors="replace") as file:
            words = [line.strip() for line in file if line.strip() and not line.startswith("Calling target")]
        raise RuntimeError(f"simple_switch {how}" + (f": {' / '.join(words[-5:])}" if words else ""))

    def began(self) -> int:
        """Return the CLOCK_MONOTONIC at which the switch began to count, to the ns.

        The switch tells whole us. The instant in between at which its count goes up is searched for by halves.
        """
        sleep_until(time.monotonic_ns() + 1_000_000)  # after much work at one instant, readings of the clock cost time
        now = time.monotonic_ns()
        base = now - self._elapsed() * 1000  # it began at most 999 ns before
        low, high = 0, 1000
        while high - low > 1:
            middle = (low + high) // 2
            # if it began at base - middle or before, this is when its count goes up, or after
            target = base - middle + ((time.monotonic_ns() - base) // 1000 + 5000) * 1000
            sleep_until(target)
            late = time.monotonic_ns() - target
            if late:
                raise RuntimeError(f"a timer of the guest came {late} ns late")
            if self._elapsed() >= (target - base + middle) // 1000:
                low = middle
            else:
                high = middle
        return base - low

    def _elapsed(self) -> int:
        return int(self.control.tell("get_time_elapsed").split()[-1])

    def _wait(self) -> None:
        """Wait until the switch takes commands."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            self.check()
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", THRIFT_PORT)) == 0:
                    return
            if time.monotonic() > deadline:
                self.process.kill()
                raise RuntimeError(f"simple_switch takes no commands after {PATIENCE_S:g} s")
            time.sleep(0.01)


def _sleep_to_whole_us() -> None:
    """Sleep until a whole us of CLOCK_MONOTONIC, the same to the ns.

    The switch's clock counts us from its start: if that is a whole one, the scenario's start will be a whole one too.
    Before the first tick of the kernel, which set-ups with little to do come before, timers are not exact yet.
    """
    for _ in range(100):
        instant = (time.monotonic_ns() // 1000 + 10) * 1000
        sleep_until(instant)
        if time.monotonic_ns() == instant:
            return
    raise RuntimeError("timers of the guest are not exact")
