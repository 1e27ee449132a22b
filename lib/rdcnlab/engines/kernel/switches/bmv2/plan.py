# SPDX-License-Identifier: Apache-2.0
"""The plan of a P4 switch: ports, cables, and the entries and registers of its program.

Port numbers: a host has its index in the network, from 1. Link number n begins at port 256 + 2 n and ends at port 257 +
2 n. Port 255 is the CPU port. Behind port 254 there is only the observer of dark packets. Entries of users refer to
ports by name; see `rdcnlab.engines.kernel.switches.bmv2.entries`.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from rdcnlab.engines.kernel.switches import own_lines
from rdcnlab.engines.kernel.switches.bmv2 import depths
from rdcnlab.engines.kernel.switches.bmv2 import install as bmv2_install
from rdcnlab.engines.kernel.switches.bmv2.entries import CPU, DARK_PORT, FIRST_LINK, filled, port_numbers
from rdcnlab.engines.network import Network, lines
from rdcnlab.engines.network.numbers import FIRST_CLASS, FIRST_PORT
from rdcnlab.engines.network.versions import NONE, WRITE, check_countable
from rdcnlab.fields.errors import InputError
from rdcnlab.scenario import BYPASS, DARK, Flow, Link
from rdcnlab.scenario.p4 import COMPILED, not_compiled
from rdcnlab.scenario.queue import ETHERNET_HEADER
from rdcnlab.system import places

MAX_HOSTS, MAX_LINKS = 250, 128
#: Size of the table ``slots`` of ``p4/ocs.p4``.
SLOTS = 4096
#: ns in a microsecond, the resolution of BMv2's clock.
US = 1000
#: Bytes of a captured packet in ``inside/capture.py``, and memory of the switch and its control in kB.
CAPTURE, PROCESSES_KB = 256, 300_000
#: Largest line rate in bit/s. The program stores rates in 32 bits, as bytes per 2**16 us.
MAX_RATE = 2**32 * 8 * 10**6 // 2**16


def program() -> Path:
    """Return the path of our own compiled program."""
    return places.p4() / "build" / "ocs.json"


def switch(network: Network, number: int) -> dict[str, Any]:
    """Return the plan of a switch that has lines of its own, for its timetables.

    Parameters
    ----------
    network : Network
        A network whose only switch is ``bmv2``.
    number : int
        Number of the switch.

    Returns
    -------
    dict
        Plain data for JSON.

    Raises
    ------
    InputError
        The scenario asks for something that this switch cannot do.
    """
    traffic, settings = network.traffic, network.switch
    check(network)
    numbers = port_numbers(network)
    links = [
        {
            "id": index,
            "name": link.name,
            "near": f"l{index}a",
            "far": f"l{index}a-x",
            "out": f"l{index}b",
            "end": f"l{index}b-x",
            "line": {
                "rate": link.rate,
                "delay": link.delay,
                "overhead": lines.overhead(network),
                # the P4 program marks packets, not the queue
                "queue": {name: value for name, value in lines.queue(link, None, {}).items() if name != "ecn"},
            },
        }
        for index, link in enumerate(network.links.values())
    ]
    stations = list(network.stations.values())
    sides = [lines.port(network, station) for station in stations]
    own = settings.program is None
    managed = settings.control == "control-plane"
    captured = sum(traffic.sizes[flow.name] // network.mtu for flow in traffic.flows) + 20_000
    classes = [
        _class(flow, FIRST_CLASS + index, phase, numbers)
        for index, (flow, phase) in enumerate(zip(traffic.flows, traffic.phases, strict=True))
    ]
    commands, begins = _entries(network, sides, classes, numbers) if own else ([], [])
    entries, timed = filled(network, number)
    return {
        "kind": "bmv2",
        "name": network.switches[number],
        "mtu": network.mtu,
        # room of each capture in packets, and the memory that captures and processes need beside the traces
        "captured": captured,
        "memory_kB": PROCESSES_KB + (len(links) + 1) * captured * CAPTURE // 1000,
        "control": settings.control,
        "interfaces": [
            *((f"p-{station.label}", index) for index, station in enumerate(stations, 1)),
            *((f"l{n}{side}", FIRST_LINK + 2 * n + k) for n in range(len(links)) for k, side in enumerate("ab")),
            ("cpu", CPU),
            ("dark", DARK_PORT),
        ],
        "ports": sides,
        "links": links,
        "commands": commands + entries,
        "begins": begins,
        # entries that need the switch's clock, in pieces; a number is us after the scenario's start
        "timed": timed,
        # the slot changes of these classes are observed; programs of users get no ticks
        "classes": [entry for entry in classes if len(entry["slots"]) > 1 or managed] if own else [],
    }


def programs(network: Network, number: int) -> dict[str, Any]:
    """Return the paths of BMv2 and of the program of a switch, for the plan, and the queues whose depths it reads."""
    install, compiled = bmv2_install.install(), program_of(network, number)
    paths = {"bmv2": install.plan(), "program": str(compiled), "files": [str(compiled), *install.read]}
    if not depths.reads_depth(compiled.read_bytes()):
        return paths
    return {**paths, "depths": depths.queues(network, number, compiled.name)}


def program_of(network: Network, switch: int) -> Path:
    """Return the path of the compiled program of a switch.

    Raises
    ------
    InputError
        The file cannot be read, is not a compiled program, or differs from the file that the scenario was made with.
    """
    pipeline = network.pipelines[switch]
    chosen, field = pipeline.program, pipeline.program_field
    if chosen is None:
        return program()
    wrong = not_compiled(chosen.content(field))
    if wrong is not None:
        raise InputError.of(field, chosen.path, f"{COMPILED} ({wrong})")
    return Path(chosen.path).resolve()


def check(network: Network) -> None:
    """Raise InputError if the scenario asks for something that a P4 switch cannot do."""
    flows, settings = network.traffic.flows, network.switch
    if len(network.stations) > MAX_HOSTS:
        raise InputError.of("network.hosts", len(network.stations), f"at most {MAX_HOSTS} with a P4 switch")
    if len(network.links) > MAX_LINKS:
        raise InputError.of("network.links", len(network.links), f"at most {MAX_LINKS} with a P4 switch")
    if settings.dark != "drop":
        raise InputError.of("switch.dark", settings.dark, "drop, with a P4 switch: BMv2 cannot hold a packet back")
    own_lines.check_plain(network, "bmv2")
    for link in network.links.values():
        if link.pool is not None:
            raise InputError.of(f"network.links.{link.name}.pool", link.pool, "an own buffer, with a P4 switch")
        if link.rate > MAX_RATE:
            allowed = f"at most {MAX_RATE} bit/s with a P4 switch"
            raise InputError.of(f"network.links.{link.name}.rate", link.rate, allowed)
    for flow in flows:
        for slot in flow.slots:
            if slot.duration % US:
                allowed = "whole microseconds with a P4 switch, which has no finer clock"
                raise InputError.of(f"{flow.where}.path", f"{slot.duration} ns", allowed)
        if settings.program is None and _versions(flow):
            durations, targets = zip(*((slot.duration, slot.link) for slot in flow.slots), strict=True)
            check_countable(f"{flow.where}.path", durations, targets, DARK)


def _action(target: str, numbers: dict[str, int]) -> list[str]:
    if target in (DARK, BYPASS):
        return [f"OcsIngress.timetable.{target}"]
    return ["OcsIngress.timetable.to_link", str(numbers[target]), "0"]


def _class(flow: Flow, number: int, phase: int, numbers: dict[str, int]) -> dict[str, Any]:
    """Return one flow's class: its timetable as in the scenario, and in the form that the program needs."""
    given = [(slot.duration, slot.link) for slot in flow.slots] or [(0, flow.targets[0])]
    up, down, targets = regular(given)
    if len(targets) > SLOTS:
        allowed = f"a timetable that is no more than {SLOTS} slots of one length (the table slots of the P4 program)"
        raise InputError.of(f"flows.{flow.name}.path", f"{len(targets)} slots of {up} ns", allowed)
    return {
        "id": number,
        "phase_ns": round(phase / US) * US,
        "slots": [[duration, _action(target, numbers)] for duration, target in given],
        "day": up // US,
        "night": down // US,
        "targets": targets,
        **managed_names(),
    }


