# SPDX-License-Identifier: Apache-2.0
"""Run commands in a host at one instant, and end the run.

Computation takes no virtual time, so the network stands still while they run, unless a command itself waits.
"""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from collections.abc import Callable
from typing import Any

from clock import be_exact, sleep_until


class Look(threading.Thread):
    """Commands that run at an instant.

    Parameters
    ----------
    plan : dict
        ``host``, ``at_ns`` (CLOCK_MONOTONIC) and ``commands``, lines for a shell.
    testbed : Testbed
        The network with the host.
    directory : str
        Directory for ``look.json``: output with errors, and exit status, of each command; and the instant of the end.
    end : callable
        Ends the run; it does not return.
    """

    def __init__(self, plan: dict[str, Any], testbed: Any, directory: str, end: Callable[[], None]) -> None:
        super().__init__(daemon=True)
        self.plan, self.directory, self.end = plan, directory, end
        self.pid = testbed.pid(plan["host"])

    def run(self) -> None:
        """Wait for the instant, and run the commands."""
        be_exact()
        sleep_until(self.plan["at_ns"])
        found = []
        for line in self.plan["commands"]:
            done = subprocess.run(
                ["mnexec", "-a", str(self.pid), "sh", "-c", line],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                check=False,
            )
            found.append([done.stdout.decode(errors="replace"), done.returncode])
        with open(os.path.join(self.directory, "look.json"), "w") as file:
            json.dump({"answers": found, "end_ns": time.monotonic_ns()}, file)
        self.end()
