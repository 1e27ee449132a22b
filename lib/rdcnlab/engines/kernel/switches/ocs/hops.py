# SPDX-License-Identifier: Apache-2.0
"""Classes and rules of an ``ocs`` switch in a network of several: its own part of each way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rdcnlab.engines.kernel.switches.ocs.classes import echo_of, own_of, slot_words
from rdcnlab.engines.kernel.wiring import Wiring, mptcp
from rdcnlab.engines.kernel.wiring.graph import Way, all_ways, default_line
from rdcnlab.engines.kernel.wiring.numbers import IP_PROTOCOL, TARGET
from rdcnlab.scenario import BYPASS, DARK, Scenario
from rdcnlab.scenario.routes import Timetable

#: Priority of the rules for packets of no flow; the rules of flows come before.
REST = 65_000


def classes(scenario: Scenario, wiring: Wiring, switch: int) -> list[dict[str, Any]]:
    """Return the classes of a switch: one for each of its lines, and those that follow a timetable at this switch."""
    found = [_static(wiring.static[line.number], line.number) for line in wiring.lines if line.switch == switch]
    if switch in wiring.lost:
        found.append(_static(wiring.lost[switch], TARGET[DARK]))
    name = wiring.switches[switch]
    for way in all_ways(scenario):
        if name in way.steps and way.needs_class(name):
            found.append(_timed(scenario, wiring, switch, way, way.steps[name]))
    return found


def rules(scenario: Scenario, wiring: Wiring, switch: int) -> list[dict[str, Any]]:
    """Return the rules of a switch: for each flow in both directions, and for packets of no flow."""
    name = wiring.switches[switch]
    found = []
    for way in all_ways(scenario):
        if name not in way.steps:
            continue
        for place, back in way.flows:
            flow = scenario.flows[place]
            first, last = (flow.dst, flow.src) if back else (flow.src, flow.dst)
            rule = {
                "class_id": _number(wiring, switch, way),
                "prio": place,
                "dst": wiring.stations[last].ip,
                "proto": IP_PROTOCOL[flow.protocol],
                "sport" if back else "dport": wiring.ports[flow.name],
            }
            if wiring.stations[first].switch == switch:
                rule["in_if"] = wiring.stations[first].interface
            if flow.protocol != "mptcp":
                found.append(rule)
                continue
            # only the receiver has an address for each subflow
            number = wiring.stations[flow.dst].number
            subflows = range(scenario.subflows(flow)) if way.part is None else (way.part,)
            found += [rule | {"src" if back else "dst": mptcp.address(number, subflow)} for subflow in subflows]
    return found + list(_rest(scenario, wiring, switch))


def addresses(scenario: Scenario, wiring: Wiring, switch: int) -> list[list[str]]:
    """Return the port for each host's address: the host's own, or the trunk on the way to the host's switch."""
    found = []
    for station in wiring.stations.values():
        if station.switch == switch:
            found.append([station.mac, station.interface])
        elif scenario.network.graph.distance(wiring.switches[switch], wiring.switches[station.switch]) is not None:
            line = default_line(scenario, wiring, switch, wiring.switches[station.switch])
            found.append([station.mac, line.trunk or ""])
    return found


def _rest(scenario: Scenario, wiring: Wiring, switch: int) -> Iterator[dict[str, Any]]:
    """Yield the rules for packets of no flow: they take the shortest way; an optical switch loses them."""
    if switch in wiring.lost:
        yield {"class_id": wiring.lost[switch], "prio": REST}
        return
    for mac, _ in addresses(scenario, wiring, switch):
        station = next(each for each in wiring.stations.values() if each.mac == mac)
        if station.switch != switch:
            line = default_line(scenario, wiring, switch, wiring.switches[station.switch])
            yield {"class_id": wiring.static[line.number], "prio": REST, "dst": station.ip}


def _number(wiring: Wiring, switch: int, way: Way) -> int:
    name = wiring.switches[switch]
    if not way.needs_class(name):
        link = way.steps[name].targets[0]
        return wiring.static[wiring.line(switch, link or "").number]
    if way.schedule is not None:
        return wiring.shared[switch, way.schedule.name]
    place, back = way.flows[0]
    return wiring.own[switch, place, back]


def _target(wiring: Wiring, switch: int, target: str | None) -> int:
    if not target:
        return TARGET[DARK if target is None else BYPASS]
    return wiring.line(switch, target).number


def _static(number: int, target: int) -> dict[str, Any]:
    return {"id": number, "slots": [{"duration": 0, "target": target}], "hold": False, "phase": 0}


def _timed(scenario: Scenario, wiring: Wiring, switch: int, way: Way, step: Timetable) -> dict[str, Any]:
    """Return the class that follows a timetable; only the first switch of a way can hold packets in dark slots."""
    name = wiring.switches[switch]
    first = name == way.route.first
    slots = []
    for target, duration, place in zip(step.targets, step.durations, step.places, strict=True):
        number = _target(wiring, switch, target)
        if way.schedule is not None and first:
            slots.append(slot_words(way.schedule.slots[place], number, duration, scenario.network.mtu))
        else:
            slots.append({"duration": duration, "target": number})
    if len(slots) == 1:
        slots[0]["duration"] = 0  # the class never changes
    entry = {"id": _number(wiring, switch, way), "slots": slots, "phase": step.phase}
    echo = echo_of(wiring, switch, way.schedule) if way.schedule is not None and name == way.echo else {}
    if way.schedule is not None and first:
        return entry | own_of(scenario, way.schedule) | echo
    return entry | {"hold": first and scenario.switch.dark == "hold"} | echo