def managed_names() -> dict[str, str]:
    """Return the table and the register of the program that a manager in the control plane writes."""
    return {"table": "OcsIngress.timetable.circuits", "version": "OcsIngress.version.managed"}


def _versions(flow: Flow) -> int:
    """Return how the class of a flow handles versions; see `rdcnlab.engines.network.versions`."""
    return WRITE if flow.control.reads_versions and len(flow.slots) > 1 else NONE


def version_registers(number: int, versions: int) -> list[str]:
    """Return the command that sets how a class handles versions; empty if it writes none."""
    return [f"register_write OcsIngress.version.on {number} {versions}"] if versions else []


def regular(slots: list[tuple[int, str]]) -> tuple[int, int, list[str]]:
    """Return day, night (ns) and the targets of a timetable; split an irregular one into slots of equal length."""
    if len(slots) == 1:
        return 0, 0, [slots[0][1]]
    days, nights = slots[::2], slots[1::2]
    if (
        len(days) == len(nights)
        and {link for _, link in nights} == {DARK}
        and len({duration for duration, _ in days}) == len({duration for duration, _ in nights}) == 1
    ):
        return days[0][0], nights[0][0], [link for _, link in days]
    unit = math.gcd(*(duration for duration, _ in slots))
    return unit, 0, [link for duration, link in slots for _ in range(duration // unit)]


def slot_commands(number: int, actions: list[list[str]]) -> list[str]:
    """Return the commands that fill the table ``slots`` for a class, with the action of each slot."""
    return [
        f"table_add OcsIngress.timetable.slots {action[0]} {number} {slot} => {' '.join(action[1:])}"
        for slot, action in enumerate(actions)
    ]


def timetable_registers(known: dict[str, Any]) -> list[str]:
    """Return the commands that set the registers of a class with a timetable."""
    values = {
        "day": known["day"],
        "night": known["night"],
        "per_change": inverse(known["day"] + known["night"]),
        "slots_of": len(known["targets"]),
        "per_slots": inverse(len(known["targets"])),
    }
    return [f"register_write OcsIngress.timetable.{name} {known['id']} {value}" for name, value in values.items()]


def begin(known: dict[str, Any]) -> tuple[str, int, int]:
    """Return the register with the begin of a class's timetable: its name, index, and us after the start."""
    return "OcsIngress.timetable.begin", known["id"], known["phase_ns"] // US


def inverse(divisor: int) -> int:
    """Return the factor with which the program divides by multiplying; 0 for 0 and 1, which need no division."""
    return 2**63 // divisor + 1 if divisor > 1 else 0


def _entries(
    network: Network, sides: list[dict[str, Any]], classes: list[dict[str, Any]], numbers: dict[str, int]
) -> tuple[list[str], list[tuple[str, int, int]]]:
    """Return commands that fill the tables of ``p4/ocs.p4``, and registers to set when the switch's clock is known."""
    flows, settings = network.traffic.flows, network.switch
    managed = settings.control == "control-plane"
    lines = ["mc_mgrp_create 1", f"mc_node_create 0 {CPU}", "mc_node_associate 1 0"]
    for host, side in zip(network.stations.values(), sides, strict=True):
        lines.append(f"table_add OcsIngress.deliver.macs to_port {side['mac']} => {numbers[host.name]}")
    begins = []
    for index, (flow, entry) in enumerate(zip(flows, classes, strict=True)):
        number, source = entry["id"], numbers[flow.src]
        match = f"{source}&&&0x1ff 0&&&0 0&&&0 6&&&0xff 0&&&0 {FIRST_PORT + index}&&&0xffff"
        lines.append(f"table_add OcsIngress.classify.classes set_class {match} => {number} {index + 1}")
        lines += version_registers(number, _versions(flow))
        if managed:
            continue  # the manager maintains an entry in `circuits` instead
        lines += slot_commands(number, [_action(target, numbers) for target in entry["targets"]])
        lines += timetable_registers(entry)
        begins.append(begin(entry))
    for link in network.links.values():
        threshold = link.ecn_threshold if settings.ecn_threshold is None else settings.ecn_threshold
        values = _mark(link, threshold, network.mtu, network.overhead)
        port = numbers[link.name]
        lines += [f"register_write OcsIngress.mark.{name} {port} {value}" for name, value in values.items()]
    return lines, begins


def _mark(link: Link, threshold: int | None, mtu: int, overhead: int) -> dict[str, int]:
    """Return the registers for marking.

    A link's threshold and buffer count the bytes that wait behind the frame on the line, as our kernel's switch does.
    The program sees all bytes that the line must still send, including this frame. So both values are converted to a
    number of full frames, plus one for the frame on the line.
    """
    frame, wire = mtu + ETHERNET_HEADER, mtu + overhead
    values = {
        "rate": round(link.rate * 2**16 / 8e6),
        "overhead": overhead - ETHERNET_HEADER,
        "threshold": 2**32 - 1 if threshold is None else min(2**32 - 1, (threshold // frame + 1) * wire),
    }
    values["limit"] = min(2**32 - 1, (link.buffer_bytes(mtu) // frame + 1) * wire)
    return values
