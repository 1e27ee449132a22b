# SPDX-License-Identifier: Apache-2.0
"""The numbers of all parts of a network with several switches; see `rdcnlab.engines.network`."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from dataclasses import dataclass

from rdcnlab.engines.network import Line, Trunk, Wiring, mptcp, stations
from rdcnlab.engines.network.numbers import FIRST_CLASS, FIRST_PORT
from rdcnlab.fields.errors import InputError
from rdcnlab.scenario import Scenario, Schedule
from rdcnlab.scenario.forwarding import route_of, route_of_schedule, timetable
from rdcnlab.scenario.routes import Route, Timetable


@dataclass(frozen=True)
class Way:
    """The route that one or more flows follow in one direction.

    Parameters
    ----------
    flows : tuple of (int, bool)
        Index of each flow, and whether the route is its way back. It may be empty: hosts are notified of a schedule
        although subflows follow parts of it only.
    schedule : Schedule or None
        The schedule that the flows share; None for the timetable, or the static path, of a single flow.
    route : Route
        The ways and times of the route.
    steps : dict of str to Timetable
        The timetable of each switch; switches that only deliver to their own host are left out.
    part : int or None
        The only subflow of its flows that follows the route; None: all subflows do.
    echo : str or None
        The switch that sets flags in packets on this route (`Schedule.echo`).
    """

    flows: tuple[tuple[int, bool], ...]
    schedule: Schedule | None
    route: Route
    steps: dict[str, Timetable]
    part: int | None = None
    echo: str | None = None

    def needs_class(self, switch: str) -> bool:
        """Return whether the route needs its own class at a switch; static traffic uses the class of its line."""
        own = self.schedule is not None and switch in (self.route.first, self.echo)
        return own or not self.steps[switch].static

    def queues_data(self, switch: str) -> bool:
        """Return whether data of the route waits in a queue of its schedule at a switch."""
        first = self.schedule is not None and self.schedule.queues and switch == self.route.first
        return first and any(not back for _, back in self.flows)


@functools.lru_cache(maxsize=4)
def all_ways(scenario: Scenario) -> tuple[Way, ...]:
    """Return the ways of all flows: first those of data, then the ways back.

    Raises
    ------
    InputError
        Flows of one schedule begin or end at different switches, or a switch that packets do not pass would have to
        set flags in them.
    """
    found: dict[object, Way] = {}
    for back, (place, flow) in itertools.product((False, True), enumerate(scenario.flows)):
        schedule = scenario.schedule(flow, back=back)
        route = route_of(scenario, flow, back=back)
        if schedule is None:
            found[place, back] = _way(scenario, None, route, ((place, back),))
            continue
        parts = mptcp.followed(scenario, flow, schedule, back=back)
        if schedule.name not in found:
            found[schedule.name] = _way(scenario, schedule, route)
        known = found[schedule.name]
        if (known.route.first, known.route.last) != (route.first, route.last):
            field = f"flows.{flow.name}.{'back' if back else 'path'}"
            allowed = f"flows from {known.route.first} to {known.route.last}, as others of this schedule"
            raise InputError.of(field, schedule.name, allowed)
        for number, part in enumerate(parts):
            if part.name not in found:
                ends = (route.first, route.last)
                found[part.name] = _way(scenario, part, route_of_schedule(scenario, part, ends), part=number)
            followed = found[part.name]
            found[part.name] = dataclasses.replace(followed, flows=(*followed.flows, (place, back)))
    return _echoing(scenario, tuple(found.values()))


def _way(
    scenario: Scenario,
    schedule: Schedule | None,
    route: Route,
    flows: tuple[tuple[int, bool], ...] = (),
    part: int | None = None,
) -> Way:
    steps = {
        switch: timetable(scenario, route, switch, every=schedule is not None and switch == route.first)
        for switch in route.switches
        if route.chooses(switch)
    }
    return Way(flows, schedule, route, steps, part)


def _echoing(scenario: Scenario, ways: tuple[Way, ...]) -> tuple[Way, ...]:
    """Return the ways with the switches that set flags: those where the schedules begin that the flags are about."""
    first = {way.schedule.name: way.route.first for way in ways if way.schedule is not None}
    found = []
    for way in ways:
        if way.schedule is None or way.schedule.echo is None:
            found.append(way)
            continue
        here = first.get(way.schedule.echo.of)
        if here not in way.route.switches:
            known = [name for name, switch in first.items() if switch in way.route.switches]
            allowed = f"a schedule that flows follow and that begins at a switch on this way: {', '.join(known)}"
            raise InputError.of(f"network.schedules.{way.schedule.name}.echo.of", way.schedule.echo.of, allowed)
        step = timetable(scenario, way.route, here, every=here == way.route.first)
        found.append(dataclasses.replace(way, steps={**way.steps, here: step}, echo=here))
    return tuple(found)


def begins(scenario: Scenario) -> dict[str, str]:
    """Return the switch at which each schedule begins that flows follow, by its name; nothing with one switch.

    There its class has the schedule's queue and knows which network is active.
    """
    if not scenario.network.switches:
        return {}
    return {way.schedule.name: way.route.first for way in all_ways(scenario) if way.schedule is not None}


def wire(scenario: Scenario) -> Wiring:
    """Return the numbers of all parts; the name of a line is its link and the switch where packets enter it."""
    network = scenario.network
    number = {node.name: place for place, node in enumerate(network.switches)}
    trunks: dict[tuple[object, ...], Trunk] = {}
    ports: dict[tuple[str, str], str] = {}
    for link in network.links:
        if link.between is None:
            continue
        ends = (number[link.between[0]], number[link.between[1]])
        # a switch of another kind than ocs has a port for each of its links, so a link has a cable of its own
        plain = all(scenario.kind_at(end) == "ocs" for end in link.between)
        key: tuple[object, ...] = tuple(sorted(ends)) if plain else (link.name,)
        trunk = trunks.setdefault(key, Trunk(ends, (f"t{len(trunks)}a", f"t{len(trunks)}b")))
        ports |= {
            (link.name, network.switches[end].name): port for end, port in zip(trunk.switches, trunk.ports, strict=True)
        }
    lines: list[Line] = []
    for link in network.links:
        if link.between is None:
            lines.append(Line(len(lines), link.name, number[link.at or ""], link))
            continue
        for one in link.between:
            optical = network.node(one).optical
            lines.append(Line(len(lines), f"{link.name}@{one}", number[one], link, ports[link.name, one], optical))
    free = itertools.count(FIRST_CLASS)
    static = {line.number: next(free) for line in lines}
    lost = {number[node.name]: next(free) for node in network.switches if node.optical}
    schedules: dict[int, Schedule] = {}
    shared: dict[tuple[int, str], int] = {}
    own: dict[tuple[int, int, bool], int] = {}
    queued: dict[int, Schedule] = {}
    steps = [(way, switch) for way in all_ways(scenario) for switch in way.steps if way.needs_class(switch)]
    # the queues of schedules have consecutive numbers, which trace filters need
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
    """Return the line that packets without a rule take towards another switch: the first that begins a shortest way."""
    node = wiring.switches[switch]
    return wiring.line(switch, scenario.network.graph.choices(node, last)[0])
