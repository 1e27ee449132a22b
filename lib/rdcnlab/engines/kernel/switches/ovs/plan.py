# SPDX-License-Identifier: Apache-2.0
"""The plan of a bridge of Open vSwitch, and the data about it that the controller needs.

Port numbers of OpenFlow: those of the panel's cables, counted from 1.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rdcnlab.engines.kernel.switches import panel
from rdcnlab.engines.network import Wiring, forwarding
from rdcnlab.engines.network.forwarding import Entry, Match
from rdcnlab.engines.network.graph import Way, all_ways
from rdcnlab.engines.network.numbers import IP_PROTOCOL, LAST_CLASS, TARGET
from rdcnlab.fields.errors import InputError
from rdcnlab.scenario import BYPASS, DARK, Scenario
from rdcnlab.scenario.draws import draw
from rdcnlab.scenario.routes import Route, Timetable

#: Memory of the daemons and of the controller in kB.
PROCESSES_KB = 250_000
#: Name of the port of a flow's receiver among the names of ports.
RECEIVER = "receiver"
#: Largest number of drawn delays of a switch: with a jitter, each instant of its timetables has one.
MOST_DRAWN = 200_000


def switch(scenario: Scenario, wiring: Wiring, number: int) -> dict[str, Any]:
    """Return the plan of one switch; see `rdcnlab.engines.kernel.switches.kind.Kind`."""
    settings = scenario.switch
    around = panel.plan(scenario, _with_classes(scenario, wiring), number)
    interfaces = {port: place for place, (_, port) in enumerate(around["pairs"], 1)}
    found = list(entries(scenario, wiring, number))
    return {
        **panel.hop("ovs", wiring, number, around),
        "memory_kB": PROCESSES_KB if number == _first(scenario) else 0,
        "bridge": f"br{number}",
        "dpid": number + 1,
        "interfaces": interfaces,
        "names": names(wiring, number),
        "table_size": settings.table_size,
        "addresses": panel.addresses(scenario, wiring, number),
        "entries": [_entry(scenario, wiring, number, entry) for entry in found],
        "passing": list(_passing(scenario, wiring, number)),
        "delay_ns": settings.delay,
        "drawn_ns": _drawn(scenario, wiring.switches[number], found),
        "flows": _flows(scenario, wiring),
    }


def controller(scenario: Scenario) -> str | None:
    """Return the path of the user's controller; None if the scenario has none.

    Raises
    ------
    InputError
        The file cannot be read, or differs from the file that the scenario was made with.
    """
    chosen = scenario.switch.controller
    if chosen is None:
        return None
    chosen.content("switch.controller")
    return str(Path(chosen.path).resolve())


def entries(scenario: Scenario, wiring: Wiring, switch: int) -> Iterator[Entry]:
    """Yield the entry of each way for which a switch chooses a port; also if the network names no switches."""
    if scenario.network.switches:
        yield from forwarding.entries(scenario, wiring, switch)
        return
    targets = {line.link.name: line.number for line in wiring.lines} | TARGET
    for place, flow in enumerate(scenario.flows):
        slots, first, phase = scenario.timetable(flow)
        route = Route(wiring.switches[0], wiring.switches[0], tuple(slot.duration for slot in slots) or (0,), ())
        way = Way(((place, False),), None, route, {})
        links = tuple(targets[slot.link] for slot in slots) or (targets[first],)
        matched = tuple(forwarding.matches(scenario, wiring, switch, way))
        yield Entry(wiring.own[0, place, False], way, matched, links, route.durations, phase)


def check(scenario: Scenario) -> None:
    """Raise InputError if a scenario asks this switch, which is the only one, for something that it cannot do."""
    _check(scenario)
    if scenario.switch.dark != "drop":
        raise InputError.of("switch.dark", scenario.switch.dark, "drop, with ovs, which holds no packets back")


def check_hop(scenario: Scenario, wiring: Wiring, switch: int) -> None:
    """Raise InputError if a scenario asks this switch, one of several, for something that it cannot do."""
    _check(scenario)
    panel.check(scenario, wiring, switch, "ovs")
    settings, name = scenario.switch, wiring.switches[switch]
    for entry in entries(scenario, wiring, switch):
        if len(entry.durations) == 1:
            continue
        field = _field(scenario, entry)
        if settings.controller is not None:
            allowed = f"one way: {Path(settings.controller.path).name} moves flows at {name}, not a timetable"
            raise InputError.of(field, f"{len(entry.durations)} slots", allowed)
        if settings.jitter >= min(entry.durations):
            allowed = f"less than the shortest slot at {name}, {min(entry.durations)} ns"
            raise InputError.of("switch.jitter", f"{settings.jitter} ns", allowed)


def _check(scenario: Scenario) -> None:
    settings = scenario.switch
    for number, flow in enumerate(scenario.flows):
        if scenario.network.switches or len(flow.slots) < 2:
            continue
        shortest = min(slot.duration for slot in flow.slots)
        if settings.controller is not None:
            allowed = f"one link: {Path(settings.controller.path).name} moves flows, not a timetable"
            raise InputError.of(f"flows[{number}].path", f"{len(flow.slots)} slots", allowed)
        if settings.jitter >= shortest:
            allowed = f"less than the shortest slot, {shortest} ns"
            raise InputError.of("switch.jitter", f"{settings.jitter} ns", allowed)


def _field(scenario: Scenario, entry: Entry) -> str:
    """Return the field that has the timetable of an entry."""
    if entry.way.schedule is not None:
        return f"network.schedules.{entry.way.schedule.name}.slots"
    flow, back = entry.way.flows[0]
    return f"flows.{scenario.flows[flow].name}.{'back' if back else 'path'}"


def _first(scenario: Scenario) -> int:
    """Return the number of the first switch of this kind, which counts the memory that all share."""
    kinds = [scenario.kind_at(node.name) for node in scenario.network.switches] or [scenario.switch.kind]
    return kinds.index("ovs")


def _with_classes(scenario: Scenario, wiring: Wiring) -> Wiring:
    """Return the wiring with a class for each line, which a network has that does not name its switch."""
    if scenario.network.switches:
        return wiring
    free = iter(sorted(set(range(1, LAST_CLASS + 1)) - set(wiring.own.values())))
    return dataclasses.replace(wiring, static={line.number: next(free) for line in wiring.lines})


def names(wiring: Wiring, number: int) -> dict[str, str]:
    """Return the port of each link, of each host, and of the dark, by the name in the scenario."""
    found = {line.link.name: panel.line_port(line.number) for line in panel.lines_at(wiring, number)}
    found |= {station.name: panel.host_port(station) for station in panel.hosts_at(wiring, number)}
    return found | {DARK: panel.dark_port(number)}


def _entry(scenario: Scenario, wiring: Wiring, number: int, entry: Entry) -> dict[str, Any]:
    """Return the entry of one way at a switch; ``slots`` has the port of each slot, or `RECEIVER`."""
    return {
        "durations": entry.durations,
        "phase_ns": entry.phase,
        "slots": [_port(number, target) for target in entry.targets],
        "matches": [
            _match(scenario, wiring, number, entry, match, back)
            for match, (_, back) in zip(entry.matches, entry.way.flows, strict=True)
        ],
    }


def _port(number: int, target: int) -> str:
    """Return the port of a target, or `RECEIVER`, which is another port for each flow."""
    if target == TARGET[BYPASS]:
        return RECEIVER
    return panel.dark_port(number) if target == TARGET[DARK] else panel.line_port(target)


def _match(scenario: Scenario, wiring: Wiring, number: int, entry: Entry, match: Match, back: bool) -> dict[str, Any]:
    """Return the packets of a flow, the port of each slot, and the port where the packets come in during each slot."""
    came = [panel.host_port(match.source)] if match.source else _incoming(wiring, number, entry)
    return {
        "name": f"{scenario.flows[match.flow].name}{' back' if back else ''}",
        "in_if": None if match.source is None else panel.host_port(match.source),
        **_fields(match),
        "receiver": panel.host_port(match.receiver),
        "ports": panel.ports(number, entry.targets, match.receiver),
        "from": came,
    }


def _passing(scenario: Scenario, wiring: Wiring, number: int) -> Iterator[dict[str, Any]]:
    """Yield the packets that come to a switch, and by which port, for each flow, direction and slot."""
    name, several = wiring.switches[number], bool(scenario.network.switches)
    known: set[tuple[object, ...]] = set()
    for way in all_ways(scenario) if several else [_bypass(scenario, wiring)]:
        for match, (flow, back) in zip(forwarding.matches(scenario, wiring, number, way), way.flows, strict=True):
            sender = wiring.stations[scenario.flows[flow].dst if back else scenario.flows[flow].src]
            for hops in way.route.ways:
                passed = [hop.switch for hop in hops or ()] + [way.route.last]
                if hops is None or name not in passed:
                    continue
                before = passed.index(name) - 1
                line = None if before < 0 else wiring.line(number, hops[before].link)
                port = panel.host_port(sender) if line is None else panel.line_port(line.number)
                if (flow, back, port) not in known:
                    known.add((flow, back, port))
                    yield {"came": port, **_fields(match)}


def _bypass(scenario: Scenario, wiring: Wiring) -> Way:
    """Return the ways of all flows through the only switch of a network that does not name it."""
    name = wiring.switches[0]
    both = tuple((place, back) for place in range(len(scenario.flows)) for back in (False, True))
    return Way(both, None, Route(name, name, (0,), ((),)), {})


def _fields(match: Match) -> dict[str, Any]:
    """Return the fields of a packet that a rule can match."""
    return {
        "dst": match.receiver.ip,
        "mac": match.receiver.mac,
        "proto": match.protocol,
        "field": match.field,
        "port": match.port,
    }


def _incoming(wiring: Wiring, number: int, entry: Entry) -> list[str | None]:
    """Return, for each slot, the port where packets come in from another switch; None if none come."""
    name = wiring.switches[number]
    step: Timetable = entry.way.steps[name]
    found: list[str | None] = []
    for place in step.places[: len(entry.targets)]:
        way = entry.way.route.ways[place] or ()
        # the link of the hop before leads here; its other end is a line of this switch
        passed = [hop.switch for hop in way] + [entry.way.route.last]
        before = passed.index(name) - 1 if name in passed else -1
        found.append(panel.line_port(wiring.line(number, way[before].link).number) if before >= 0 else None)
    return found


def _drawn(scenario: Scenario, name: str, found: list[Entry]) -> dict[int, int]:
    """Return the random part of the delay of each decision about a switch (ns), by its instant since the start."""
    jitter = scenario.switch.jitter
    if not jitter:
        return {}
    instants: set[int] = set()
    for entry in found:
        instant, place = entry.phase, 0
        while len(entry.durations) > 1 and instant <= scenario.limit:
            instants.add(instant)
            instant += entry.durations[place % len(entry.durations)]
            place += 1
            if len(instants) > MOST_DRAWN:
                allowed = f"so short that {name} changes at most {MOST_DRAWN} times, with switch.jitter"
                raise InputError.of("limit", f"{scenario.limit} ns", allowed)
    return {instant: draw(scenario.seed, f"control {name} {instant}", jitter) for instant in sorted(instants)}


def _flows(scenario: Scenario, wiring: Wiring) -> list[dict[str, Any]]:
    """Return the flows, as a user's controller sees them."""
    return [
        {
            "name": flow.name,
            "src": flow.src,
            "dst": flow.dst,
            **{f"{end}_ip": wiring.stations[getattr(flow, end)].ip for end in ("src", "dst")},
            **{f"{end}_mac": wiring.stations[getattr(flow, end)].mac for end in ("src", "dst")},
            "proto": IP_PROTOCOL[flow.protocol],
            "port": wiring.ports[flow.name],
        }
        for flow in scenario.flows
    ]
