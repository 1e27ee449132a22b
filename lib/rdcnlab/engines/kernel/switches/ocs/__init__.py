# SPDX-License-Identifier: Apache-2.0
"""``ocs``: the time-scheduled circuit switch of our kernel, alone or as one of several."""

from __future__ import annotations

from typing import Any

from rdcnlab.engines.kernel.switches import lines
from rdcnlab.engines.kernel.switches.kind import Kind
from rdcnlab.engines.kernel.switches.ocs import classes, hops, told
from rdcnlab.engines.kernel.wiring import Wiring
from rdcnlab.scenario import Scenario


class Ocs(Kind):
    """The circuit switch in the kernel."""

    name = "ocs"
    schedules = True
    writes_versions = True
    events = lines.EVENTS
    places = lines.PLACES

    def device(self, scenario: Scenario, wiring: Wiring, switch: int) -> dict[str, Any]:
        """Return the plan of one switch; see `Kind`."""
        return _device(scenario, wiring, switch)

    def sysctls(self, scenario: Scenario) -> dict[str, str]:
        """Return the sysctls that hosts need for the switch's time-division networks."""
        return told.sysctls(scenario)


def _device(scenario: Scenario, wiring: Wiring, switch: int) -> dict[str, Any]:
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
        "notify": told.notifications(scenario, wiring, switch),
        # seed of random early drop; every queue draws its own random numbers
        "seed": scenario.seed,
    }


KIND = Ocs()
