# SPDX-License-Identifier: Apache-2.0
"""Frames that go round in a circle: who can cause that, and after how many switches it is an error."""

from __future__ import annotations

from typing import Any

from rdcnlab.engines.network import Network

#: How often a frame may pass each switch, on the average, if a program of the user's decides; and the least number of
#: switches that it may pass. Such a storm grows with every round, so a higher limit takes much longer.
ROUNDS, LEAST_PASSED = 4, 16
#: ns for which the count of a frame is remembered that a program forwards. It takes no virtual time for that, unless it
#: sleeps.
TRAIL_NS = 10_000_000


def decides(network: Network, switch: int) -> bool:
    """Return whether a program of the user's decides about all frames at a switch."""
    if network.kinds[switch] == "ovs":
        return network.switch.controller is not None
    return switch in network.pipelines and network.pipelines[switch].program is not None


def settings(network: Network) -> dict[str, Any]:
    """Return the part of a switch's plan about circles.

    Our own rules make frames circle only for a while, where switches change late. So there is a limit only where a
    program of the user's decides and no switch is late. Elsewhere frames are counted, which explains a full trace.
    """
    own = any(decides(network, switch) for switch in range(len(network.switches)))
    late = any(node.late or node.jitter for node in network.nodes)
    return {"hops_max": max(LEAST_PASSED, ROUNDS * len(network.switches))} if own and not late else {}
