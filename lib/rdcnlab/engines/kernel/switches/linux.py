# SPDX-License-Identifier: Apache-2.0
"""``linux``: a bridge with queues of ``tc``; it shows a scenario without our switch."""

from __future__ import annotations

from typing import Any

from rdcnlab.engines.kernel.switches import lines
from rdcnlab.engines.kernel.switches.kind import Kind
from rdcnlab.engines.kernel.wiring import Wiring
from rdcnlab.fields.errors import InputError
from rdcnlab.scenario import BYPASS, Scenario


class Linux(Kind):
    """A Linux bridge as the switch."""

    name = "linux"

    def check(self, scenario: Scenario) -> None:
        """Raise InputError if the scenario asks for something that a bridge cannot do; see `Kind`."""
        super().check(scenario)
        for number, flow in enumerate(scenario.flows):
            if flow.path != BYPASS:
                raise InputError.of(f"flows[{number}].path", flow.path, "bypass, with a Linux bridge as switch")

    def devices(self, scenario: Scenario, wiring: Wiring) -> list[dict[str, Any]]:
        """Return each host's line and its queue; the receiver's line has the delay of both cables."""
        network = scenario.network
        ports = [
            {
                "host": host.name,
                "mac": wiring.stations[host.name].mac,
                "rate": host.rate,
                "delay_ns": 2 * host.delay,
                "overhead": lines.overhead(scenario),
                "queue_packets": host.queue.packets or max(1, (host.queue.bytes or 0) // network.mtu),
            }
            for host in network.hosts
        ]
        return [{"kind": "linux", "name": wiring.switches[0], "ports": ports}]


KIND = Linux()
