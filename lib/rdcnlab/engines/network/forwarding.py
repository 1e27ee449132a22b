# SPDX-License-Identifier: Apache-2.0
"""The behaviour of a switch in terms that all kinds share: matches, lines and times.

A kind translates an `Entry` into its own form: a rule and a class, entries of a P4 table, filters of ``tc``. Packets of
no flow follow `Network.reached`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rdcnlab.engines.network.numbers import IP_PROTOCOL, TARGET
from rdcnlab.engines.network.parts import Station
from rdcnlab.engines.network.ways import Way
from rdcnlab.scenario import BYPASS, DARK, program_traffic

if TYPE_CHECKING:
    from rdcnlab.engines.network import Network


@dataclass(frozen=True)
class Match:
    """The packets of a flow in one direction.

    Parameters
    ----------
    flow : int
        Index of the flow. A smaller number has priority.
    source : Station or None
        The sender, if it is at this switch: packets must come from it. None: they come from another switch.
    receiver : Station
        The receiver, here or elsewhere.
    to : str or None
        The address to which packets go; None if the sender and the port say enough.
    protocol : int
        Protocol number of IP.
    field : {'sport', 'dport', ''}
        The port that is the flow's own: that of the destination for data, that of the source for ACKs. Empty for the
        traffic of programs, which is told by its addresses.
    port : int
        Its value.
    subflow : str or None
        With MPTCP, the address of the flow's receiver that names the subflow: data go to it, ACKs come from it.
    sender : str or None
        The address from which the traffic of programs comes.
    """

    flow: int
    source: Station | None
    receiver: Station
    to: str | None
    protocol: int
    field: str
    port: int
    subflow: str | None = None
    sender: str | None = None


@dataclass(frozen=True)
class Entry:
    """The targets and times of one way's packets at a switch.

    Parameters
    ----------
    number : int
        Number of the class in tables.
    way : Way
        The way.
    matches : tuple of Match
        Its packets: one match for each flow.
    targets : tuple of int
        Where packets go in each slot: a line by its number, or one of `TARGET`.
    durations : tuple of int
        ns of each slot. The slots repeat for ever; a single slot never ends.
    phase : int
        ns after the scenario's start at which the first slot begins. It is in force before, too.
    indices : tuple of int
        For each slot, the index of the way's slot that it belongs to.
    """

    number: int
    way: Way
    matches: tuple[Match, ...]
    targets: tuple[int, ...]
    durations: tuple[int, ...]
    phase: int
    indices: tuple[int, ...]


def entries_at(network: Network, switch: int) -> tuple[Entry, ...]:
    """Return the entry of each way for which a switch chooses a target."""
    name = network.switches[switch]
    entries = []
    for way in network.ways:
        if name not in way.steps:
            continue
        step = way.steps[name]
        targets = tuple(target_of(network, switch, target) for target in step.targets)
        durations = step.durations
        if not way.needs_class(name):
            targets, durations = targets[:1], (0,)
        matched = tuple(matches(network, switch, way))
        number = class_of(network, switch, way)
        entries.append(Entry(number, way, matched, targets, durations, step.phase, step.indices))
    return tuple(entries)


def matches(network: Network, switch: int, way: Way) -> Iterator[Match]:
    """Yield the packets of a way, as a switch sees them."""
    for index, back in way.flows:
        flow = network.traffic.all[index]
        first, last = (flow.dst, flow.src) if back else (flow.src, flow.dst)
        source, receiver = network.stations[first], network.stations[last]
        match = Match(
            flow=index,
            source=source if source.switch == switch else None,
            receiver=receiver,
            to=receiver.ip if network.is_named else None,
            protocol=IP_PROTOCOL[flow.protocol],
            field="sport" if back else "dport",
            port=network.ports[flow.name],
        )
        if program_traffic.is_of_programs(flow):
            yield dataclasses.replace(match, sender=source.ip, to=receiver.ip, field="", port=0)
            continue
        # a way of a single flow carries all its subflows; without a schedule, the first one has the flow's way
        unscheduled = flow.protocol == "mptcp" and flow.name not in network.traffic.schedules
        if flow.protocol != "mptcp" or unscheduled or (way.complete and way.schedule is None):
            yield match
            continue
        for subflow in range(network.traffic.subflows[flow.name]) if way.part is None else (way.part,):
            yield dataclasses.replace(match, subflow=network.subflow_address(flow.dst, subflow))


def class_of(network: Network, switch: int, way: Way) -> int:
    """Return the number of the class of a way at a switch."""
    name = network.switches[switch]
    if not way.needs_class(name):
        link = way.steps[name].targets[0]
        return network.classes.static[network.line(switch, link or "").number]
    if way.schedule is not None:
        return network.classes.shared[switch, way.schedule.name]
    index, back = way.flows[0]
    return network.classes.own[switch, index, back]


def target_of(network: Network, switch: int, target: str | None) -> int:
    """Return the number of a target at a switch: a link, "" for the receiver, None for the dark."""
    if not target:
        return TARGET[DARK if target is None else BYPASS]
    return network.line(switch, target).number


def field_of(network: Network, entry: Entry) -> str:
    """Return the field of the scenario that has the timetable of an entry."""
    if entry.way.schedule is not None:
        return f"network.schedules.{entry.way.schedule.name}.slots"
    flow, back = entry.way.flows[0]
    return f"flows.{network.traffic.all[flow].name}.{'back' if back else 'path'}"
