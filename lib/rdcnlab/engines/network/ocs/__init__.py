# SPDX-License-Identifier: Apache-2.0
"""The plan of a switch ``ocs``, in the format of our kernel; our models of ns-3 read it, too."""

from __future__ import annotations

from typing import Any

from rdcnlab.engines.network import Wiring, lines
from rdcnlab.engines.network.ocs import classes, hops, notifications
from rdcnlab.scenario import Scenario


def device(scenario: Scenario, wiring: Wiring, switch: int) -> dict[str, Any]:
    """Return the plan of one switch, by its number; in ns, bit/s and bytes."""
    network = scenario.network
    pools = lines.pools(scenario)
    several = bool(network.switches)
    stations = [station for station in wiring.stations.values() if station.switch == switch]
    if several:
        found, rules = hops.classes(scenario, wiring, switch), hops.rules(scenario, wiring, switch)
        addresses = hops.addresses(scenario, wiring, switch)
    else:
        found, rules = classes.classes(scenario, wiring)
        addresses = [[station.mac, station.interface] for station in stations]
    return {
        "kind": "ocs",
        "name": wiring.switches[switch],
        "links": [lines.line(scenario, line) for line in wiring.lines if line.switch == switch],
        "pools": [{"id": pools[pool.name], "bytes": pool.size} for pool in network.pools],
        "ports": [lines.port(scenario, station) for station in stations],
        "trunks": [
            port
            for trunk in wiring.trunks
            for number, port in zip(trunk.switches, trunk.ports, strict=True)
            if number == switch
        ],
        "fdb": addresses,
        "classes": found,
        "rules": rules,
        "notify": notifications.notifications(scenario, wiring, switch),
        # seed of random early drop; every queue draws its own random numbers
        "seed": scenario.seed,
    }
