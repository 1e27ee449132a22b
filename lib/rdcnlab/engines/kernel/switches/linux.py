# SPDX-License-Identifier: Apache-2.0
"""``linux``: a bridge of Linux, whose filters of ``tc`` know ways; its lines are the kernel's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rdcnlab.engines.kernel.switches import panel
from rdcnlab.engines.kernel.switches.kind import Kind
from rdcnlab.engines.network import Network
from rdcnlab.engines.network.forwarding import Entry, Match


class Linux(Kind):
    """A Linux bridge behind a panel, where filters of ``tc`` know ways."""

    name = "linux"
    reader = "rdcnlab.engines.kernel.switches.linux"

    def check(self, network: Network, switch: int) -> None:
        """Raise InputError if the scenario asks for something that only ``ocs`` can do; see `Kind`."""
        panel.check(network, switch, self.name)

    def device(self, network: Network, switch: int) -> dict[str, Any]:
        """Return the plan of a bridge; see `Kind`."""
        around = panel.plan(network, switch)
        return {
            **panel.common("linux", network, switch, around),
            "fdb": panel.addresses(network, switch),
            "entries": [
                {
                    "durations": entry.durations,
                    "phase_ns": entry.phase,
                    "filters": [_filter(switch, entry, match) for match in entry.matches],
                }
                for entry in network.entries[switch]
            ],
        }

    def slots(self, network: Network, switch: int, counters: Mapping[str, Any]) -> Sequence[tuple[int, int, int, int]]:
        """Return when the bridge changed its filters; see `Kind`."""
        entries = network.entries[switch]
        return [
            (since, entries[entry].number, index, entries[entry].targets[index])
            for since, entry, index in counters["slots"]
        ]


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
