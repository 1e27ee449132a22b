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

#: Thrift port of the first switch of a network; the others have the following ports.
THRIFT_PORT = 9090
#: Level of BMv2's own log. As distributed, BMv2 formats a log line at each step of a packet, even if nobody reads it;
#: this is most of the cost of a packet. Errors when it loads a program are printed even with this level.
LEVEL = "off"
#: Virtual seconds within which the switch must be ready.
PATIENCE_S = 20.0
#: Where BMv2 publishes its notifications: inside its own process, because nobody reads them. By default, BMv2 makes a
#: socket in /tmp for them and ends if it cannot; in a guest, /tmp is the host's and cannot be written.
NOTIFICATIONS = "inproc://notifications"


class SimpleSwitch:
    """A running BMv2 with a program.

    Parameters
    ----------
    install : dict
        ``switch`` is the path of ``simple_switch``, ``notifies`` says whether it has notifications, ``cli`` is the
        command of its control, ``environment`` has the variables with which both find their libraries and modules.
    program : str
        Path of the compiled program.
    interfaces : iterable of (str, int)
        Names of interfaces and their port numbers.
    number : int
        Number of the switch in the network.

    Raises
    ------
    RuntimeError
        The switch does not start. The message has the switch's own output.
    """

    def __init__(
        self, install: dict[str, Any], program: str, interfaces: Iterable[tuple[str, int]], number: int = 0
    ) -> None:
        self.thrift_port, self.log = THRIFT_PORT + number, f"/run/bmv2-{number}.log"
        words = [install["switch"], "--thrift-port", str(self.thrift_port), "--log-level", LEVEL]
        if install["notifies"]:
            words += ["--notifications-addr", NOTIFICATIONS]
        environment = {**os.environ, **install["environment"]}
        for interface, number in interfaces:
            words += ["-i", f"{number}@{interface}"]
        be_exact()
        _sleep_to_whole_us()
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [*words, program], env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        self._wait()
        self.control = Control(install["cli"], environment, self.thrift_port, self.check)

    def check(self) -> None:
        """Raise RuntimeError with the switch's own output if it is not running."""
        status = self.process.poll()
        if status is None:
            return
        how = f"was ended by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"
        with open(self.log, errors="replace") as file:
            words = [line.strip() for line in file if line.strip() and not line.startswith("Calling target")]
        raise RuntimeError(f"simple_switch {how}" + (f": {' / '.join(words[-5:])}" if words else ""))

    def began(self) -> int:
        """Return CLOCK_MONOTONIC in ns at which the switch's clock was 0.

        The switch shows whole us only. A binary search finds the ns at which its clock advances.
        """
        sleep_until(time.monotonic_ns() + 1_000_000)  # after much work at one instant, clock readings would cost time
        now = time.monotonic_ns()
        base = now - self._elapsed() * 1000  # the switch's clock was 0 at most 999 ns before this
        low, high = 0, 1000
        while high - low > 1:
            middle = (low + high) // 2
            # if it was 0 at base - middle or earlier, it has advanced by this time
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
        """Wait until the switch accepts commands."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            self.check()
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.thrift_port)) == 0:
                    return
            if time.monotonic() > deadline:
                self.process.kill()
                raise RuntimeError(f"simple_switch takes no commands after {PATIENCE_S:g} s")
            time.sleep(0.01)


def _sleep_to_whole_us() -> None:
    """Sleep until exactly a whole us of CLOCK_MONOTONIC.

    The switch's clock counts us from its start. If the switch starts at a whole us, the scenario also starts at a whole
    us of the switch's clock. Timers are not exact before the first tick of the kernel, and a short set-up ends before
    this tick; therefore this tries again.
    """
    for _ in range(100):
        instant = (time.monotonic_ns() // 1000 + 10) * 1000
        sleep_until(instant)
        if time.monotonic_ns() == instant:
            return
    raise RuntimeError("timers of the guest are not exact")
