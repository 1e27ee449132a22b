# SPDX-License-Identifier: Apache-2.0
"""The network of a scenario in the form that engines take: graph, lines, queues, ways, and the numbers of all parts.

It is compiled once for each scenario. The code that plans a run and the code that reads its results both use it, so
that no two places count separately. Numbers of lines and classes are unique in the whole network, so a trace record
does not need the name of its switch. A network of one switch is a graph of one switch, whose links are loops at it.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rdcnlab.engines.network.addresses import of_subflow
from rdcnlab.engines.network.aliases import Aliases, aliases
from rdcnlab.engines.network.numbers import FIRST_CLASS, FIRST_PORT, LAST_CLASS, LAST_LINK, MOST_RULES, PORTS
from rdcnlab.engines.network.optics import Light, Waiting, lights, waiting
from rdcnlab.engines.network.parts import Line, Station, Trunk, lines_and_trunks, stations
from rdcnlab.engines.network.tree import spanning_tree
from rdcnlab.engines.network.ways import Way, all_ways
from rdcnlab.fields.errors import InputError
from rdcnlab.scenario import Link, Scenario, Schedule

__all__ = ["Classes", "Line", "Network", "Station", "Trunk", "Way", "compile_network"]


@dataclass(frozen=True)
class Classes:
    """The classes of traffic, by number.

    Parameters
    ----------
    schedules : mapping of int to Schedule
        Schedules by the number of their class, in ascending order.
    own : mapping
        Class of each flow with a timetable of its own. The key is: switch, index of the flow, whether it is the way
        back.
    shared : mapping
        Class of each schedule, by switch and name.
    queued : mapping of int to Schedule
        Schedules that have a queue for data, by class.
    static : mapping
        Class of the traffic that always takes one line, by the line's number.
    ends : mapping
        Class of what goes to one line of a host that has several, by the name of the host or of the further line.
    lost : mapping
        Class of the packets that an optical switch loses, by switch.
    light : mapping
        Class of what an optical switch receives from a link with circuits, by switch and link.
    """

    schedules: Mapping[int, Schedule]
    own: Mapping[tuple[int, int, bool], int]
    shared: Mapping[tuple[int, str], int]
    queued: Mapping[int, Schedule]
    static: Mapping[int, int]
    ends: Mapping[str, int]
    lost: Mapping[int, int]
    light: Mapping[tuple[int, str], int]


@dataclass(frozen=True, eq=False)
class Network:
    """The compiled network of a scenario.

    Parameters
    ----------
    scenario : Scenario
        The scenario; settings that do not concern the network are taken from it.
    switches : tuple of str
        Names by number.
    kinds : tuple of str
        The kind of each switch, by number.
    stations : mapping of str to Station
        Stations by the names of hosts, and of the further lines of hosts.
    lines : tuple of Line
        Lines by number.
    trunks : tuple of Trunk
        One trunk for each pair of neighbouring switches; if one of them is not ``ocs``, one for each of their links.
    ports : mapping of str to int
        The TCP or UDP port of a flow, by its name; for the traffic of programs, a number that no flow has.
    ways : tuple of Way
        The ways of all flows, slot by slot.
    classes : Classes
        The classes of traffic.
    lights, waiting : tuple
        What optical switches with circuits do with light, and the queues of racks for packets to each other rack.
    """

    scenario: Scenario
    switches: tuple[str, ...]
    kinds: tuple[str, ...]
    stations: Mapping[str, Station]
    lines: tuple[Line, ...]
    trunks: tuple[Trunk, ...]
    ports: Mapping[str, int]
    ways: tuple[Way, ...]
    classes: Classes
    lights: tuple[Light, ...] = ()
    waiting: tuple[Waiting, ...] = ()

    @property
    def is_named(self) -> bool:
        """Whether the scenario names the network's switches; otherwise it has one."""
        return bool(self.scenario.network.switches)

    @property
    def mtu(self) -> int:
        """Largest IP packet in bytes."""
        return self.scenario.network.mtu

    @property
    def overhead(self) -> int:
        """Bytes that a frame needs on the wire in addition to its IP packet."""
        return self.scenario.network.overhead

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
        return {pool.name: number for number, pool in enumerate(self.scenario.network.pools)}

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
        optics = self.scenario.network.optics
        if optics is None or optics.split != "packet":
            return range(0)
        # `waiting` yields the queues of own packets last, so their numbers follow each other
        numbers = [
            self.classes.shared[self.switches.index(one.rack), one.schedule.name] for one in self.waiting if one.own
        ]
        return range(min(numbers), max(numbers) + 1)

    @functools.cached_property
    def tree(self) -> frozenset[int]:
        """Numbers of the lines that frames to broadcast, multicast and unknown addresses take between switches."""
        return spanning_tree(self.lines)

    @functools.cached_property
    def aliases(self) -> Aliases | None:
        """Numbers of ways that addresses stand for; None if each flow has rules of its own.

        That is so where switches have room for them, in ns-3, whose switches have, and where flows do more than take
        one of several constant ways.
        """
        if self.scenario.engine.kind != "kernel":
            return None
        count = len(self.scenario.flows)
        # a flow has at most two rules in a switch, so that most scenarios need not be looked at
        many = count > PORTS or (2 * count > MOST_RULES - len(self.stations) and self._has_too_many_rules())
        return aliases(self) if many else None

    def _has_too_many_rules(self) -> bool:
        """Return whether flows would need more rules than a switch can have, beside one for each host."""
        counts = dict.fromkeys(self.switches, len(self.stations))
        for way in self.ways:
            for name in way.steps:
                usual = self.scenario.network.graph.choices(name, way.route.last)[:1]
                counts[name] += len(way.flows) * ([way.steps[name].targets[0]] != usual)
        return max(counts.values()) > MOST_RULES

    @functools.cached_property
    def turns(self) -> tuple[int, ...]:
        """Indices of flows in the order of their starts; each has the next port, as long as there are ports."""
        starts = self.scenario.start_times()
        return tuple(sorted(range(len(starts)), key=starts.__getitem__))

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

    def stations_of(self, host: str) -> list[Station]:
        """Return the stations of a host: its first line, then its further lines."""
        return [self.stations[line.name] for line in self.scenario.network.lines_of(host)]

    def rate_of(self, host: str) -> int:
        """Return the sum of the rates of a host's lines in bit/s."""
        return sum(line.rate for line in self.scenario.network.lines_of(host))

    def stations_at(self, switch: int) -> list[Station]:
        """Return the hosts at a switch."""
        return [station for station in self.stations.values() if station.switch == switch]

    def reached(self, switch: int) -> Iterator[tuple[Station, Line | None]]:
        """Yield each host that a switch can reach, with the line that packets of no flow take; None if it is here.

        They take the first of the links that begin a shortest way.
        """
        graph, name = self.scenario.network.graph, self.switches[switch]
        first: dict[int, Line | None] = {switch: None}
        for station in self.stations.values():
            last = station.switch
            if last not in first and graph.distance(name, self.switches[last]) is not None:
                first[last] = self.line(switch, graph.choices(name, self.switches[last])[0])
            if last in first:
                yield station, first[last]


