# SPDX-License-Identifier: Apache-2.0
"""The compiled network: all that engines need of a scenario. Code that has it asks no scenario any more."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rdcnlab.engines.network.addresses import of_subflow
from rdcnlab.engines.network.aliases import Aliases
from rdcnlab.engines.network.classes import Classes
from rdcnlab.engines.network.forwarding import Entry, entries_at
from rdcnlab.engines.network.hosts import Machine
from rdcnlab.engines.network.optics import Light, Waiting
from rdcnlab.engines.network.parts import Line, Station, Trunk
from rdcnlab.engines.network.pipelines import Pipeline
from rdcnlab.engines.network.traffic import Traffic
from rdcnlab.engines.network.tree import spanning_tree
from rdcnlab.engines.network.ways import Way
from rdcnlab.scenario import (
    EngineSettings,
    Link,
    Mptcp,
    Node,
    Notify,
    Pool,
    Probes,
    Quic,
    Schedule,
    Switch,
    Transport,
)
from rdcnlab.scenario.additions import Additions
from rdcnlab.scenario.notified import Notification
from rdcnlab.scenario.optics import Optics
from rdcnlab.scenario.own import OwnAlgorithm
from rdcnlab.scenario.routes import Graph


@dataclass(frozen=True, eq=False, kw_only=True)
class Network:
    """The compiled network of a scenario: its parts with their numbers, and the settings of engines and hosts.

    Parameters
    ----------
    switches, kinds : tuple of str
        Names and kinds of switches, by number.
    nodes : tuple of Node
        What the scenario states of each switch, by number.
    is_named : bool
        Whether the scenario names the network's switches; otherwise it has one.
    graph : Graph
        The switches and links.
    stations : mapping of str to Station
        Stations by the names of hosts, and of the further lines of hosts.
    machines : mapping of str to Machine
        Hosts with all of their lines, by name.
    lines : tuple of Line
        Lines by number.
    trunks : tuple of Trunk
        One trunk for each pair of neighbouring switches; if one of them is not ``ocs``, one for each of their links.
    traffic : Traffic
        What hosts send, and when.
    ports : mapping of str to int
        The TCP or UDP port of a flow, by its name; for the traffic of programs, a number that no flow has.
    addresses : mapping of str to (str, str)
        The addresses to which ACKs of a flow go, and to which its data go, by its name.
    ways : tuple of Way
        The ways of all flows, slot by slot.
    classes : Classes
        The classes of traffic.
    aliases : Aliases or None
        Numbers of ways that addresses stand for; None if each flow has rules of its own.
    lights, waiting : tuple
        What optical switches with circuits do with light, and the queues of racks for packets to each other rack.
    uplinks : mapping of str to tuple of str
        The links of each rack to optical switches.
    beside : mapping of (str, str) to str or None
        With circuits on demand, the link by which packets of a rack reach another one without optical switches.
    pipelines : mapping of int to Pipeline
        What each switch ``bmv2`` runs, by its number.
    schedules, buffers : tuple
        The schedules of the network, and its shared buffers.
    notifications : tuple of Notification
        The hosts that are notified; empty without `notify`.
    mtu, overhead : int
        The largest IP packet, and what a frame needs on the wire in addition to it, in bytes.
    ends : {'exact', 'bucket'}
        How hosts keep their rate.
    limit, seed : int
        The length of the run in ns, and the source of all randomness.
    snapshots : tuple of int
        The instants of `Probes.snapshots` in ns since the start.
    additions : OwnAlgorithm, Additions or None
        Congestion controls that are built into the kernel.
    switch, transport, mptcp, quic, notify, optics, engine, probes
        Settings, as the scenario states them.
    """

    switches: tuple[str, ...]
    kinds: tuple[str, ...]
    nodes: tuple[Node, ...]
    is_named: bool
    graph: Graph
    stations: Mapping[str, Station]
    machines: Mapping[str, Machine]
    lines: tuple[Line, ...]
    trunks: tuple[Trunk, ...]
    traffic: Traffic
    ports: Mapping[str, int]
    addresses: Mapping[str, tuple[str, str]]
    ways: tuple[Way, ...]
    classes: Classes
    aliases: Aliases | None
    lights: tuple[Light, ...]
    waiting: tuple[Waiting, ...]
    uplinks: Mapping[str, tuple[str, ...]]
    beside: Mapping[tuple[str, str], str | None]
    pipelines: Mapping[int, Pipeline]
    schedules: tuple[Schedule, ...]
    buffers: tuple[Pool, ...]
    notifications: tuple[Notification, ...]
    mtu: int
    overhead: int
    ends: str
    limit: int
    seed: int
    snapshots: tuple[int, ...]
    additions: OwnAlgorithm | Additions | None
    switch: Switch
    transport: Transport
    mptcp: Mptcp
    quic: Quic
    notify: Notify | None
    optics: Optics | None
    engine: EngineSettings
    probes: Probes

    @functools.cached_property
    def links(self) -> dict[str, Link]:
        """Links by name; a link between two switches has two lines."""
        return {line.link.name: line.link for line in self.lines}

    @functools.cached_property
    def places(self) -> dict[int, str]:
        """Names of lines by number; lines to hosts are not included."""
        return {line.number: line.name for line in self.lines}

    @functools.cached_property
    def host_sides(self) -> dict[str, str]:
        """Names of the lines from hosts to switches, by host."""
        return {name: f"{name}@{name}" for name in self.stations}

    @functools.cached_property
    def ports_to_hosts(self) -> dict[str, str]:
        """Names of the lines from switches to hosts, by host."""
        return {station.name: f"{station.name}@{self.switches[station.switch]}" for station in self.stations.values()}

    @functools.cached_property
    def names(self) -> dict[int, str]:
        """Names of flows and schedules that have a class, by class; the ways back of flows are not included."""
        flows = list(self.ports)
        own = {number: flows[index] for (_, index, back), number in self.classes.own.items() if not back}
        return own | {number: schedule.name for number, schedule in self.classes.schedules.items()}

    @functools.cached_property
    def pools(self) -> dict[str, int]:
        """Numbers of the shared buffers by name; every switch has its own copy of each."""
        return {pool.name: number for number, pool in enumerate(self.buffers)}

    @functools.cached_property
    def begins(self) -> dict[str, str]:
        """The switch at which each schedule begins that flows follow, by its name.

        There its class has the schedule's queue and knows which network is active.
        """
        return {way.schedule.name: way.route.first for way in self.ways if way.schedule is not None}

    @functools.cached_property
    def turning(self) -> range:
        """Numbers of the classes whose packets take several circuits in turn within a slot.

        Changes from one of these circuits to the next are no events: there would be more of them than packets.
        """
        if self.optics is None or not self.optics.in_turn:
            return range(0)
        # `waiting` yields the queues of own packets last, so their numbers follow each other
        numbers = [
            self.classes.shared[self.switches.index(one.rack), one.schedule.name] for one in self.waiting if one.own
        ]
        return range(min(numbers), max(numbers) + 1)

    @functools.cached_property
    def entries(self) -> tuple[tuple[Entry, ...], ...]:
        """For each switch by its number, what it does with the packets of each way for which it chooses a target."""
        return tuple(entries_at(self, switch) for switch in range(len(self.switches)))

    @functools.cached_property
    def tree(self) -> frozenset[int]:
        """Numbers of the lines that frames to broadcast, multicast and unknown addresses take between switches."""
        return spanning_tree(self.lines)

    def transport_of(self, host: str) -> Transport:
        """Return the settings of TCP of a host: its own, or those of all hosts."""
        return self.machines[host].transport or self.transport

    def kind_field(self, switch: int) -> str:
        """Return the field of the scenario that has the kind of a switch."""
        node = self.nodes[switch]
        return "switch.kind" if node.kind is None else f"network.switches.{node.name}.kind"

    def line(self, switch: int, link: str) -> Line:
        """Return the line of a link at a switch."""
        return self._lines[switch, link]

    @functools.cached_property
    def _lines(self) -> dict[tuple[int, str], Line]:
        return {(line.switch, line.link.name): line for line in self.lines}

    def subflow_address(self, host: str, subflow: int) -> str:
        """Return a host's address for a subflow of Multipath TCP."""
        return of_subflow(self.stations[host].ip, subflow, graph=self.is_named)

    def lines_at(self, switch: int) -> list[Line]:
        """Return the lines that begin at a switch."""
        return [line for line in self.lines if line.switch == switch]

    def stations_at(self, switch: int) -> list[Station]:
        """Return the hosts at a switch."""
        return [station for station in self.stations.values() if station.switch == switch]

    def reached(self, switch: int) -> Iterator[tuple[Station, Line | None]]:
        """Yield each host that a switch can reach, with the line that packets of no flow take; None if it is here.

        They take the first of the links that begin a shortest way.
        """
        graph, name = self.graph, self.switches[switch]
        first: dict[int, Line | None] = {switch: None}
        for station in self.stations.values():
            last = station.switch
            if last not in first and graph.distance(name, self.switches[last]) is not None:
                first[last] = self.line(switch, graph.choices(name, self.switches[last])[0])
            if last in first:
                yield station, first[last]
