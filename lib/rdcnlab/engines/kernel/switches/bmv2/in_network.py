# SPDX-License-Identifier: Apache-2.0
"""The plan of a P4 switch behind a panel: it runs ``p4/ocs.p4`` or a user's program; its lines are those of a panel.

Port numbers: a host has its index among the hosts at the switch, from 1. The line that is number n at the switch has
port 256 + n: packets leave into it there, and packets from the other end of its link come in there. Port 255 is the CPU
port. What leaves by port 254 is lost in the dark.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rdcnlab.engines.kernel.switches import panel
from rdcnlab.engines.kernel.switches.bmv2.entries import CPU, DARK_PORT, FIRST_LINK, filled
from rdcnlab.engines.kernel.switches.bmv2.plan import (
    PROCESSES_KB,
    SLOTS,
    US,
    begin,
    managed_names,
    regular,
    slot_commands,
    timetable_registers,
    version_registers,
)
from rdcnlab.engines.network import Network, forwarding
from rdcnlab.engines.network.forwarding import Entry
from rdcnlab.engines.network.numbers import TARGET
from rdcnlab.engines.network.versions import check_countable, versions_of
from rdcnlab.fields.errors import InputError
from rdcnlab.scenario import BYPASS, DARK

#: Sizes of the program's registers and of its table ``classes``, and ports that are free for lines.
CLASSES, MATCHES, LINES = 1024, 1024, 255


def switch(network: Network, number: int) -> dict[str, Any]:
    """Return the plan of one switch; see `rdcnlab.engines.kernel.switches.kind.Kind`."""
    own = network.pipelines[number].program is None
    around = panel.plan(network, number)
    ports = _ports(network, number)
    entries = network.entries[number] if own else ()
    classes = [_class(network, number, entry, index) for index, entry in enumerate(entries, 1)]
    managed = network.switch.control == "control-plane"
    commands, begins = _commands(network, number, entries, classes) if own else ([], [])
    more, timed = filled(network, number)
    return {
        **panel.common("bmv2", network, number, around),
        "memory_kB": PROCESSES_KB,
        "control": network.switch.control,
        "interfaces": [*ports.items(), (f"cpu{number}", CPU)],
        "cpu": f"cpu{number}",
        "commands": commands + more,
        "begins": begins,
        # entries that need the switch's clock, in pieces; a number is us after the scenario's start
        "timed": timed,
        # the slot changes of these classes are observed
        "classes": [entry for entry in classes if len(entry["slots"]) > 1 or managed],
    }


def check(network: Network, number: int) -> None:
    """Raise InputError if a scenario asks for something that this P4 switch cannot do."""
    name = network.switches[number]
    panel.check(network, number, "bmv2")
    node = network.nodes[number]
    if node.jitter:
        allowed = f"0 ns with {name} as bmv2, which has no finer clock than microseconds"
        raise InputError.of(f"network.switches.{name}.jitter", f"{node.jitter} ns", allowed)
    if node.late % US:
        allowed = f"whole microseconds with {name} as bmv2, which has no finer clock"
        raise InputError.of(f"network.switches.{name}.late", f"{node.late} ns", allowed)
    if len(network.stations_at(number)) > DARK_PORT - 1 or len(network.lines_at(number)) > LINES:
        allowed = f"at most {DARK_PORT - 1} hosts and {LINES} links at {name}, which is bmv2"
        raise InputError.of("network", f"{len(network.lines_at(number))} links", allowed)
    filled(network, number)
    entries = network.entries[number]
    program = network.pipelines[number].program
    if program is not None:
        for entry in entries:
            if len(entry.durations) > 1:
                allowed = f"one way: {Path(program.path).name} moves flows at {name}, not a timetable"
                raise InputError.of(forwarding.field_of(network, entry), f"{len(entry.durations)} slots", allowed)
        return
    for entry in entries:
        for duration in entry.durations:
            if duration % US:
                allowed = f"whole microseconds with {name} as bmv2, which has no finer clock"
                raise InputError.of(forwarding.field_of(network, entry), f"{duration} ns", allowed)
        if versions_of(network, entry, number):
            check_countable(forwarding.field_of(network, entry), entry.durations, entry.targets, TARGET[DARK])
    slots = sum(len(_class(network, number, entry, 1)["targets"]) for entry in entries)
    limits = (
        (len(entries), CLASSES, "classes of traffic"),
        (sum(len(entry.matches) for entry in entries), MATCHES, "flows in both directions"),
        (slots, SLOTS, "slots of one length in all timetables"),
    )
    for count, most, what in limits:
        if count > most:
            raise InputError.of("flows", f"{count} {what}", f"at most {most} at {name}, which is bmv2")


def _ports(network: Network, number: int) -> dict[str, int]:
    """Return the number of each port."""
    ports = {panel.host_port(station): index for index, station in enumerate(network.stations_at(number), 1)}
    ports |= {panel.line_port(line.number): FIRST_LINK + k for k, line in enumerate(network.lines_at(number))}
    return ports | {panel.dark_port(number): DARK_PORT}


def _action(network: Network, number: int, target: int) -> list[str]:
    if target in TARGET.values():
        return [f"OcsIngress.timetable.{DARK if target == TARGET[DARK] else BYPASS}"]
    return ["OcsIngress.timetable.to_link", str(_ports(network, number)[panel.line_port(target)]), "0"]


def _class(network: Network, number: int, entry: Entry, index: int) -> dict[str, Any]:
    """Return a class of the program: its timetable as in the scenario, and in the form that the program needs."""
    names = {target: DARK if target == TARGET[DARK] else str(target) for target in entry.targets}
    day, night, targets = regular([(d, names[t]) for d, t in zip(entry.durations, entry.targets, strict=True)])
    actions = {names[target]: _action(network, number, target) for target in entry.targets}
    return {
        "id": index,
        "phase_ns": round(entry.phase / US) * US,
        "slots": [[d, actions[names[t]]] for d, t in zip(entry.durations, entry.targets, strict=True)],
        "day": day // US,
        "night": night // US,
        "targets": [actions[target] for target in targets],
        **managed_names(),
    }


def _commands(
    network: Network, number: int, entries: tuple[Entry, ...], classes: list[dict[str, Any]]
) -> tuple[list[str], list[tuple[str, int, int]]]:
    """Return commands that fill the tables, and registers to set when the switch's clock is known."""
    ports = _ports(network, number)
    lines = ["mc_mgrp_create 1", f"mc_node_create 0 {CPU}", "mc_node_associate 1 0"]
    lines += [
        f"table_add OcsIngress.deliver.macs to_port {mac} => {ports[port]}"
        for mac, port in panel.addresses(network, number)
    ]
    begins = []
    for entry, known in zip(entries, classes, strict=True):
        index = known["id"]
        for match in entry.matches:
            source = "0&&&0" if match.source is None else f"{ports[panel.host_port(match.source)]}&&&0x1ff"
            own = {"sport": "0&&&0", "dport": "0&&&0", match.field: f"{match.port}&&&0xffff"}
            keys = f"{source} 0&&&0 {match.receiver.ip}&&&0xffffffff {match.protocol}&&&0xff"
            keys += f" {own['sport']} {own['dport']}"
            lines.append(f"table_add OcsIngress.classify.classes set_class {keys} => {index} {match.flow + 1}")
        versions = versions_of(network, entry, number)
        lines += version_registers(index, versions)
        if network.switch.control == "control-plane":
            continue  # the manager maintains an entry in `circuits` instead
        lines += slot_commands(index, known["targets"])
        if len(entry.targets) == 1:
            continue  # registers that are zero mean a class that never changes
        lines += timetable_registers(known)
        begins.append(begin(known))
    return lines, begins
