# SPDX-License-Identifier: Apache-2.0
"""The plan of a bridge of Open vSwitch, and the data about it that the controller needs.

Port numbers of OpenFlow: those of the panel's cables, counted from 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rdcnlab.engines.kernel.switches import panel
from rdcnlab.engines.network import Network, forwarding
from rdcnlab.engines.network.forwarding import Entry, Match
from rdcnlab.engines.network.numbers import IP_PROTOCOL, TARGET
from rdcnlab.fields.errors import InputError
from rdcnlab.scenario import BYPASS, DARK
from rdcnlab.scenario.draws import draw
from rdcnlab.scenario.routes import Timetable

#: Memory of the daemons and of the controller in kB.
PROCESSES_KB = 250_000
#: Name of the port of a flow's receiver among the names of ports.
RECEIVER = "receiver"
#: Largest number of drawn delays of a switch: with a jitter, each instant of its timetables has one.
MOST_DRAWN = 200_000


def switch(network: Network, number: int) -> dict[str, Any]:
    """Return the plan of one switch; see `rdcnlab.engines.kernel.switches.kind.Kind`."""
    settings = network.switch
    around = panel.plan(network, number)
    interfaces = {port: index for index, (_, port) in enumerate(around["pairs"], 1)}
    entries = network.entries[number]
    return {
        **panel.common("ovs", network, number, around),
        # the first switch of this kind counts the memory that all share
        "memory_kB": PROCESSES_KB if number == network.kinds.index("ovs") else 0,
        "bridge": f"br{number}",
        "dpid": number + 1,
        "interfaces": interfaces,
        "names": names(network, number),
        "table_size": settings.table_size,
        "addresses": panel.addresses(network, number),
        "entries": [_entry(network, number, entry) for entry in entries],
        "passing": list(_passing(network, number)),
        "delay_ns": settings.delay,
        "drawn_ns": _drawn(network, number, entries),
        "flows": _flows(network),
        **({} if settings.controller is None else _seen(network, number)),
    }


def controller(network: Network) -> dict[str, Any]:
    """Return where the user's controller is: the file that is imported first, and its further modules and files.

    Raises
    ------
    InputError
        A file cannot be read, or differs from the file that the scenario was made with.
    """
    chosen = network.switch.controller
    if chosen is None:
        return {"app": None, "files": []}
    for file in chosen.every:
        file.content("switch.controller")
    several = {"package": chosen.package, "modules": chosen.modules, "label": chosen.label}
    first = Path(chosen.path).resolve()
    return {
        "app": {"path": str(first), **({} if chosen.label == first.name else several)},
        "files": [str(Path(file.path).resolve()) for file in chosen.every],
    }


def check(network: Network, switch: int) -> None:
    """Raise InputError if a scenario asks this switch for something that it cannot do."""
    panel.check(network, switch, "ovs")
    settings, name = network.switch, network.switches[switch]
    for entry in network.entries[switch]:
        if len(entry.durations) == 1:
            continue
        field = forwarding.field_of(network, entry)
        if settings.controller is not None:
            allowed = f"one way: {settings.controller.label} moves flows at {name}, not a timetable"
            raise InputError.of(field, f"{len(entry.durations)} slots", allowed)
        if settings.jitter >= min(entry.durations):
            allowed = f"less than the shortest slot at {name}, {min(entry.durations)} ns"
            raise InputError.of("switch.jitter", f"{settings.jitter} ns", allowed)


def names(network: Network, number: int) -> dict[str, str]:
    """Return the port of each link, of each host, and of the dark, by the name in the scenario."""
    ports = {line.link.name: panel.line_port(line.number) for line in network.lines_at(number)}
    ports |= {station.name: panel.host_port(station) for station in network.stations_at(number)}
    return ports | {DARK: panel.dark_port(number)}


def _entry(network: Network, number: int, entry: Entry) -> dict[str, Any]:
    """Return the entry of one way at a switch; ``slots`` has the port of each slot, or `RECEIVER`."""
    return {
        "durations": entry.durations,
        "phase_ns": entry.phase,
        "slots": [_port(number, target) for target in entry.targets],
        "matches": [
            _match(network, number, entry, match, back)
            for match, (_, back) in zip(entry.matches, entry.way.flows, strict=True)
        ],
    }


def _port(number: int, target: int) -> str:
    """Return the port of a target, or `RECEIVER`, which is another port for each flow."""
    if target == TARGET[BYPASS]:
        return RECEIVER
    return panel.dark_port(number) if target == TARGET[DARK] else panel.line_port(target)


def _match(network: Network, number: int, entry: Entry, match: Match, back: bool) -> dict[str, Any]:
    """Return the packets of a flow, the port of each slot, and the port where the packets come in during each slot."""
    incoming = [panel.host_port(match.source)] if match.source else _incoming(network, number, entry)
    return {
        "name": f"{network.traffic.flows[match.flow].name}{' back' if back else ''}",
        "in_if": None if match.source is None else panel.host_port(match.source),
        **_fields(match),
        "receiver": panel.host_port(match.receiver),
        "ports": panel.ports(number, entry.targets, match.receiver),
        "from": incoming,
    }


def _passing(network: Network, number: int) -> Iterator[dict[str, Any]]:
    """Yield the packets that come to a switch, and by which port, for each flow, direction and slot."""
    name = network.switches[number]
    known: set[tuple[object, ...]] = set()
    for way in network.ways:
        for match, (flow, back) in zip(forwarding.matches(network, number, way), way.flows, strict=True):
            given = network.traffic.flows[flow]
            sender = network.stations[given.dst if back else given.src]
            for hops in way.route.ways:
                passed = [hop.switch for hop in hops or ()] + [way.route.last]
                if hops is None or name not in passed:
                    continue
                before = passed.index(name) - 1
                line = None if before < 0 else network.line(number, hops[before].link)
                port = panel.host_port(sender) if line is None else panel.line_port(line.number)
                if (flow, back, port) not in known:
                    known.add((flow, back, port))
                    yield {"came": port, **_fields(match)}


def _fields(match: Match) -> dict[str, Any]:
    """Return the fields of a packet that a rule can match."""
    return {
        "dst": match.receiver.ip,
        "mac": match.receiver.mac,
        "proto": match.protocol,
        "field": match.field,
        "port": match.port,
    }


def _incoming(network: Network, number: int, entry: Entry) -> list[str | None]:
    """Return, for each slot, the port where packets come in from another switch; None if none come."""
    name = network.switches[number]
    step: Timetable = entry.way.steps[name]
    ports: list[str | None] = []
    for index in step.indices[: len(entry.targets)]:
        way = entry.way.route.ways[index] or ()
        # the link of the hop before leads here; its other end is a line of this switch
        passed = [hop.switch for hop in way] + [entry.way.route.last]
        before = passed.index(name) - 1 if name in passed else -1
        ports.append(panel.line_port(network.line(number, way[before].link).number) if before >= 0 else None)
    return ports


def _drawn(network: Network, number: int, entries: Sequence[Entry]) -> dict[int, int]:
    """Return the random part of the delay of each decision about a switch (ns), by its instant since the start."""
    jitter, name = network.switch.jitter, network.switches[number]
    if not jitter:
        return {}
    instants: set[int] = set()
    for entry in entries:
        instant, index = entry.phase, 0
        while len(entry.durations) > 1 and instant <= network.limit:
            instants.add(instant)
            instant += entry.durations[index % len(entry.durations)]
            index += 1
            if len(instants) > MOST_DRAWN:
                allowed = f"so short that {name} changes at most {MOST_DRAWN} times, with switch.jitter"
                raise InputError.of("limit", f"{network.limit} ns", allowed)
    return {instant: draw(network.seed, f"control {name} {instant}", jitter) for instant in sorted(instants)}


def _seen(network: Network, number: int) -> dict[str, Any]:
    """Return what a controller of the user's own hears of: spans in which ports are down, and neighbours."""
    down = {panel.line_port(line.number): line.link.down for line in network.lines_at(number) if line.link.down}
    observes = {"observe_links": True} if network.switch.observe_links else {}
    return {**({"down": down} if down else {}), **observes}


def _flows(network: Network) -> list[dict[str, Any]]:
    """Return the flows, as a user's controller sees them."""
    return [
        {
            "name": flow.name,
            "src": flow.src,
            "dst": flow.dst,
            **{f"{end}_ip": network.stations[getattr(flow, end)].ip for end in ("src", "dst")},
            **{f"{end}_mac": network.stations[getattr(flow, end)].mac for end in ("src", "dst")},
            "proto": IP_PROTOCOL[flow.protocol],
            "port": network.ports[flow.name],
        }
        for flow in network.traffic.flows
    ]
