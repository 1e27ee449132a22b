# SPDX-License-Identifier: Apache-2.0
"""The plan of a switch ``ocs``, in the format of our kernel; our models of ns-3 read it, too."""

from __future__ import annotations

from typing import Any

from rdcnlab.engines.network import Network, lines
from rdcnlab.engines.network.ocs import notifications
from rdcnlab.engines.network.ocs.classes import classes
from rdcnlab.engines.network.ocs.rules import rules


def device(network: Network, switch: int) -> dict[str, Any]:
    """Return the plan of one switch, by its number; in ns, bit/s and bytes."""
    return {
        "kind": "ocs",
        "name": network.switches[switch],
        "links": [lines.line(network, line) for line in network.lines_at(switch)],
        "pools": lines.pools(network),
        "ports": [lines.port(network, station) for station in network.stations_at(switch)],
        "trunks": [
            port
            for trunk in network.trunks
            for number, port in zip(trunk.switches, trunk.ports, strict=True)
            if number == switch
        ],
        # the port for each host's MAC address, the host's own or the trunk on the way to the host's switch; and the
        # address that rules ask about
        "fdb": [
            [station.mac, station.interface if line is None else line.trunk or "", station.ip]
            for station, line in network.reached(switch)
        ],
        "classes": classes(network, switch),
        "rules": rules(network, switch),
        "notify": notifications.notifications(network, switch),
        # seed of random early drop; every queue draws its own random numbers
        "seed": network.seed,
    }
