# SPDX-License-Identifier: Apache-2.0
"""What runs inside the guest: build the network, let the flows run, hand back what was seen.

Started by ``tools/init.c`` as ``main.py RUN_DIRECTORY``. It reads ``plan.json``, which `rdcnlab.engines.kernel.plan`
wrote, and uses the standard library and Mininet only: an import costs much in User-Mode Linux.

``outcome.json`` is written last and says how it went. A run without it did not end by itself.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from typing import Any

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import probes
import traffic
from topology import Testbed


def run(plan: dict[str, Any], directory: str) -> None:
    """Run a plan to its end; results are files in `directory`."""
    testbed = Testbed(plan)
    try:
        testbed.start()
        for host, line in plan["before"]:
            testbed.hosts[host].cmd(line)
        probes.start(plan["probes"])
        traffic.run(plan, testbed, directory)
        probes.collect(plan["probes"], directory)
        with open(os.path.join(directory, "switch.json"), "w") as file:
            json.dump(testbed.counters(), file)
        answers = [testbed.hosts[host].cmd(line) for host, line in plan["commands"]]
        with open(os.path.join(directory, "commands.json"), "w") as file:
            json.dump(answers, file)
    finally:
        testbed.stop()


def main(directory: str) -> int:
    """Run, and say how it went in ``outcome.json``."""
    outcome: dict[str, Any] = {"ok": True}
    try:
        with open(os.path.join(directory, "plan.json")) as file:
            plan = json.load(file)
        run(plan, directory)
    except BaseException as error:  # noqa: BLE001  whatever it was, the host has to learn of it
        traceback.print_exc()
        outcome = {"ok": False, "error": f"{type(error).__name__}: {error}"}
    part = os.path.join(directory, "outcome.part")
    with open(part, "w") as file:
        json.dump(outcome, file)
    os.rename(part, os.path.join(directory, "outcome.json"))
    sys.stdout.flush()
    sys.stderr.flush()
    # PID 1 halts the machine: no need for the interpreter to take itself apart first
    os._exit(0 if outcome["ok"] else 1)


if __name__ == "__main__":
    main(sys.argv[1])
