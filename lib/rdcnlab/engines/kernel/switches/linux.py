# SPDX-License-Identifier: Apache-2.0
"""``linux``: a bridge of Linux; it shows a scenario without our switch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rdcnlab.engines.kernel.switches import panel
from rdcnlab.engines.kernel.switches.kind import Kind
from rdcnlab.engines.network import Wiring, forwarding, lines
from rdcnlab.engines.network.forwarding import Entry, Match
from rdcnlab.fields.errors import InputError
from rdcnlab.scenario import BYPASS, Host, Scenario


class Linux(Kind):
    """A Linux bridge: alone with queues of ``tc``, or as one of several switches, where filters of ``tc`` know ways."""

    name = "linux"
    reader = "rdcnlab.engines.kernel.switches.linux"

    def check(self, scenario: Scenario) -> None:
        """Raise InputError if the scenario asks for something that a bridge cannot do; see `Kind`."""
        super().check(scenario)
        lines.check_plain(scenario, self.name)
        for number, flow in enumerate(scenario.flows):
            if flow.path != BYPASS:
                raise InputError.of(f"flows[{number}].path", flow.path, "bypass, with a Linux bridge as switch")

    def check_hop(self, scenario: Scenario, wiring: Wiring, switch: int) -> None:
        """Raise InputError if the scenario asks for something that only ``ocs`` can do; see `Kind`."""
        panel.check(scenario, wiring, switch, self.name)

    def device(self, scenario: Scenario, wiring: Wiring, switch: int) -> dict[str, Any]:
        """Return the plan of a bridge; see `Kind`."""
        return _hop(scenario, wiring, switch) if scenario.network.switches else _alone(scenario, wiring)

    def slots(
        self, scenario: Scenario, wiring: Wiring, switch: int, counters: Mapping[str, Any]
    ) -> Sequence[tuple[int, int, int, int]]:
        """Return when the bridge changed its filters; see `Kind`."""
        entries = list(forwarding.entries(scenario, wiring, switch))
        return [
            (since, entries[entry].number, place, entries[entry].targets[place])
            for since, entry, place in counters["slots"]
        ]


def _alone(scenario: Scenario, wiring: Wiring) -> dict[str, Any]:
    """Return each host's line and its queue; the receiver's line has the delay of both cables."""
    network = scenario.network
    ports = [
        {
            "host": wiring.stations[host.name].label,
            "mac": wiring.stations[host.name].mac,
            "rate": host.rate,
            "delay_ns": 2 * host.delay,
            "overhead": lines.overhead(scenario),
            "queue_packets": _packets(host, network.mtu),
        }
        for host in network.hosts
    ]
    return {"kind": "linux", "name": wiring.switches[0], "ports": ports}


def _packets(host: Host, mtu: int) -> int:
    """Return the limit of the port to a host in packets, because ``tc`` keeps the queue and the delay in one place."""
    limit = host.port.buffer
    if limit is None:
        return 2**31 - 1
    return limit.packets or max(1, (limit.bytes or 0) // mtu)


def _hop(scenario: Scenario, wiring: Wiring, switch: int) -> dict[str, Any]:
    """Return the plan of a bridge that is one of several switches."""
    around = panel.plan(scenario, wiring, switch)
    return {
        **panel.hop("linux", wiring, switch, around),
        "fdb": panel.addresses(scenario, wiring, switch),
        "entries": [
            {
                "durations": entry.durations,
                "phase_ns": entry.phase,
                "filters": [_filter(switch, entry, match) for match in entry.matches],
            }
            for entry in forwarding.entries(scenario, wiring, switch)
        ],
    }


def _filter(switch: int, entry: Entry, match: Match) -> dict[str, Any]:
    """Return the packets of a flow, and the port of each slot."""
    return {
        "prio": match.flow + 1,
        "in_if": None if match.source is None else panel.host_port(match.source),
        "dst": match.receiver.ip,
        "proto": match.protocol,
        "field": match.field,
        "port": match.port,
        "ports": panel.ports(switch, entry.targets, match.receiver),
    }


KIND = Linux()
