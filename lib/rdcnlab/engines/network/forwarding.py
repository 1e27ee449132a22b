# SPDX-License-Identifier: Apache-2.0
"""The behaviour of one of several switches, in terms that all kinds share: matches, lines and times.

A kind translates an `Entry` into its own form: a rule and a class, entries of a P4 table, filters of ``tc``. Packets of
no flow follow `addresses`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass

from rdcnlab.engines.network import Station, Wiring, mptcp
from rdcnlab.engines.network.graph import Way, all_ways, default_line
from rdcnlab.engines.network.numbers import IP_PROTOCOL, TARGET
from rdcnlab.scenario import BYPASS, DARK, Scenario


@dataclass(frozen=True)
class Match:
    """The packets of a flow in one direction.

    Parameters
    ----------
    flow : int
        Index of the flow. A smaller number has priority.
    source : Station or None
        The sender, if it is at this switch: packets must come from it. None: they come from another switch.
    receiver : Station
        The receiver, here or elsewhere.
    protocol : int
        Protocol number of IP.
    field : {'sport', 'dport'}
        The port that is the flow's own: that of the destination for data, that of the source for ACKs.
    port : int
        Its value.
    subflow : str or None
        With MPTCP, the address of the flow's receiver that names the subflow: data go to it, ACKs come from it.
    """

    flow: int
    source: Station | None
    receiver: Station
    protocol: int
    field: str
    port: int
    subflow: str | None = None


@dataclass(frozen=True)
class Entry:
    """The targets and times of one way's packets at a switch.

    Parameters
    ----------
    number : int
        Number of the class in tables.
    way : Way
        The way.
    matches : tuple of Match
        Its packets: one match for each flow.
    targets : tuple of int
        Where packets go in each slot: a line by its number, or one of `TARGET`.
    durations : tuple of int
        ns of each slot. The slots repeat for ever; a single slot never ends.
    phase : int
        ns after the scenario's start at which the first slot begins. It is in force before, too.
    """

    number: int
    way: Way
    matches: tuple[Match, ...]
    targets: tuple[int, ...]
    durations: tuple[int, ...]
    phase: int


def entries(scenario: Scenario, wiring: Wiring, switch: int) -> Iterator[Entry]:
    """Yield the entry of each way for which a switch chooses a target."""
    name = wiring.switches[switch]
    for way in all_ways(scenario):
        if name not in way.steps:
            continue
        step = way.steps[name]
        targets = tuple(target_of(wiring, switch, target) for target in step.targets)
        durations = step.durations
        if not way.needs_class(name):
            targets, durations = targets[:1], (0,)
        matched = tuple(matches(scenario, wiring, switch, way))
        yield Entry(class_of(wiring, switch, way), way, matched, targets, durations, step.phase)


def matches(scenario: Scenario, wiring: Wiring, switch: int, way: Way) -> Iterator[Match]:
    """Yield the packets of a way, as a switch sees them."""
    for place, back in way.flows:
        flow = scenario.flows[place]
        first, last = (flow.dst, flow.src) if back else (flow.src, flow.dst)
        source = wiring.stations[first]
        match = Match(
            flow=place,
            source=source if source.switch == switch else None,
            receiver=wiring.stations[last],
            protocol=IP_PROTOCOL[flow.protocol],
            field="sport" if back else "dport",
            port=wiring.ports[flow.name],
        )
        if flow.protocol != "mptcp":
            yield match
            continue
        ip = wiring.stations[flow.dst].ip
        for subflow in range(scenario.subflows(flow)) if way.part is None else (way.part,):
            yield dataclasses.replace(match, subflow=mptcp.address(scenario, ip, subflow))


def class_of(wiring: Wiring, switch: int, way: Way) -> int:
    """Return the number of the class of a way at a switch."""
    name = wiring.switches[switch]
    if not way.needs_class(name):
        link = way.steps[name].targets[0]
        return wiring.static[wiring.line(switch, link or "").number]
    if way.schedule is not None:
        return wiring.shared[switch, way.schedule.name]
    place, back = way.flows[0]
    return wiring.own[switch, place, back]


def target_of(wiring: Wiring, switch: int, target: str | None) -> int:
    """Return the number of a target at a switch: a link, "" for the receiver, None for the dark."""
    if not target:
        return TARGET[DARK if target is None else BYPASS]
    return wiring.line(switch, target).number


def addresses(scenario: Scenario, wiring: Wiring, switch: int) -> Iterator[tuple[Station, int | None]]:
    """Yield each host that a switch can reach, with the line of the shortest way to it; None if the host is here."""
    for station in wiring.stations.values():
        if station.switch == switch:
            yield station, None
        elif scenario.network.graph.distance(wiring.switches[switch], wiring.switches[station.switch]) is not None:
            yield station, default_line(scenario, wiring, switch, wiring.switches[station.switch]).number
