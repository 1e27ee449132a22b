# SPDX-License-Identifier: Apache-2.0
"""The ways of flows and schedules through the network over time, and the actions of each switch for them."""

from __future__ import annotations

import functools
import itertools
from dataclasses import asdict, dataclass, replace
from typing import Any

from rdcnlab.fields.errors import InputError
from rdcnlab.scenario import BYPASS, DARK, Flow, Scenario, Schedule, preset, presets
from rdcnlab.scenario.fabrics import FABRICS
from rdcnlab.scenario.forwarding import route_of, route_of_schedule, timetable
from rdcnlab.scenario.network import ONLY_SWITCH
from rdcnlab.scenario.presets import known_networks
from rdcnlab.scenario.routes import NoWay, Route, Timetable

#: Target of a slot at the receiver's switch.
RECEIVER = "receiver"


@dataclass(frozen=True)
class Step(Timetable):
    """The slots of one switch for a way, with the switch's delays, which they include.

    Parameters
    ----------
    targets, durations, phase, places
        As in `Timetable`. A target has its name: a link, `DARK`, `BYPASS` or `RECEIVER`.
    switch : str
        Name of the switch.
    late, jitter, guard : int
        As in `Node`, in ns.
    """

    targets: tuple[str, ...]
    switch: str
    late: int = 0
    jitter: int = 0
    guard: int = 0


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
    route : Route
        The links in each slot, and the times of the slots.
    named : tuple of str
        The entry of the path or schedule for each slot.
    steps : tuple of Step
        The slots of each switch on the way, except the receiver's switch if the network names its switches.
    alone : bool
        Whether the network names no switch, so that the way is inside its only one.
    """

    flows: tuple[str, ...]
    back: bool
    schedule: Schedule | None
    route: Route
    named: tuple[str, ...]
    steps: tuple[Step, ...]
    alone: bool

    @property
    def first(self) -> str:
        """The sender's switch."""
        return self.route.first

    @property
    def last(self) -> str:
        """The receiver's switch."""
        return self.route.last

    @property
    def cycle(self) -> int:
        """Time in ns after which the way repeats; 0 if nothing ever changes."""
        return sum(self.route.durations) if len(self.route.durations) > 1 else 0


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
            raise InputError.unknown("network", name, known_networks(), "network")
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
        paths = [file.path for file in files if file is not None]
        controller = self.scenario.switch.controller
        return tuple(dict.fromkeys([*paths, *([] if controller is None else [controller.place])]))

    @functools.cached_property
    def ways(self) -> tuple[Way, ...]:
        """The ways, as `ways_of` returns them; each picture and table asks for them."""
        return _ways_of(self)

    @functools.cached_property
    def _ways_by_flow(self) -> dict[tuple[str, bool], Way]:
        return {(name, way.back): way for way in self.ways if way.schedule is None for name in way.flows}

    @functools.cached_property
    def _ways_by_schedule(self) -> dict[str, Way]:
        return {way.schedule.name: way for way in reversed(self.ways) if way.schedule is not None}

    def way_of(self, flow: Flow, *, back: bool) -> Way:
        """Return the way of a flow in one direction."""
        schedule = self.scenario.schedule(flow, back=back)
        return self._ways_by_flow[flow.name, back] if schedule is None else self._ways_by_schedule[schedule.name]

    @functools.cached_property
    def _numbers(self) -> dict[str, int]:
        return {flow.name: number for number, flow in enumerate(self.flows)}

    def flows_of(self, way: Way) -> list[Flow]:
        """Return the flows of a way that are shown, in the order of the scenario."""
        numbers = sorted(self._numbers[name] for name in way.flows if name in self._numbers)
        return [self.flows[number] for number in numbers]


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
    return shown.ways


def _ways_of(shown: Shown) -> tuple[Way, ...]:
    scenario = shown.scenario
    ways: dict[object, Way] = {}
    for back, flow in itertools.product((False, True), shown.flows):
        schedule = scenario.schedule(flow, back=back)
        key = (flow.name, back) if schedule is None else schedule.name
        if key in ways:
            way = ways[key]
            flows = tuple(dict.fromkeys([*way.flows, flow.name]))
            ways[key] = replace(way, flows=flows, back=way.back and back)
        else:
            ways[key] = _way(scenario, flow, schedule, back)
    for schedule in scenario.network.schedules:
        if schedule.name not in ways and (schedule.pair is not None or not scenario.network.switches):
            try:
                ways[schedule.name] = _way(scenario, None, schedule, False)
            except NoWay as error:
                # a scenario checks only the schedules that its flows follow
                field = f"network.schedules.{schedule.name}.slots"
                raise InputError.of(field, [slot.link for slot in schedule.slots], str(error)) from None
    return tuple(ways.values())


def _way(scenario: Scenario, flow: Flow | None, schedule: Schedule | None, back: bool) -> Way:
    if flow is not None:
        route = route_of(scenario, flow, back=back)
        path = flow.back if back else flow.path
    else:
        assert schedule is not None
        route = route_of_schedule(scenario, schedule, schedule.pair or (ONLY_SWITCH, ONLY_SWITCH))
        path = schedule.slots
    if schedule is not None:
        path = schedule.slots
    named = (path,) * len(route.ways) if isinstance(path, str) else tuple(slot.link for slot in path)
    alone = not scenario.network.switches
    switches = route.switches if alone else route.switches[:-1]
    steps = tuple(_step(scenario, route, schedule, switch) for switch in switches)
    return Way(() if flow is None else (flow.name,), back, schedule, route, named, steps, alone)


def _step(scenario: Scenario, route: Route, schedule: Schedule | None, switch: str) -> Step:
    network = scenario.network
    alone, node = not network.switches, network.node(switch)
    every = alone or (schedule is not None and switch == route.first)
    actions = timetable(scenario, route, switch, every=every)
    receiver = BYPASS if alone else RECEIVER
    targets = tuple(DARK if target is None else target or receiver for target in actions.targets)
    return Step(
        targets,
        actions.durations,
        actions.phase,
        actions.indices,
        switch,
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
        and ``switches`` (with ``slots``: the link on which packets leave the switch). ``loads``: the fields of
        `rdcnlab.scenario.workloads.Offered` for each workload with a rate of arrivals.
    """
    return {
        "network": shown.scenario.network.name,
        "seed": shown.scenario.seed,
        "program": ", ".join(shown.own_programs) or None,
        "ways": [_way_data(way) for way in ways_of(shown)],
        "loads": [asdict(load) for load in shown.scenario.loads()],
    }


def _way_data(way: Way) -> dict[str, Any]:
    slots = []
    for index, (duration, named, hops) in enumerate(zip(way.route.durations, way.named, way.route.ways, strict=True)):
        slot: dict[str, Any] = {"duration_ns": duration, "path": named}
        slot["way"] = None if hops is None else [{"switch": hop.switch, "link": hop.link} for hop in hops]
        if way.schedule is not None:
            settings = way.schedule.slots[index]
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
        "phase_ns": way.route.phase,
        "slots": slots,
        "switches": {step.switch: _step_data(step) for step in way.steps},
    }


def _step_data(step: Step) -> dict[str, Any]:
    slots = [
        {"duration_ns": duration, "target": target, "slot": index}
        for duration, target, index in zip(step.durations, step.targets, step.indices, strict=True)
    ]
    return {
        "phase_ns": step.phase,
        "late_ns": step.late,
        "jitter_ns": step.jitter,
        "guard_ns": step.guard,
        "slots": slots,
    }
