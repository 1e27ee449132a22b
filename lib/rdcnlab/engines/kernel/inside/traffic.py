# SPDX-License-Identifier: Apache-2.0
"""Let the flows of a plan run; ``tools/traffic.c`` does the work."""

from __future__ import annotations

import os
import subprocess
from typing import Any

TOOL = "/proc/1/exe"


def run(plan: dict[str, Any], testbed: Any, directory: str) -> None:
    """Start the switch's timetable and the flows at their instants and wait for the last one."""
    testbed.switch.start_timetable(plan["epoch_ns"])
    lines = [f"seed {plan['seed']}", f"ready {plan['ready_ns']}", f"limit {plan['limit_ns']}"]
    for flow in plan["flows"]:
        lines.append(
            f"flow {flow['name']} {testbed.pid(flow['src'])} {testbed.pid(flow['dst'])} {flow['dst_ip']} "
            f"{flow['port']} {flow['cc']} {flow['size']} {flow['start_ns']}"
        )
    path = os.path.join(directory, "traffic.txt")
    with open(path, "w") as file:
        file.write("\n".join(lines) + "\n")
    done = subprocess.run(
        [TOOL, "traffic", path, os.path.join(directory, "flows.jsonl")], stderr=subprocess.PIPE, text=True
    )
    if done.returncode:
        raise RuntimeError(done.stderr.strip() or f"the traffic tool ended with status {done.returncode}")