def compile_network(scenario: Scenario) -> Network:
    """Return the network of a scenario in the form that engines take.

    Raises
    ------
    InputError
        The network needs more lines or classes than there are numbers, or its flows have no ways.
    """
    return _compiled(scenario, tuple(file.path for file in scenario.user_files))


@functools.lru_cache(maxsize=4)
def _compiled(scenario: Scenario, _paths: tuple[str, ...]) -> Network:
    """Return the compiled network. Equal scenarios share it only where their files have the same paths, too."""
    names = tuple(node.name for node in scenario.network.nodes)
    kinds = tuple(scenario.kind_at(name) for name in names)
    numbers = {name: number for number, name in enumerate(names)}
    lines, trunks = lines_and_trunks(scenario, numbers)
    light, queues = tuple(lights(scenario)), tuple(waiting(scenario))
    waits = (Way(one.flows, one.schedule, one.route, {one.rack: one.step}, rest=True) for one in queues)
    ways = (*all_ways(scenario), *waits)
    classes = _classes(scenario, numbers, lines, ways, light)
    numbered = (classes.own, classes.static, classes.ends, classes.lost, classes.light)
    most = max([*classes.schedules, *(number for some in numbered for number in some.values())], default=0)
    if len(lines) > LAST_LINK + 1:
        raise InputError.of("network.links", f"{len(lines)} lines", f"at most {LAST_LINK + 1}, two for a link")
    if most > LAST_CLASS:
        raise InputError.of("flows", f"{most} classes of traffic", f"at most {LAST_CLASS}; fewer timetables do it")
    ports = {flow.name: FIRST_PORT + index for index, flow in enumerate(scenario.traffic)}
    network = Network(
        scenario, names, kinds, stations(scenario, numbers), lines, trunks, ports, ways, classes, light, queues
    )
    if len(scenario.traffic) > PORTS:
        _share_ports(network, ports)
    return network


