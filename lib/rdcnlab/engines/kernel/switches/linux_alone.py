# SPDX-License-Identifier: Apache-2.0
"""``linux`` in a network that names no switch: a bridge with queues of ``tc``; it shows a scenario without our switch.

This is an exception to the rule that lines are the kernel's, whatever the switch: not even lines are ours here.
"""

from __future__ import annotations

from typing import Any

from rdcnlab.engines.kernel.switches import own_lines
from rdcnlab.engines.kernel.switches.kind import Kind
from rdcnlab.engines.network import Network, lines
from rdcnlab.fields.errors import InputError
from rdcnlab.scenario import BYPASS, Host, Port


class LinuxAlone(Kind):
    """A Linux bridge with queues of ``tc``."""

    name = "linux"
    reader = "rdcnlab.engines.kernel.switches.linux_alone"
    events = ()
    places = ""

    def check(self, network: Network, switch: int) -> None:  # noqa: ARG002
        """Raise InputError if the scenario asks for something that a bridge cannot do; see `Kind`."""
        own_lines.check_unscheduled(network)
        own_lines.check_plain(network, self.name)
        for flow in network.traffic.flows:
            if flow.path != BYPASS:
                raise InputError.of(f"{flow.where}.path", flow.path, "bypass, with a Linux bridge as switch")

    def device(self, network: Network, switch: int) -> dict[str, Any]:
        """Return each host's line and its queue; the receiver's line has the delay of both cables; see `Kind`."""
        ports = [
            {
                "host": station.label,
                "mac": station.mac,
                "rate": station.host.rate,
                "delay_ns": 2 * station.host.delay,
                "overhead": lines.overhead(network),
                "queue_packets": _packets(station.host, network.mtu),
            }
            for station in network.stations.values()
        ]
        return {"kind": "linux", "name": network.switches[switch], "ports": ports}


def _packets(host: Host, mtu: int) -> int:
    """Return the limit of the port to a host in packets, because ``tc`` keeps the queue and the delay in one place.

    If the scenario states nothing about the port, it is the limit of the host's own queue: old scenarios keep their
    bytes.
    """
    limit = host.queue if host.port == Port() else host.port.buffer
    if limit is None:
        return 2**31 - 1
    return limit.packets or max(1, (limit.bytes or 0) // mtu)


KIND = LinuxAlone()
