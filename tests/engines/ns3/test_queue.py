# SPDX-License-Identifier: Apache-2.0
"""The cases of ``queue_cases.json`` in the queue of the ns3 engine; ``ocs/cases.py`` runs them in the kernel."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rdcnlab.engines.ns3 import build, observe, process
from rdcnlab.system import places

CASES = json.loads((places.tree() / "tests" / "queue_cases.json").read_text())["cases"]
#: Reasons of drops by number, as letters of the file.
LOST = {0: "t", 1: "p", 2: "r"}

#: Runs in a process of its own, because a process has one simulator. Its arguments are a job and a directory.
PROGRAM = """
import json, sys
sys.path.insert(0, sys.argv[1])
from world import Lab, queue
job, directory = json.loads(sys.argv[2]), sys.argv[3]
lab, case = Lab(job["libraries"]), job["case"]
count = sum(arrival["count"] for arrival in case["arrivals"])
# no frame is as short as this MTU, so that each is lost at the end of the link
lab.call("begin", directory.encode(), 0, case["seed"], 1, 1, count, 1, 0)
lab.call("host", 1, 10**9, 24, 0, 0)
switch = lab.call("switch")
lab.call("port", switch, 0, 0, 0, 0, 24)
link = case.get("link", 0)
lab.call("link", switch, link, case["rate"], 0, 24)
words = dict(case["queue"])
if "pool" in case:
    lab.call("pool", switch, case["pool"])
    words["pool"] = 0
queue(lab, switch, link, words)
name = 0
for arrival in case["arrivals"]:
    for _ in range(arrival["count"]):
        name += 1
        lab.call("arrival", switch, link, arrival["at"], arrival["length"], arrival["ecn"], name)
lab.call("run", 10**13)
"""


def seen(case: dict[str, Any], directory: Path) -> tuple[str, list[int], list[int]]:
    """Return the fates of all arrivals, the instants at which serialisations begin, and the order of arrivals then."""
    models = build.make()
    libraries = [str(path) for path in (*models.wheel.libraries, models.library)]
    job = json.dumps({"libraries": libraries, "case": case})
    command = [sys.executable, "-I", "-c", PROGRAM, str(process.WORLD.parent), job, str(directory)]
    subprocess.run(command, check=True)
    found = {name: observe.read(directory / f"{name}.records", fields) for name, fields in observe.FIELDS.items()}
    fates = dict.fromkeys(found["came"]["dport"].tolist(), "q")
    fates |= dict.fromkeys(found["marked"]["dport"].tolist(), "m")
    lost = found["dropped"][np.isin(found["dropped"]["reason"], list(LOST))]
    fates |= {name: LOST[reason] for name, reason in zip(lost["dport"].tolist(), lost["reason"].tolist(), strict=True)}
    left = found["left"]
    return "".join(fates[name] for name in sorted(fates)), left["time"].tolist(), left["dport"].tolist()


@pytest.mark.usefixtures("ns3_models")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_queue(case: dict[str, Any], tmp_path: Path) -> None:
    fates, leaves, order = seen(case, tmp_path)
    assert fates == case["fates"]
    assert leaves[: len(case["leaves"])] == case["leaves"]
    assert order == [number for number, fate in enumerate(fates, 1) if fate in "qm"]