def _share_ports(network: Network, ports: dict[str, int]) -> None:
    """Let flows that begin later have the ports of earlier ones.

    Raises
    ------
    InputError
        Ports tell flows apart in switches, or nobody knows before the run when a flow begins.
    """
    flows = network.scenario.flows
    waiting = next((flow for flow in flows if flow.after is not None), None)
    if waiting is not None or network.aliases is None:
        reason = (
            f"flow {waiting.name} waits for others" if waiting is not None else "switches tell flows apart by ports"
        )
        allowed = f"at most {PORTS}, because {reason}"
        raise InputError.of("flows", f"{len(network.scenario.traffic)} flows", allowed)
    for turn, index in enumerate(network.turns):
        ports[flows[index].name] = FIRST_PORT + turn % PORTS


def _classes(
    scenario: Scenario,
    numbers: Mapping[str, int],
    lines: tuple[Line, ...],
    ways: tuple[Way, ...],
    lights: tuple[Light, ...],
) -> Classes:
    """Return the numbers of all classes.

    In a network that names no switch, data of flow number n have class n (from 1) if they have one, and a line has a
    class only for switches that need one to send packets into it.
    """
    free = itertools.count(FIRST_CLASS)
    steps = [(way, name) for way in ways for name in way.steps if way.needs_class(name)]
    static: dict[int, int] = {}
    reserved: dict[int, int] = {}
    if scenario.network.switches:
        static = {line.number: next(free) for line in lines}
        # the queues of schedules have consecutive numbers, which trace filters need
        steps.sort(key=lambda step: not step[0].queues_data(step[1]))
    else:
        reserved = {index: next(free) for index in range(len(scenario.traffic))}
    several = {name for host in scenario.network.hosts if host.of is not None for name in (host.of, host.name)}
    ends = {host.name: next(free) for host in scenario.network.hosts if host.name in several}
    lost = {numbers[node.name]: next(free) for node in scenario.network.nodes if node.optical}
    schedules: dict[int, Schedule] = {}
    shared: dict[tuple[int, str], int] = {}
    own: dict[tuple[int, int, bool], int] = {}
    queued: dict[int, Schedule] = {}
    for way, name in steps:
        if way.schedule is None:
            index, back = way.flows[0]
            own[numbers[name], index, back] = reserved[index] if reserved and not back else next(free)
            continue
        chosen = next(free)
        schedules[chosen], shared[numbers[name], way.schedule.name] = way.schedule, chosen
        if way.queues_data(name):
            queued[chosen] = way.schedule
    if not scenario.network.switches and scenario.switch.kind != "ocs":
        static = {line.number: next(free) for line in lines}
    light = {(numbers[one.switch], one.link): next(free) for one in lights}
    return Classes(schedules, own, shared, queued, static, ends, lost, light)
