# SPDX-License-Identifier: Apache-2.0
"""The plan of a P4 switch that is one of several: it runs ``p4/ocs.p4``, and its lines are those of a panel.

Port numbers: a host has its index among the hosts at the switch, from 1. The line that is number n at the switch has
port 256 + n: packets leave into it there, and packets from the other end of its link come in there. Port 255 is the CPU
port. What leaves by port 254 is lost in the dark.
"""

from __future__ import annotations

from typing import Any

from rdcnlab.engines.kernel.switches import panel
from rdcnlab.engines.kernel.switches.bmv2.entries import CPU, DARK_PORT, FIRST_LINK
from rdcnlab.engines.kernel.switches.bmv2.plan import (
    PROCESSES_KB,
    SLOTS,
    US,
    inverse,
    managed_names,
    regular,
    version_registers,
)
from rdcnlab.engines.network import Wiring, forwarding
from rdcnlab.engines.network.forwarding import Entry
from rdcnlab.engines.network.numbers import TARGET
from rdcnlab.engines.network.versions import check_countable, versions_of_way
from rdcnlab.fields.errors import InputError
from rdcnlab.scenario import BYPASS, DARK, Scenario

#: Sizes of the program's registers and of its table ``classes``, and ports that are free for lines.
CLASSES, MATCHES, LINES = 1024, 1024, 255


def switch(scenario: Scenario, wiring: Wiring, number: int) -> dict[str, Any]:
    """Return the plan of one of several switches; see `rdcnlab.engines.kernel.switches.kind.Kind`."""
    around = panel.plan(scenario, wiring, number)
    ports = _ports(wiring, number)
    entries = list(forwarding.entries(scenario, wiring, number))
    classes = [_class(wiring, number, entry, place) for place, entry in enumerate(entries, 1)]
    managed = scenario.switch.control == "control-plane"
    commands, begins = _commands(scenario, wiring, number, entries, classes)
    return {
        **panel.hop("bmv2", wiring, number, around),
        "memory_kB": PROCESSES_KB,
        "control": scenario.switch.control,
        "interfaces": [*ports.items(), (f"cpu{number}", CPU)],
        "cpu": f"cpu{number}",
        "commands": commands,
        "begins": begins,
        "timed": [],
        # the slot changes of these classes are observed
        "classes": [entry for entry in classes if len(entry["slots"]) > 1 or managed],
    }


def check(scenario: Scenario, wiring: Wiring, number: int) -> None:
    """Raise InputError if a scenario asks for something that this P4 switch cannot do."""
    name, settings = wiring.switches[number], scenario.switch
    panel.check(scenario, wiring, number, "bmv2")
    for field, given in (("program", settings.program), ("entries", settings.entries)):
        if given:
            what = given if field == "entries" else settings.program and settings.program.path
            allowed = "nothing in a network of several switches, where bmv2 runs p4/ocs.p4"
            raise InputError.of(f"switch.{field}", str(what), allowed)
    node = scenario.network.node(name)
    if node.jitter:
        allowed = f"0 ns with {name} as bmv2, which has no finer clock than microseconds"
        raise InputError.of(f"network.switches.{name}.jitter", f"{node.jitter} ns", allowed)
    if node.late % US:
        allowed = f"whole microseconds with {name} as bmv2, which has no finer clock"
        raise InputError.of(f"network.switches.{name}.late", f"{node.late} ns", allowed)
    if len(panel.hosts_at(wiring, number)) > DARK_PORT - 1 or len(panel.lines_at(wiring, number)) > LINES:
        allowed = f"at most {DARK_PORT - 1} hosts and {LINES} links at {name}, which is bmv2"
        raise InputError.of("network", f"{len(panel.lines_at(wiring, number))} links", allowed)
    entries = list(forwarding.entries(scenario, wiring, number))
    for entry in entries:
        for duration in entry.durations:
            if duration % US:
                allowed = f"whole microseconds with {name} as bmv2, which has no finer clock"
                raise InputError.of(_field(scenario, entry), f"{duration} ns", allowed)
        if versions_of_way(scenario, entry.way, name, entry.durations):
            check_countable(_field(scenario, entry), entry.durations, entry.targets, TARGET[DARK])
    slots = sum(len(_class(wiring, number, entry, 1)["targets"]) for entry in entries)
    limits = (
        (len(entries), CLASSES, "classes of traffic"),
        (sum(len(entry.matches) for entry in entries), MATCHES, "flows in both directions"),
        (slots, SLOTS, "slots of one length in all timetables"),
    )
    for count, most, what in limits:
        if count > most:
            raise InputError.of("flows", f"{count} {what}", f"at most {most} at {name}, which is bmv2")


