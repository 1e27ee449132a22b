# SPDX-License-Identifier: Apache-2.0
"""Find the circle that frames take.

The ports between switches count how many switches a frame has passed, and keep the highest count. From a switch to the
one before, always by the port with the highest count, the way of a frame leads back to a switch where it has been.
"""

from __future__ import annotations

import os
from typing import Any

import probes

#: Name of the trace instance whose buffer gets an event when a frame has passed too many switches.
INSTANCE = f"{probes.TRACING}/instances/circles"
#: Reason of such a drop, as in the kernel's ``include/uapi/linux/ocs.h``.
DROP_HOPS = 11


def limited(plan: dict[str, Any]) -> bool:
    """Return whether frames end that have passed too many switches, and so the run."""
    return any("hops_max" in switch for switch in plan["switches"]) and bool(plan["trunks"])


class Watch:
    """Knows when a frame has passed too many switches.

    Attributes
    ----------
    descriptor : int
        A file that poll finds readable then.
    """

    def __init__(self) -> None:
        os.mkdir(INSTANCE)
        probes.write(f"{INSTANCE}/options/overwrite", "0")
        # as distributed, poll waits until half of the buffer is full
        probes.write(f"{INSTANCE}/buffer_percent", "0")
        probes.write(f"{INSTANCE}/events/ocs/ocs_drop/filter", f"reason == {DROP_HOPS}")
        probes.write(f"{INSTANCE}/events/ocs/ocs_drop/enable", "1")
        self.descriptor = os.open(f"{INSTANCE}/per_cpu/cpu0/trace_pipe_raw", os.O_RDONLY | os.O_NONBLOCK)

    @property
    def seen(self) -> bool:
        """Whether it has happened."""
        with open(f"{INSTANCE}/per_cpu/cpu0/stats") as file:
            stats = dict(line.split(":", 1) for line in file if ":" in line)
        return bool(int(stats["entries"]) + int(stats["dropped events"]))


def circle(testbed: Any) -> str | None:
    """Return in words by which circle frames go, and how often; None if no frame has passed a switch twice.

    Parameters
    ----------
    testbed : Testbed
        The switches; ``client`` of a switch, or of its panel, reads the counts of its ports.
    """
    highest: dict[str, int] = {}
    home: dict[str, str] = {}
    for switch, plan in zip(testbed.switches, testbed.plan["switches"], strict=True):
        client = switch.client if hasattr(switch, "client") else switch.panel.client
        ports = client.stats()["ports"]
        trunks = plan["trunks"] if "trunks" in plan else plan["panel"]["trunks"]
        home |= dict.fromkeys(trunks, plan["name"])
        highest |= {port: ports[port].get("hops", 0) for port in trunks}
    last = max(highest, key=lambda port: highest[port], default=None)
    least = len(testbed.switches)
    if last is None or highest[last] < least:
        return None
    ends = {port: other for pair in testbed.plan["trunks"] for port, other in (pair, pair[::-1])}
    way, port = [home[last]], last
    while way.count(way[-1]) == 1:
        # what came in by this port was sent by the switch at the other end of its cable
        there = ends[port]
        way.append(home[there])
        came = [each for each in highest if home[each] == way[-1] and highest[each] >= least]
        # frames circle in both directions: a switch seldom sends one back by the cable where it came in
        port = max(came, key=lambda each: (each != there, highest[each]))
    circle = way[way.index(way[-1]) :][::-1]
    return f"{' -> '.join(circle)}; one frame has passed {highest[last]} switches"


def error(testbed: Any) -> RuntimeError:
    """Return the error of a run in which a frame has passed too many switches."""
    return RuntimeError(
        f"frames circle: {circle(testbed)}. Where links form a circle, a controller or a P4 program must forward "
        "frames to broadcast, multicast and unknown addresses along a tree, as the spanning tree protocol finds one; "
        "or the network must have one link less"
    )
