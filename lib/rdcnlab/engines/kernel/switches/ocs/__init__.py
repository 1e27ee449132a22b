# SPDX-License-Identifier: Apache-2.0
"""``ocs``: the time-scheduled circuit switch of our kernel, alone or as one of several."""

from __future__ import annotations

from typing import Any

from rdcnlab.engines.kernel.switches import lines
from rdcnlab.engines.kernel.switches.kind import Kind
from rdcnlab.engines.kernel.switches.ocs import classes, hops, told
from rdcnlab.engines.kernel.wiring import Line, Wiring
from rdcnlab.engines.kernel.wiring.numbers import PORT_LINK
from rdcnlab.scenario import Scenario


class Ocs(Kind):
    """The circuit switch in the kernel."""

    name = "ocs"
    graphs = True
    schedules = True
    events = ("ocs_dequeue", "ocs_drop", "ocs_mark", "ocs_slot", "ocs_enqueue")
    # the line from a host to the switch matches neither condition
    places = f"(link <= 1023 || link >= {PORT_LINK})"

    def devices(self, scenario: Scenario, wiring: Wiring) -> list[dict[str, Any]]:
        """Return the plan of each switch; see `Kind`."""
        return [_device(scenario, wiring, number) for number in range(len(wiring.switches))]

    def sysctls(self, scenario: Scenario) -> dict[str, str]:
        """Return the sysctls that hosts need for the switch's time-division networks."""
        return told.sysctls(scenario)


def _device(scenario: Scenario, wiring: Wiring, switch: int) -> dict[str, Any]:
    network = scenario.network
    pools = {pool.name: number for number, pool in enumerate(network.pools)}
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
        "links": [_line(scenario, line, pools) for line in wiring.lines if line.switch == switch],
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


def _line(scenario: Scenario, line: Line, pools: dict[str, int]) -> dict[str, Any]:
    link = line.link
    words: dict[str, Any] = {
        "id": line.number,
        "rate": 0 if line.optical else link.rate,
        "delay": link.delay,
        "overhead": lines.overhead(scenario),
        "queue": {} if line.optical else lines.queue(link, scenario.switch.ecn_threshold, pools),
    }
    return words if line.trunk is None else words | {"port": line.trunk}


KIND = Ocs()