def _field(scenario: Scenario, entry: Entry) -> str:
    """Return the field that has the timetable of an entry."""
    if entry.way.schedule is not None:
        return f"network.schedules.{entry.way.schedule.name}.slots"
    flow, back = entry.way.flows[0]
    return f"flows.{scenario.flows[flow].name}.{'back' if back else 'path'}"


def _ports(wiring: Wiring, number: int) -> dict[str, int]:
    """Return the number of each port."""
    found = {panel.host_port(station): place for place, station in enumerate(panel.hosts_at(wiring, number), 1)}
    found |= {panel.line_port(line.number): FIRST_LINK + k for k, line in enumerate(panel.lines_at(wiring, number))}
    return found | {panel.dark_port(number): DARK_PORT}


def _action(wiring: Wiring, number: int, target: int) -> list[str]:
    if target in TARGET.values():
        return [f"OcsIngress.timetable.{DARK if target == TARGET[DARK] else BYPASS}"]
    return ["OcsIngress.timetable.to_link", str(_ports(wiring, number)[panel.line_port(target)]), "0"]


def _class(wiring: Wiring, number: int, entry: Entry, place: int) -> dict[str, Any]:
    """Return a class of the program: its timetable as in the scenario, and in the form that the program needs."""
    names = {target: DARK if target == TARGET[DARK] else str(target) for target in entry.targets}
    day, night, targets = regular([(d, names[t]) for d, t in zip(entry.durations, entry.targets, strict=True)])
    actions = {names[target]: _action(wiring, number, target) for target in entry.targets}
    return {
        "id": place,
        "phase_ns": round(entry.phase / US) * US,
        "slots": [[d, actions[names[t]]] for d, t in zip(entry.durations, entry.targets, strict=True)],
        "day": day // US,
        "night": night // US,
        "targets": [actions[target] for target in targets],
        **managed_names(),
    }


def _commands(
    scenario: Scenario, wiring: Wiring, number: int, entries: list[Entry], classes: list[dict[str, Any]]
) -> tuple[list[str], list[tuple[str, int, int]]]:
    """Return commands that fill the tables, and registers to set when the switch's clock is known."""
    ports = _ports(wiring, number)
    lines = ["mc_mgrp_create 1", f"mc_node_create 0 {CPU}", "mc_node_associate 1 0"]
    lines += [
        f"table_add OcsIngress.deliver.macs to_port {mac} => {ports[port]}"
        for mac, port in panel.addresses(scenario, wiring, number)
    ]
    begins = []
    for entry, known in zip(entries, classes, strict=True):
        place = known["id"]
        for match in entry.matches:
            source = "0&&&0" if match.source is None else f"{ports[panel.host_port(match.source)]}&&&0x1ff"
            own = {"sport": "0&&&0", "dport": "0&&&0", match.field: f"{match.port}&&&0xffff"}
            keys = f"{source} 0&&&0 {match.receiver.ip}&&&0xffffffff {match.protocol}&&&0xff"
            keys += f" {own['sport']} {own['dport']}"
            lines.append(f"table_add OcsIngress.classify.classes set_class {keys} => {place} {match.flow + 1}")
        versions = versions_of_way(scenario, entry.way, wiring.switches[number], entry.durations)
        lines += version_registers(place, versions)
        if scenario.switch.control == "control-plane":
            continue  # the manager maintains an entry in `circuits` instead
        lines += [
            f"table_add OcsIngress.timetable.slots {action[0]} {place} {slot} => {' '.join(action[1:])}"
            for slot, action in enumerate(known["targets"])
        ]
        if len(entry.targets) == 1:
            continue  # registers that are zero mean a class that never changes
        values = {
            "day": known["day"],
            "night": known["night"],
            "per_change": inverse(known["day"] + known["night"]),
            "slots_of": len(known["targets"]),
            "per_slots": inverse(len(known["targets"])),
        }
        lines += [f"register_write OcsIngress.timetable.{name} {place} {value}" for name, value in values.items()]
        begins.append(("OcsIngress.timetable.begin", place, known["phase_ns"] // US))
    return lines, begins
