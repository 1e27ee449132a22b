# SPDX-License-Identifier: Apache-2.0
"""The program in the guest: build the network, run the flows, store the results.

``tools/init.c`` starts it as ``main.py RUN_DIRECTORY``. It reads ``plan.json``, which `rdcnlab.engines.kernel.plan`
wrote. It uses the standard library and Mininet only, because imports are slow in User-Mode Linux.

It writes ``outcome.json`` last, with success or error. If this file is missing, the program did not end by itself.
"""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from typing import Any, NoReturn

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import circuits
import ledger
import looking
import pcapng
import probes
import programs
import traffic
from clock import use_time
from topology import Testbed, Unknown


def run(plan: dict[str, Any], directory: str) -> None:
    """Run a plan to its end; the results are files in `directory`."""
    use_time()
    testbed = Testbed(plan)
    try:
        testbed.start()
        for host, line in plan["before"]:
            testbed.hosts[host].cmd(line)
        probes.start(plan["probes"], directory)
        captures = [pcapng.Capture(each, testbed) for each in plan["captures"]]
        followers = probes.followers(plan["probes"], directory)
        own = programs.Programs(plan, testbed, directory) if "programs" in plan else None
        if own is not None:
            own.begin()
        controller = None
        if "circuits" in plan:
            controller = circuits.Controller(plan, testbed.switches, directory, lambda words: finish(directory, words))
            controller.start()
        looker = None
        if "look" in plan:
            looker = looking.Look(plan["look"], testbed, directory, lambda words: finish(directory, words))
            looker.start()
        traffic.run(plan, testbed, directory, None if own is None else own.ended)
        if looker is not None:
            # who looks ends the run; without flows the network goes on until its limit
            looker.join(max(plan["limit_ns"] - time.monotonic_ns(), 0) / 1e9)
        ledger.store(directory)
        if controller is not None:
            controller.stop()
        if own is not None:
            own.end()
        for follower in followers:
            follower.stop()
        for capture in captures:
            capture.store(directory)
        if plan["counters"]:
            counted = {name: probes.counters(testbed.pid(name)) for name in testbed.hosts}
            with open(os.path.join(directory, "counters.json"), "w") as file:
                json.dump(counted, file)
        probes.finish(plan["probes"], directory)
        if own is not None:
            own.keep()
        with open(os.path.join(directory, "switch.json"), "w") as file:
            json.dump(testbed.counters(), file)
        answers = [testbed.hosts[host].cmd(line) for host, line in plan["commands"]]
        with open(os.path.join(directory, "commands.json"), "w") as file:
            json.dump(answers, file)
    finally:
        testbed.stop()


def main(directory: str) -> NoReturn:
    """Run the plan of a directory, and report success or error in ``outcome.json``."""
    outcome: dict[str, Any] = {"ok": True}
    if "RDCN_PROGRAMS" in os.environ:
        # they came with the kernel, and are used in place of the host's, so that every host has the same
        os.environ["PATH"] = os.environ["RDCN_PROGRAMS"] + os.pathsep + os.environ["PATH"]
    try:
        with open(os.path.join(directory, "plan.json")) as file:
            plan = json.load(file)
        run(plan, directory)
    except BaseException as error:  # noqa: BLE001  the host must be informed of any error
        traceback.print_exc()
        words = str(error) if isinstance(error, programs.TooMuch | Unknown) else f"{type(error).__name__}: {error}"
        outcome = {"ok": False, "error": words}
    end(directory, outcome)


def finish(directory: str, words: str | None) -> None:
    """End the run from any thread, with an error if there are words."""
    end(directory, {"ok": True} if words is None else {"ok": False, "error": words})


def end(directory: str, outcome: dict[str, Any]) -> NoReturn:
    """Store the outcome and end the program."""
    part = os.path.join(directory, "outcome.part")
    with open(part, "w") as file:
        json.dump(outcome, file)
    os.rename(part, os.path.join(directory, "outcome.json"))
    sys.stdout.flush()
    sys.stderr.flush()
    # PID 1 halts the machine now, so the interpreter need not clean up
    os._exit(0 if outcome["ok"] else 1)


if __name__ == "__main__":
    main(sys.argv[1])
