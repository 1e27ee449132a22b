# SPDX-License-Identifier: Apache-2.0
"""Classes and rules of an ``ocs`` switch in a network of several: its own part of each way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rdcnlab.engines.network import Wiring, forwarding
from rdcnlab.engines.network.graph import Way, all_ways
from rdcnlab.engines.network.numbers import TARGET
from rdcnlab.engines.network.ocs.classes import echo_of, own_of, slot_words, version_words
from rdcnlab.engines.network.versions import versions_of_way
from rdcnlab.scenario import DARK, Scenario
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
        for match in forwarding.matches(scenario, wiring, switch, way):
            rule = {
                "class_id": forwarding.class_of(wiring, switch, way),
                "prio": match.flow,
                "dst": match.receiver.ip,
                "proto": match.protocol,
                match.field: match.port,
            }
            if match.source is not None:
                rule["in_if"] = match.source.interface
            if match.subflow is not None:
                # only the flow's receiver has an address for each subflow; ACKs come from it
                rule["dst" if match.field == "dport" else "src"] = match.subflow
            found.append(rule)
    return found + list(_rest(scenario, wiring, switch))


def addresses(scenario: Scenario, wiring: Wiring, switch: int) -> list[list[str]]:
    """Return the port for each host's address: the host's own, or the trunk on the way to the host's switch."""
    return [
        [station.mac, station.interface if line is None else wiring.lines[line].trunk or ""]
        for station, line in forwarding.addresses(scenario, wiring, switch)
    ]


def _rest(scenario: Scenario, wiring: Wiring, switch: int) -> Iterator[dict[str, Any]]:
    """Yield the rules for packets of no flow: they take the shortest way; an optical switch loses them."""
    if switch in wiring.lost:
        yield {"class_id": wiring.lost[switch], "prio": REST}
        return
    for station, line in forwarding.addresses(scenario, wiring, switch):
        if line is not None:
            yield {"class_id": wiring.static[line], "prio": REST, "dst": station.ip}


def _static(number: int, target: int) -> dict[str, Any]:
    return {"id": number, "slots": [{"duration": 0, "target": target}], "hold": False, "phase": 0}


def _timed(scenario: Scenario, wiring: Wiring, switch: int, way: Way, step: Timetable) -> dict[str, Any]:
    """Return the class that follows a timetable; only the first switch of a way can hold packets in dark slots."""
    name = wiring.switches[switch]
    first = name == way.route.first
    slots = []
    for target, duration, place in zip(step.targets, step.durations, step.places, strict=True):
        number = forwarding.target_of(wiring, switch, target)
        if way.schedule is not None and first:
            slots.append(slot_words(way.schedule.slots[place], number, duration, scenario.network.mtu))
        else:
            slots.append({"duration": duration, "target": number})
    if len(slots) == 1:
        slots[0]["duration"] = 0  # the class never changes
    entry = {"id": forwarding.class_of(wiring, switch, way), "slots": slots, "phase": step.phase}
    echo = echo_of(wiring, switch, way.schedule) if way.schedule is not None and name == way.echo else {}
    entry |= version_words(versions_of_way(scenario, way, name, slots))
    if way.schedule is not None and first:
        return entry | own_of(scenario, way.schedule) | echo
    return entry | {"hold": first and scenario.switch.dark == "hold"} | echo
