# SPDX-License-Identifier: Apache-2.0
"""The numbers of a network of several switches; see `rdcnlab.engines.kernel.wiring`."""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass

from rdcnlab.engines.kernel.wiring import Line, Trunk, Wiring, stations
from rdcnlab.engines.kernel.wiring.numbers import FIRST_CLASS, FIRST_PORT
from rdcnlab.fields.errors import InputError
from rdcnlab.scenario import Scenario, Schedule
from rdcnlab.scenario.forwarding import route_of, timetable
from rdcnlab.scenario.routes import Route, Timetable


@dataclass(frozen=True)
class Way:
    """What flows of one direction follow.

    Parameters
    ----------
    flows : tuple of (int, bool)
        Places of the flows, and whether it is their way back.
    schedule : Schedule or None
        What they share; None where it is the timetable, or the static path, of a flow alone.
    route : Route
        Where it leads.
    steps : dict of str to Timetable
        What each switch on it does that has more to do than to deliver to a host of its own.
    """

    flows: tuple[tuple[int, bool], ...]
    schedule: Schedule | None
    route: Route
    steps: dict[str, Timetable]

    def needs_class(self, switch: str) -> bool:
        """Whether a class follows it at a switch; what always takes one line shares the line's."""
        return (self.schedule is not None and switch == self.route.first) or not self.steps[switch].static

    def queues_data(self, switch: str) -> bool:
        """Whether data waits for it at a switch."""
        first = self.schedule is not None and self.schedule.queues and switch == self.route.first
        return first and any(not back for _, back in self.flows)


@functools.lru_cache(maxsize=4)
def all_ways(scenario: Scenario) -> tuple[Way, ...]:
    """Return what flows follow: first the data's, then the ways back.

    Raises
    ------
    InputError
        Flows of one schedule have other switches at their ends.
    """
    found: dict[object, Way] = {}
    for back, (place, flow) in itertools.product((False, True), enumerate(scenario.flows)):
        schedule = scenario.schedule(flow, back=back)
        route = route_of(scenario, flow, back=back)
        key = (place, back) if schedule is None else schedule.name
        if key not in found:
            steps = {
                switch: timetable(scenario, route, switch, every=schedule is not None and switch == route.first)
                for switch in route.switches
                if route.chooses(switch)
            }
            found[key] = Way(((place, back),), schedule, route, steps)
            continue
        known = found[key]
        if (known.route.first, known.route.last) != (route.first, route.last):
            field = f"flows.{flow.name}.{'back' if back else 'path'}"
            allowed = f"flows from {known.route.first} to {known.route.last}, as others of this schedule"
            raise InputError.of(field, str(key), allowed)
        found[key] = Way((*known.flows, (place, back)), schedule, route, known.steps)
    return tuple(found.values())


def begins(scenario: Scenario) -> dict[str, str]:
    """Return the switch at which each schedule begins that flows follow, by its name; nothing with one switch.

    There its class has the schedule's queue and knows which network is active.
    """
    if not scenario.network.switches:
        return {}
    return {way.schedule.name: way.route.first for way in all_ways(scenario) if way.schedule is not None}


def wire(scenario: Scenario) -> Wiring:
    """Return the numbers of everything; a line is named after its link and the switch where packets enter it."""
    network = scenario.network
    number = {node.name: place for place, node in enumerate(network.switches)}
    trunks: dict[tuple[int, int], Trunk] = {}
    for link in network.links:
        if link.between is None:
            continue
        pair = (number[link.between[0]], number[link.between[1]])
        if pair not in trunks and pair[::-1] not in trunks:
            trunks[pair] = Trunk(pair, (f"t{len(trunks)}a", f"t{len(trunks)}b"))
    ports = {pair: trunk.ports[0] for pair, trunk in trunks.items()}
    ports |= {pair[::-1]: trunk.ports[1] for pair, trunk in trunks.items()}
    lines: list[Line] = []
    for link in network.links:
        if link.between is None:
            lines.append(Line(len(lines), link.name, number[link.at or ""], link))
            continue
        for one, other in (link.between, link.between[::-1]):
            optical = network.node(one).optical
            port = ports[number[one], number[other]]
            lines.append(Line(len(lines), f"{link.name}@{one}", number[one], link, port, optical))
    free = itertools.count(FIRST_CLASS)
    static = {line.number: next(free) for line in lines}
    lost = {number[node.name]: next(free) for node in network.switches if node.optical}
    schedules: dict[int, Schedule] = {}
    shared: dict[tuple[int, str], int] = {}
    own: dict[tuple[int, int, bool], int] = {}
    queued: dict[int, Schedule] = {}
    steps = [(way, switch) for way in all_ways(scenario) for switch in way.steps if way.needs_class(switch)]
    # queues of schedules have one range of numbers, which traces ask for
    for way, switch in sorted(steps, key=lambda step: not step[0].queues_data(step[1])):
        chosen = next(free)
        if way.schedule is None:
            place, back = way.flows[0]
            own[number[switch], place, back] = chosen
            continue
        schedules[chosen], shared[number[switch], way.schedule.name] = way.schedule, chosen
        if way.queues_data(switch):
            queued[chosen] = way.schedule
    return Wiring(
        switches=tuple(number),
        stations=stations(scenario, {host.name: number[host.at or ""] for host in network.hosts}),
        lines=tuple(lines),
        trunks=tuple(trunks.values()),
        ports={flow.name: FIRST_PORT + place for place, flow in enumerate(scenario.flows)},
        schedules=schedules,
        own=own,
        shared=shared,
        queued=queued,
        static=static,
        lost=lost,
    )


def default_line(scenario: Scenario, wiring: Wiring, switch: int, last: str) -> Line:
    """Return the line that packets without a rule take from a switch towards another one: the first of the shortest."""
    node = wiring.switches[switch]
    return wiring.line(switch, scenario.network.graph.choices(node, last)[0])
