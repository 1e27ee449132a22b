# SPDX-License-Identifier: Apache-2.0
"""Ways of a scenario's flows and schedules through a network of several switches, and the times of each way."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

from rdcnlab.scenario.draws import draw
from rdcnlab.scenario.network import ONLY_SWITCH
from rdcnlab.scenario.routes import Choice, NoWay, Route, Timetable, backwards, choose_by_hash
from rdcnlab.scenario.timetable import BYPASS, DARK, ECMP, LEAST_SLOT, SAME, Path, Schedule

if TYPE_CHECKING:
    from rdcnlab.scenario.flow import Flow
    from rdcnlab.scenario.model import Scenario

#: Largest number of slots of one timetable in a switch, as the kernel's ``OCS_SLOT_COUNT_MAX``.
MOST_SLOTS = 1024
#: ns for which a timetable that does not repeat keeps its last state.
_LONG = 24 * 3600 * 10**9


def schedule_of(scenario: Scenario, flow: Flow, *, back: bool = False) -> Schedule | None:
    """Return the schedule that a flow follows: the schedule that its path names, or that of its pair of switches."""
    network = scenario.network
    path = flow.back if back else flow.path
    if back and path == SAME:
        return None if schedule_of(scenario, flow) is None else _of_pair(scenario, flow, back=True)
    schedule = network.schedule(path)
    if schedule is not None or path not in (BYPASS, ECMP):
        return schedule
    return _of_pair(scenario, flow, back=back)


def _of_pair(scenario: Scenario, flow: Flow, *, back: bool) -> Schedule | None:
    network = scenario.network
    pair = (network.host(flow.src).at, network.host(flow.dst).at)
    if back:
        pair = pair[::-1]
    return next(
        (schedule for schedule in network.schedules if schedule.pair is not None and schedule.pair == pair), None
    )


def depend_on_seed(scenario: Scenario) -> bool:
    """Return whether the seed can decide a flow's way (equal-cost multi-path) or its slots (the jitter of a switch).

    If it cannot, ways that exist with one seed exist with every seed.
    """
    if any(node.jitter for node in scenario.network.switches):
        return True
    switches = []

    def first(switch: str, links: Sequence[str]) -> str:
        switches.append(switch)
        return links[0]

    for flow in {alike(scenario, flow): flow for flow in scenario.traffic}.values():
        for back in (False, True):
            route_of(scenario, flow, back=back, choose=first)
    return bool(switches)


def alike(scenario: Scenario, flow: Flow) -> Hashable:
    """Return what the ways and the timetable of a flow depend on, besides the choices that are made for each flow."""
    host = scenario.network.host
    return host(flow.src).at, host(flow.dst).at, flow.path, flow.back, flow.phase


def route_of(
    scenario: Scenario, flow: Flow, *, back: bool = False, choose: Choice | None = None, chosen: list[str] | None = None
) -> Route:
    """Return the route of a flow: that of its schedule if it follows one, otherwise that of its path.

    Parameters
    ----------
    scenario : Scenario
        A scenario with a network of several switches.
    flow : Flow
        One of the scenario's flows.
    back : bool
        Whether to return the route of the opposite direction.
    choose : callable, optional
        Chooses between links that begin equally short ways; by default the hash of equal-cost multi-path routing.
    chosen : list of str, optional
        Receives the switches at which the hash of this flow, not that of its schedule, chose a link.

    Raises
    ------
    NoWay
        The path names something that no way between the flow's hosts passes.
    """
    network = scenario.network
    schedule = schedule_of(scenario, flow, back=back)
    ends = _ends(scenario, flow, back=back)
    if schedule is not None:
        return route_of_schedule(scenario, schedule, ends, choose)
    path = flow.back if back else flow.path
    if path == SAME and SAME not in network.graph.loops:
        forward = route_of(scenario, flow, choose=choose, chosen=chosen)
        ways = tuple(None if way is None else backwards(way, network.graph) for way in forward.ways)
        return Route(*ends, forward.durations, ways, forward.phase)
    number = scenario.numbers[flow.name]
    key = (scenario.seed, "ecmp", flow.dst if back else flow.src, flow.src if back else flow.dst, number)
    phase = 0 if isinstance(path, str) else scenario.phase(flow)  # what never changes has no phase
    return _route(scenario, ends, path, choose or _noted(choose_by_hash(*key), chosen), phase)


def _noted(choose: Choice, chosen: list[str] | None) -> Choice:
    """Return a choice that also notes the switches at which it was asked."""

    def noted(switch: str, links: Sequence[str]) -> str:
        if chosen is not None:
            chosen.append(switch)
        return choose(switch, links)

    return noted


def route_of_schedule(
    scenario: Scenario, schedule: Schedule, ends: tuple[str, str], choose: Choice | None = None
) -> Route:
    """Return the route of all traffic that follows a schedule between two switches; `choose` as in `route_of`."""
    choose = choose or choose_by_hash(scenario.seed, "ecmp", schedule.name)
    return _route(scenario, ends, schedule.slots, choose, scenario.phase(schedule))


def _ends(scenario: Scenario, flow: Flow, *, back: bool) -> tuple[str, str]:
    first, last = (scenario.network.host(name).at or ONLY_SWITCH for name in (flow.src, flow.dst))
    return (last, first) if back else (first, last)


def _route(scenario: Scenario, ends: tuple[str, str], path: Path, choose: Choice, phase: int) -> Route:
    graph = scenario.network.graph
    targets = [path] if isinstance(path, str) else [slot.link for slot in path]
    durations = (0,) if isinstance(path, str) else tuple(slot.duration for slot in path)
    ways = []
    for name in targets:
        # a network that names no switch may have a link of this name
        via = () if name in (BYPASS, ECMP) and name not in graph.loops else name.split("+")
        ways.append(None if name == DARK else graph.way(*ends, via, choose))
    return Route(*ends, durations, tuple(ways), phase)


def timetable(scenario: Scenario, route: Route, switch: str, *, every: bool = False) -> Timetable:
    """Return the timetable of one switch for a route, with the delays of this switch.

    Parameters
    ----------
    scenario : Scenario
        A scenario with a network of several switches.
    route : Route
        One of the scenario's routes.
    switch : str
        One of the route's switches.
    every : bool
        Whether to keep slots separate that do not differ at this switch. Hosts may be notified of each of them.

    Raises
    ------
    NoWay
        Drawn changes would need more slots than a switch keeps, or guard or jitter would leave nothing of a slot.
    """
    node = scenario.network.node(switch)
    targets = route.at(switch, dark=switch == route.first or node.optical)
    indices = tuple(range(len(targets)))
    durations, phase = route.durations, route.phase + node.late
    if len(set(targets)) == 1 and not every:
        return Timetable(targets[:1], (0,), phase, (0,))
    if not every:
        targets, durations, indices = _merged(targets, durations)
    if node.guard:
        durations, shift = _guarded(targets, durations, node.guard)
        phase += shift
    if not node.jitter or len(targets) == 1:
        return Timetable(targets, durations, phase, indices)
    if min(durations) - node.jitter < LEAST_SLOT:
        raise NoWay(f"slots at least {LEAST_SLOT} ns longer than the jitter of {switch}, {node.jitter} ns")
    changes = max((scenario.limit - phase) // sum(durations), 0) + 1
    if changes * len(targets) > MOST_SLOTS:
        raise NoWay(f"a timetable of at most {MOST_SLOTS} changes until the limit, where a switch has jitter")
    jittered: list[int] = []
    # the delay of a change is drawn for its instant in the timetable, without the lateness of the switch
    previous_delay, instant = 0, phase - node.late
    for duration in durations * changes:
        instant += duration
        delay = draw(scenario.seed, f"update {switch} {instant}", node.jitter)
        jittered.append(duration + delay - previous_delay)
        previous_delay = delay
    jittered[-1] += _LONG
    return Timetable(targets * changes, tuple(jittered), phase, indices * changes)


def _guarded(targets: tuple[str | None, ...], durations: tuple[int, ...], guard: int) -> tuple[tuple[int, ...], int]:
    """Extend each way by the guard into the next dark slot; return the durations and the delay of the first slot."""
    extended = list(durations)
    first_delay = 0
    for index, target in enumerate(targets):
        next_index = (index + 1) % len(targets)
        if target is not None and targets[next_index] is None:
            if extended[next_index] - guard < LEAST_SLOT:
                raise NoWay(f"dark slots at least {LEAST_SLOT} ns longer than the guard of {guard} ns of a switch")
            extended[index] += guard
            extended[next_index] -= guard
            first_delay = guard if next_index == 0 else first_delay
    return tuple(extended), first_delay


def _merged(
    targets: tuple[str | None, ...], durations: tuple[int, ...]
) -> tuple[tuple[str | None, ...], tuple[int, ...], tuple[int, ...]]:
    """Join equal neighbours; never join across the ends, because the first slot is in force before the start."""
    merged: list[tuple[str | None, int, int]] = []
    for index, (target, duration) in enumerate(zip(targets, durations, strict=True)):
        if merged and merged[-1][0] == target:
            merged[-1] = (target, merged[-1][1] + duration, merged[-1][2])
        else:
            merged.append((target, duration, index))
    return tuple(k[0] for k in merged), tuple(k[1] for k in merged), tuple(k[2] for k in merged)
