# SPDX-License-Identifier: Apache-2.0
"""Three scenarios that have the shapes of our longest runs, and the processor time that a packet takes in them."""

from __future__ import annotations

import resource
import tempfile
from pathlib import Path
from typing import Any

from rdcnlab.engines.kernel import KernelEngine
from rdcnlab.scenario import Scenario
from rdcnlab.scenario.flow import ENDLESS
from rdcnlab.scenario.presets import preset

#: Payload of a packet of 1500 B with time stamps.
MSS = 1448
#: No records of single packets: they cost time that a long run does not spend.
PROBES: dict[str, Any] = {"tcp": "none", "bin": "100 ms"}


def shapes() -> dict[str, Scenario]:
    """Return the scenarios by name.

    Returns
    -------
    dict of str to Scenario
        ``groups``: 20 groups of 9 flows behind slow lines, which move together between two paths. ``switches``: two
        switches, 8 flows that change between two links of 10 Gb/s. ``queue``: 200 flows of two hosts in one queue.
    """
    moved = {"path": [["400 ms", "short"], ["400 ms", "long"]], "back": "same"}
    wide = preset("carpa")
    groups = {
        "network": {**wide.fabric, "rtts": [f"{5 * n} ms" for n in range(1, 21)], "extra": "50 ms"},
        "flows": [
            {"name": f"g{group}-{n}", "src": f"s{group}", "dst": f"r{group}", "size": ENDLESS, **moved}
            for group in range(1, 21)
            for n in range(1, 10)
        ],
        "limit": "3 s",
        "probes": {**PROBES, "count": ["short", "long"]},
        **wide.scenario,
    }
    ways = {"f": [["50 ms", "l_n"], ["50 ms", "l_m"]], "g": [["50 ms", "l_m"], ["50 ms", "l_n"]]}
    switches = {
        "network": "two-switches",
        "flows": [
            {"name": f"{name}{n}", "src": f"s{k}", "dst": f"r{k}", "size": ENDLESS, "path": way, "back": "same"}
            for k, (name, way) in enumerate(ways.items(), 1)
            for n in range(1, 5)
        ],
        "limit": "300 ms",
        "probes": PROBES,
    }
    queue = {
        "network": {"fabric": "dumbbell", "rate": "12.5 Gb/s", "host_rate": "25 Gb/s", "delay": "50 us"},
        "flows": [
            {"name": f"f{n}", "src": f"s{1 + n % 2}", "dst": f"r{1 + n % 2}", "size": ENDLESS} for n in range(200)
        ],
        "limit": "300 ms",
        "jitter": {"start": "10 ms"},
        "probes": PROBES,
    }
    scenarios = {"groups": groups, "switches": switches, "queue": queue}
    return {name: Scenario.from_dict(data) for name, data in scenarios.items()}


def processor_time(scenario: Scenario, core: int) -> tuple[float, float]:
    """Run a scenario, and return its processor time and its number of packets.

    Parameters
    ----------
    scenario : Scenario
        The scenario, of the kernel engine.
    core : int
        Core that the guest is pinned to.

    Returns
    -------
    float
        Processor time of the guest in s, which other work on the core changes less than wall-clock time.
    float
        Number of data packets that receivers got in order.
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as name:
        tables = KernelEngine(scenario).run(Path(name), core=core, wall_limit_s=600).tables
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, sum(tables["flows"].column("received_B").to_pylist()) / MSS
