# SPDX-License-Identifier: Apache-2.0
"""Addresses that stand for ways: what switches need to know of more flows than they have rules.

A switch tells flows apart by their ports, with a rule for each flow. Where that would be too many rules, hosts have
several addresses, one for each of the equally short ways between two switches, and a flow has the address of its way:
its packets go to the receiver's address, and its ACKs to the sender's. A rule for a pair of switches and a way then
does for all flows that take it. Numbers of ways are in the third byte of an address, above the number of the host.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rdcnlab.engines.network.addresses import prefix

if TYPE_CHECKING:
    from rdcnlab.engines.network import Network

#: Ways between two switches, at most: their number and the two upper bits of a host's number share a byte.
MOST_WAYS = 64
_HOST_BITS = 2


@dataclass(frozen=True)
class Aliases:
    """The numbers of ways, by the flow's index and whether it is its way back."""

    ways: Mapping[tuple[int, bool], int]

    @functools.cached_property
    def used(self) -> list[int]:
        """The numbers besides 0, whose addresses hosts have anyway."""
        return sorted(set(self.ways.values()) - {0})

    def address(self, network: Network, flow: int, *, back: bool) -> str:
        """Return the address that packets of a flow in one direction go to."""
        traffic = network.scenario.traffic[flow]
        return of_way(network.stations[traffic.src if back else traffic.dst].ip, self.ways[flow, back])


def of_way(ip: str, way: int) -> str:
    """Return a host's address for a way, from its first address.

    Examples
    --------
    >>> of_way("10.3.0.7", 5), of_way("10.3.1.7", 5)
    ('10.3.20.7', '10.3.21.7')
    """
    words = ip.split(".")
    words[2] = str(int(words[2]) | way << _HOST_BITS)
    return ".".join(words)


def prefix_of(part: int, way: int) -> str:
    """Return the prefix of the addresses of all hosts of a switch for a way.

    Examples
    --------
    >>> prefix_of(3, 5)
    '10.3.20.0/22'
    """
    return f"10.{part}.{way << _HOST_BITS}.0/{24 - _HOST_BITS}"


def aliases(network: Network) -> Aliases | None:
    """Return the numbers of all ways; None if flows do more than take one of several constant ways."""
    scenario = network.scenario
    if not network.is_named or scenario.programs or scenario.network.optics is not None or network.classes.ends:
        return None
    known: dict[tuple[str, str], dict[object, int]] = {}
    found: dict[tuple[int, bool], int] = {}
    for way in network.ways:
        if way.schedule is not None or any(way.needs_class(name) for name in way.steps):
            return None
        of_pair = known.setdefault((way.route.first, way.route.last), {})
        number = of_pair.setdefault(way.route.ways, len(of_pair))
        if number >= MOST_WAYS:
            return None
        found |= dict.fromkeys(way.flows, number)
    return Aliases(found)


def rules_of_ways(network: Network, switch: int, chosen: Aliases, prio: int) -> list[dict[str, object]]:
    """Return the rules of a switch for all flows: one for each switch that it reaches, or for each pair and way."""
    name = network.switches[switch]
    numbers = {switch: number for number, switch in enumerate(network.switches)}
    targets: dict[str, dict[tuple[str, int], int]] = {}
    for way in network.ways:
        if name in way.steps:
            line = network.line(switch, way.steps[name].targets[0] or "")
            of_last = targets.setdefault(way.route.last, {})
            of_last[way.route.first, chosen.ways[way.flows[0]]] = network.classes.static[line.number]
    found: list[dict[str, object]] = []
    for last, of_last in targets.items():
        if len(set(of_last.values())) == 1:
            found.append({"class_id": next(iter(of_last.values())), "prio": prio, "dst": prefix(numbers[last])})
            continue
        found += [
            {"class_id": target, "prio": prio, "src": prefix(numbers[first]), "dst": prefix_of(numbers[last], way)}
            for (first, way), target in of_last.items()
        ]
    return found
