# SPDX-License-Identifier: Apache-2.0
"""The ways of flows and schedules through the network over time, and the actions of each switch for them."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

from rdcnlab.fields.errors import InputError
from rdcnlab.scenario import BYPASS, DARK, Flow, Scenario, Schedule, preset, presets
from rdcnlab.scenario.fabrics import FABRICS
from rdcnlab.scenario.forwarding import route_of, route_of_schedule, timetable
from rdcnlab.scenario.routes import Hop, NoWay, Route

#: Name of the switch in a network with a single switch.
SWITCH = "switch"
#: Target of a slot at the receiver's switch.
RECEIVER = "receiver"


@dataclass(frozen=True)
class Step:
    """The slots of one switch for a way.

    Parameters
    ----------
    switch : str
        Name of the switch.
    targets : tuple of str
        Where packets leave the switch in each slot: a link, `DARK`, `BYPASS` or `RECEIVER`.
    durations : tuple of int
        Duration of each slot in ns. The slots repeat forever. A single slot never ends.
    phase : int
        Begin of the first slot, in ns after the scenario's start. Before this time the first slot is in force, too.
    places : tuple of int
        Index of the way's slot for each slot of the switch.
    late, jitter, guard : int
        As in `Node`, in ns. Durations and phase already include them.
    """

    switch: str
    targets: tuple[str, ...]
    durations: tuple[int, ...]
    phase: int
    places: tuple[int, ...]
    late: int = 0
    jitter: int = 0
    guard: int = 0

    @property
    def static(self) -> bool:
        """Whether nothing ever changes."""
        return len(set(self.targets)) == 1


@dataclass(frozen=True)
class Way:
    """The way that flows take in one direction.

    Parameters
    ----------
    flows : tuple of str
        Names of the flows; empty for a schedule that no flow follows.
    back : bool
        Whether it is the way from the receiver back to the sender.
    schedule : Schedule or None
        The schedule that the flows share. None if one flow has its own timetable or static path.
    first, last : str
        Switches of sender and receiver.
    named : tuple of str
        The entry of the path or schedule for each slot.
    hops : tuple of (tuple of Hop or None)
        The links in each slot; None means dark.
    durations : tuple of int
        Duration of each slot in ns.
    phase : int
        Begin of the first slot, in ns after the scenario's start, at a switch that is not late.
    steps : tuple of Step
        The slots of each switch on the way, except the receiver's switch.
    """

    flows: tuple[str, ...]
    back: bool
    schedule: Schedule | None
    first: str
    last: str
    named: tuple[str, ...]
    hops: tuple[tuple[Hop, ...] | None, ...]
    durations: tuple[int, ...]
    phase: int
    steps: tuple[Step, ...]

    @property
    def cycle(self) -> int:
        """Time in ns after which the way repeats; 0 if nothing ever changes."""
        return sum(self.durations) if len(self.durations) > 1 else 0


@dataclass(frozen=True)
class Shown:
    """A scenario to show, and those of its flows that are shown.

    A scenario needs at least one flow. So if a preset network is shown by its name, its scenario can have a flow that
    is not shown.
    """

    scenario: Scenario
    flows: tuple[Flow, ...]
    title: str

    @classmethod
    def of(cls, scenario: Scenario) -> Shown:
        """Show a scenario with all its flows."""
        return cls(scenario, scenario.flows, scenario.network.name)

    @classmethod
    def preset(cls, name: str) -> Shown:
        """Show a preset network, or a fabric with its default parameters. Flows are shown if the preset has their path.

        Raises
        ------
        InputError
            There is no preset or fabric of this name.
        """
        routes: dict[str, dict[str, str]] = {}
        if name in presets():
            routes = preset(name).routes
        elif name not in FABRICS:
            raise InputError.unknown("network", name, [*presets(), *FABRICS], "network")
        flows = [{"name": flow_name, "size": 1, **fields} for flow_name, fields in routes.items() if "path" in fields]
        if flows:
            return cls.of(Scenario.from_dict({"network": name, "flows": flows}))
        # a scenario needs a flow; its ends are two hosts that the network connects
        flow = {"name": "any", "size": 1, "path": BYPASS, **_ends(name, routes)}
        return cls(Scenario.from_dict({"network": name, "flows": [flow]}), (), name)

    @property
    def own_programs(self) -> tuple[str, ...]:
        """Paths of the P4 programs, or of the controller, that select the links of packets; empty: timetables do."""
        files = [self.scenario.program_at(node.name) for node in self.scenario.network.nodes]
        found = [file.path for file in (*files, self.scenario.switch.controller) if file is not None]
        return tuple(dict.fromkeys(found))


def _ends(name: str, routes: dict[str, dict[str, str]]) -> dict[str, str]:
    if routes:
        return dict(next(iter(routes.values())))
    hosts = FABRICS[name]().data()["hosts"] if name in FABRICS else []
    return {"src": hosts[0]["name"], "dst": hosts[-1]["name"]} if hosts else {}


def ways_of(shown: Shown) -> tuple[Way, ...]:
    """Return the ways of flows in both directions, and then the ways of schedules that no flow follows.

    Raises
    ------
    InputError
        A schedule that no flow follows leads nowhere.
    """
    scenario = shown.scenario
    make = _way_through_switches if scenario.network.switches else _way_in_switch
    ways: dict[object, Way] = {}
    for back, flow in itertools.product((False, True), shown.flows):
        schedule = scenario.schedule(flow, back=back)
        key = (flow.name, back) if schedule is None else schedule.name
        if key in ways:
            way = ways[key]
            flows = tuple(dict.fromkeys([*way.flows, flow.name]))
            ways[key] = Way(**{**vars(way), "flows": flows, "back": way.back and back})
        else:
            ways[key] = make(scenario, flow, schedule, back)
    for schedule in scenario.network.schedules:
        if schedule.name not in ways and (schedule.pair is not None or not scenario.network.switches):
            try:
                ways[schedule.name] = make(scenario, None, schedule, False)
            except NoWay as error:
                # a scenario checks only the schedules that its flows follow
                field = f"network.schedules.{schedule.name}.slots"
                raise InputError.of(field, [slot.link for slot in schedule.slots], str(error)) from None
    return tuple(ways.values())


def _way_in_switch(scenario: Scenario, flow: Flow | None, schedule: Schedule | None, back: bool) -> Way:
    """Return a way through the only switch."""
    if schedule is not None:
        slots, phase = schedule.slots, scenario.phase(schedule)
        named = tuple(slot.link for slot in slots)
        durations = tuple(slot.duration for slot in slots)
    else:
        assert flow is not None
        timed, first, phase = scenario.timetable(flow, back=back)
        named = tuple(slot.link for slot in timed) or (first,)
        durations = tuple(slot.duration for slot in timed) or (0,)
    step = Step(SWITCH, named, durations, phase, tuple(range(len(named))))
    hops = tuple(None if name == DARK else () if name == BYPASS else (Hop(SWITCH, name),) for name in named)
    flows = () if flow is None else (flow.name,)
    return Way(flows, back, schedule, SWITCH, SWITCH, named, hops, durations, phase, (step,))


def _way_through_switches(scenario: Scenario, flow: Flow | None, schedule: Schedule | None, back: bool) -> Way:
    """Return a way through several switches."""
    if flow is not None:
        route = route_of(scenario, flow, back=back)
        path = flow.back if back else flow.path
    else:
        assert schedule is not None
        assert schedule.pair is not None
        route = route_of_schedule(scenario, schedule, schedule.pair)
        path = schedule.slots
    if schedule is not None:
        path = schedule.slots
    named = (path,) * len(route.ways) if isinstance(path, str) else tuple(slot.link for slot in path)
    steps = tuple(_step(scenario, route, schedule, switch) for switch in route.switches[:-1])
    flows = () if flow is None else (flow.name,)
    first, last = route.first, route.last
    return Way(flows, back, schedule, first, last, named, route.ways, route.durations, route.phase, steps)


def _step(scenario: Scenario, route: Route, schedule: Schedule | None, switch: str) -> Step:
    every = schedule is not None and switch == route.first
    node = scenario.network.node(switch)
    actions = timetable(scenario, route, switch, every=every)
    targets = tuple(DARK if target is None else target or RECEIVER for target in actions.targets)
    return Step(
        switch,
        targets,
        actions.durations,
        actions.phase,
        actions.places,
        late=node.late,
        jitter=node.jitter,
        guard=node.guard,
    )


def data(shown: Shown) -> dict[str, Any]:
    """Return the ways, and the slots of each switch for them, as plain data. Times are in ns.

    Parameters
    ----------
    shown : Shown
        The scenario to show.

    Returns
    -------
    dict
        ``network``, ``seed``, and for each way in ``ways``: ``flows``, ``direction``, ``schedule``, ``from``, ``to``,
        ``cycle_ns``, ``phase_ns``, ``slots`` (with ``way``: the switches and links that packets pass; null means dark)
        and ``switches`` (with ``slots``: the link on which packets leave the switch).
    """
    return {
        "network": shown.scenario.network.name,
        "seed": shown.scenario.seed,
        "program": ", ".join(shown.own_programs) or None,
        "ways": [_way_data(way) for way in ways_of(shown)],
    }


def _way_data(way: Way) -> dict[str, Any]:
    slots = []
    for place, (duration, named, hops) in enumerate(zip(way.durations, way.named, way.hops, strict=True)):
        slot: dict[str, Any] = {"duration_ns": duration, "path": named}
        slot["way"] = None if hops is None else [{"switch": hop.switch, "link": hop.link} for hop in hops]
        if way.schedule is not None:
            settings = way.schedule.slots[place]
            slot["tdn"] = settings.tdn
            for field in ("queue", "ecn_threshold"):
                limit = getattr(settings, field)
                if limit is not None:
                    slot[field] = limit.model_dump(mode="json")
        slots.append(slot)
    return {
        "flows": list(way.flows),
        "direction": "back" if way.back else "there",
        "schedule": None if way.schedule is None else way.schedule.name,
        "from": way.first,
        "to": way.last,
        "cycle_ns": way.cycle,
        "phase_ns": way.phase,
        "slots": slots,
        "switches": {step.switch: _step_data(step) for step in way.steps},
    }


def _step_data(step: Step) -> dict[str, Any]:
    slots = [
        {"duration_ns": duration, "target": target, "slot": place}
        for duration, target, place in zip(step.durations, step.targets, step.places, strict=True)
    ]
    return {
        "phase_ns": step.phase,
        "late_ns": step.late,
        "jitter_ns": step.jitter,
        "guard_ns": step.guard,
        "slots": slots,
    }
