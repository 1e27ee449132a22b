# SPDX-License-Identifier: Apache-2.0
"""Run the flows of a plan with ``tools/traffic.c``."""

from __future__ import annotations

import binascii
import os
import select
import subprocess
from typing import Any

import circles
from tool import TOOL


def run(plan: dict[str, Any], testbed: Any, directory: str, programs_ended: int | None = None) -> None:
    """Start the switches' timetables and the flows at their times, and wait until the last flow ends.

    With `programs_ended`, flows in the background go on until this descriptor can be read.
    """
    for switch in testbed.switches:
        switch.start_timetable(plan["epoch_ns"])
    for directory_of_flow, size in plan["files"].items():
        os.makedirs(directory_of_flow)
        with open(os.path.join(directory_of_flow, "data"), "wb") as file:
            file.truncate(size)
    for port, packed in plan.get("replays", {}).items():
        with open(f"/run/replay.{port}", "wb") as file:
            file.write(binascii.a2b_base64(packed))
    lines = [f"seed {plan['seed']}", f"ready {plan['ready_ns']}", f"limit {plan['limit_ns']}", f"small {plan['small']}"]
    if programs_ended is not None:
        lines.append("programs")
    for flow in plan["flows"]:
        line = flow["line"]
        places = {"@src": testbed.pid(flow["src"]), "@dst": testbed.pid(flow["dst"]), "@start": flow["start_ns"]}
        for place, value in places.items():
            line = line.replace(place, str(value), 1)
        lines += [*flow.get("order", ()), line]
    path = os.path.join(directory, "traffic.txt")
    with open(path, "w") as file:
        file.write("\n".join(lines) + "\n")
    # The log is a file, because nobody would read a pipe during the wait for two processes. Its name is fixed, because
    # a random name would use random numbers and so change those that the kernel draws later.
    with open(os.path.join(directory, "traffic.log"), "w+") as log:
        watch = circles.Watch() if circles.limited(plan) else None
        words = [TOOL, "traffic", path, os.path.join(directory, "flows.jsonl")]
        tool = subprocess.Popen(words, stdin=programs_ended, stderr=log)
        wait(tool, testbed.switches, watch)
        if watch is not None and watch.seen:
            raise circles.error(testbed)
        if tool.returncode:
            log.seek(0)
            raise RuntimeError(log.read().strip() or f"the traffic tool ended with status {tool.returncode}")


def wait(tool: subprocess.Popen[bytes], switches: list[Any], watch: circles.Watch | None = None) -> None:
    """Wait for the traffic tool; end it if a frame circles.

    Raise an error with the switch's output if a switch that is a process ends before.
    """
    running = _running(switches)
    if not running and watch is None:
        tool.wait()
        return
    done = os.pidfd_open(tool.pid)
    died = {os.pidfd_open(each.process.pid): each for each in running}
    poll = select.poll()
    circling = [] if watch is None else [watch.descriptor]
    for descriptor in (done, *died, *circling):
        poll.register(descriptor, select.POLLIN)
    ready = [descriptor for descriptor, _ in poll.poll()]
    if done not in ready:
        tool.kill()
    tool.wait()
    if done not in ready and any(descriptor in died for descriptor in ready):
        # one process may end because another did, so the order is that of their start
        for each in running:
            each.check()


def _running(switches: list[Any]) -> list[Any]:
    """Return the processes that switches consist of, each once."""
    running = [getattr(switch, "running", []) for switch in switches]
    every = [each for one in running for each in (one if isinstance(one, list) else [one])]
    return list(dict.fromkeys(every))
