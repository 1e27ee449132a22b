# SPDX-License-Identifier: Apache-2.0
"""Rules of an ``ocs`` switch, which assign packets to classes: those of flows, and those for packets of no flow.

What belongs to no flow goes to the host that has its destination MAC address: ``station`` is the address of this host,
whatever address the packet itself goes to. Only so can a host's program make the host a router. Traffic of programs is
a flow of two hosts while it goes to its receiver directly.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rdcnlab.engines.network import Network
from rdcnlab.engines.network.addresses import prefix
from rdcnlab.engines.network.aliases import Aliases, prefix_of
from rdcnlab.engines.network.forwarding import Match
from rdcnlab.engines.network.numbers import MOST_RULES
from rdcnlab.engines.network.optics import Waiting
from rdcnlab.fields.errors import InputError

#: Priority of the rules for packets of no flow; the rules of flows come before. Those for packets of a rack's own hosts
#: come before those for packets on their way.
REST, OWN = 65_000, 64_000


def rules(network: Network, switch: int) -> list[dict[str, Any]]:
    """Return the rules of a switch: for flows in both directions, and for packets of no flow."""
    rest = list(_rest(network, switch))
    if network.aliases is not None:
        return [*_of_ways(network, switch, network.aliases), *rest]
    own = of_flows(network, switch, rest)
    if len(own) + len(rest) > MOST_RULES:
        reason = (
            f"the switch {network.switches[switch]} would need {len(own) + len(rest)} rules, and it can have "
            f"{MOST_RULES}: one for each flow in each direction, where packets of no flow would take another way; "
            "fewer flows, or more switches, need fewer"
        )
        raise InputError.of(
            "flows", f"{len(network.traffic.flows)} flows", f"at most {MOST_RULES} rules", reason=reason
        )
    return [*own, *rest]


def _of_ways(network: Network, switch: int, chosen: Aliases) -> list[dict[str, Any]]:
    """Return the rules of a switch for all flows: one for each switch that it reaches, or for each pair and way."""
    name = network.switches[switch]
    numbers = {switch: number for number, switch in enumerate(network.switches)}
    targets: dict[str, dict[tuple[str, int], int]] = {}
    for way in network.ways:
        if name in way.steps:
            line = network.line(switch, way.steps[name].targets[0] or "")
            of_last = targets.setdefault(way.route.last, {})
            of_last[way.route.first, chosen.ways[way.flows[0]]] = network.classes.static[line.number]
    rules: list[dict[str, Any]] = []
    for last, of_last in targets.items():
        if len(set(of_last.values())) == 1:
            rules.append({"class_id": next(iter(of_last.values())), "prio": OWN, "dst": prefix(numbers[last])})
            continue
        rules += [
            {"class_id": target, "prio": OWN, "src": prefix(numbers[first]), "dst": prefix_of(numbers[last], way)}
            for (first, way), target in of_last.items()
        ]
    return rules


def of_flows(network: Network, switch: int, rest: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rules of flows, in both directions; `rest` are the rules for packets of no flow."""
    # rules of programs, which match addresses only, come before those of the rest
    usual = {} if network.traffic.programs else {rule.get("station"): rule["class_id"] for rule in rest}
    return [
        _rule(entry.number, match)
        for entry in network.entries[switch]
        for match in entry.matches
        # what packets of no flow do anyway needs no rule of its own: thousands of flows have few other rules
        if usual.get(match.receiver.ip) != entry.number or match.subflow is not None
    ]


def _rule(number: int, match: Match) -> dict[str, Any]:
    """Return the rule for the packets of a flow in one direction."""
    rule: dict[str, Any] = {
        "class_id": number,
        "prio": match.flow,
        "proto": match.protocol,
    }
    if match.field:
        rule[match.field] = match.port
    if match.sender is not None:
        rule |= {"src": match.sender, "station": match.receiver.ip}
    if match.to is not None:
        rule["dst"] = match.to
    if match.source is not None:
        rule["in_if"] = match.source.interface
    if match.subflow is not None:
        # only the flow's receiver has an address for each subflow; ACKs come from it
        rule["dst" if match.field == "dport" else "src"] = match.subflow
    return rule


def _rest(network: Network, switch: int) -> Iterator[dict[str, Any]]:
    """Yield the rules for packets of no flow: they take the shortest way to their next station.

    An optical switch loses them.
    """
    static, lost = network.classes.static, network.classes.lost
    for light in network.lights:
        if light.switch == network.switches[switch]:
            port = network.line(switch, light.link).trunk
            yield {"class_id": network.classes.light[switch, light.link], "prio": OWN, "in_if": port}
    if switch in lost:
        yield {"class_id": lost[switch], "prio": REST}
        return
    routed = set()
    for queue in network.waiting:
        if queue.rack != network.switches[switch] or queue.flows:
            continue  # flows that have a queue of their own have rules of their own
        if queue.senders:
            yield from _sprayed(network, switch, queue)
            continue
        last = network.switches.index(queue.last)
        routed.add(last)
        rule = {"class_id": network.classes.shared[switch, queue.schedule.name], "station": prefix(last)}
        if queue.own:
            yield from ({**rule, "prio": OWN, "in_if": one.interface} for one in network.stations_at(switch))
        else:
            yield {**rule, "prio": REST}
    ends = network.classes.ends
    for station, line in network.reached(switch):
        if line is None and station.name in ends:
            yield {"class_id": ends[station.name], "prio": REST, "station": station.ip}
        if line is not None and station.switch not in routed:
            yield {"class_id": static[line.number], "prio": REST, "station": station.ip}


def _sprayed(network: Network, switch: int, queue: Waiting) -> Iterator[dict[str, Any]]:
    """Yield the rules for packets from some racks to all others than this one."""
    rule = {"class_id": network.classes.shared[switch, queue.schedule.name], "prio": OWN}
    for last in network.uplinks:
        if last == queue.rack:
            continue
        to = {**rule, "station": prefix(network.switches.index(last))}
        for sender in queue.senders:
            if sender == queue.rack:
                yield from ({**to, "in_if": one.interface} for one in network.stations_at(switch))
            elif sender != last:
                yield {**to, "src": prefix(network.switches.index(sender))}
