# SPDX-License-Identifier: Apache-2.0
"""The ways of flows through a network, slot by slot, and what each switch does for them."""

from __future__ import annotations

import dataclasses
import itertools
from dataclasses import dataclass

from rdcnlab.engines.network import mptcp
from rdcnlab.fields.errors import InputError
from rdcnlab.scenario import Scenario, Schedule, program_traffic
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
    complete : bool
        Whether each step has a class of its own and all slots of the route.
    rest : bool
        Whether it is the way to the next rack only, of packets to one rack: those of `flows`, or if that is empty, of
        all others.
    ranks : tuple of int
        The rank of its queue in each slot of `route`; empty: 0.
    """

    flows: tuple[tuple[int, bool], ...]
    schedule: Schedule | None
    route: Route
    steps: dict[str, Timetable]
    part: int | None = None
    echo: str | None = None
    complete: bool = False
    rest: bool = False
    ranks: tuple[int, ...] = ()

    def needs_class(self, switch: str) -> bool:
        """Return whether the route needs its own class at a switch; static traffic uses the class of its line."""
        own = self.schedule is not None and switch in (self.route.first, self.echo)
        return self.complete or own or not self.steps[switch].static

    def queues_data(self, switch: str) -> bool:
        """Return whether data of the route waits in a queue of its schedule at a switch."""
        first = self.schedule is not None and self.schedule.queues and switch == self.route.first
        return first and (self.rest or any(not back for _, back in self.flows))


def all_ways(scenario: Scenario) -> tuple[Way, ...]:
    """Return the ways of all flows: first those of data, then the ways back.

    In a network that names no switch, every way is complete, and the ways of schedules are between those of data and
    those back: its tables list every slot of every flow, and its classes have had this order from the beginning.

    Raises
    ------
    InputError
        Flows of one schedule begin or end at different switches, or a switch that packets do not pass would have to
        set flags in them.
    """
    found: dict[object, Way] = {}
    alike: dict[Route, Way] = {}
    for back, (index, flow) in itertools.product((False, True), enumerate(scenario.traffic)):
        if scenario.network.optics is not None:
            continue  # every rack on its way decides anew
        if program_traffic.is_of_programs(flow):
            # the opposite direction is a flow of its own
            if not back:
                route = route_of(scenario, flow)
                found[index, back] = _way(scenario, None, route, ((index, back),), own=True)
            continue
        schedule = scenario.schedule(flow, back=back)
        route = route_of(scenario, flow, back=back)
        if schedule is None:
            # thousands of flows take the same ways, and what switches do for them is the same
            if route not in alike or not scenario.network.switches:
                alike[route] = _way(scenario, None, route, ((index, back),))
            found[index, back] = dataclasses.replace(alike[route], flows=((index, back),))
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
            found[part.name] = dataclasses.replace(followed, flows=(*followed.flows, (index, back)))
    ways = list(found.values())
    if not scenario.network.switches:
        ways.sort(key=_rank)
    return _echoing(scenario, ways)


def _rank(way: Way) -> tuple[int, bool]:
    """Return the place of a way in a network that names no switch: data, schedules and their parts, ways back."""
    if way.schedule is not None:
        return 1, way.part is not None
    return (2 if way.flows[0][1] else 0), False


def _way(
    scenario: Scenario,
    schedule: Schedule | None,
    route: Route,
    flows: tuple[tuple[int, bool], ...] = (),
    part: int | None = None,
    *,
    own: bool = False,
) -> Way:
    complete = own or not scenario.network.switches
    data = schedule is not None or not flows[0][1]
    steps = {
        switch: timetable(scenario, route, switch, every=complete or (schedule is not None and switch == route.first))
        for switch in route.switches
        if route.chooses(switch) or (complete and data)
    }
    return Way(flows, schedule, route, steps, part, complete=complete)


def _echoing(scenario: Scenario, ways: list[Way]) -> tuple[Way, ...]:
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
