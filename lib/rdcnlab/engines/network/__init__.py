# SPDX-License-Identifier: Apache-2.0
"""The numbers of all parts of a scenario: hosts, ports, lines, trunks and classes.

They are computed once for each scenario. The code that plans a run and the code that reads its results both use them,
so that no two places count separately. Numbers of lines and classes are unique in the whole network, so a trace record
does not need the name of its switch.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field

from rdcnlab.engines.network import mptcp
from rdcnlab.engines.network.addresses import address
from rdcnlab.engines.network.numbers import FIRST_CLASS, FIRST_PORT, LAST_CLASS, LAST_LINK, TARGET
from rdcnlab.fields.errors import InputError
from rdcnlab.scenario import BYPASS, Flow, Link, Scenario, Schedule

__all__ = ["Line", "Station", "Trunk", "Wiring", "wire"]

#: Characters of a host's name in names of interfaces. Linux allows 15 characters there, of which ``-eth0`` takes 5.
MOST_LABEL = 10


@dataclass(frozen=True)
class Station:
    """A host with its number, addresses and switch.

    ``label`` is the part of interfaces' names that tells hosts apart.
    """

    name: str
    number: int
    ip: str
    mac: str
    switch: int

    @property
    def label(self) -> str:
        """The host's name, or its number (from 1) if the name is too long; no host has a number as its name."""
        return self.name if len(self.name) <= MOST_LABEL else str(self.number + 1)

    @property
    def interface(self) -> str:
        """Name of the host's port at the switch."""
        return f"sw-{self.label}"


@dataclass(frozen=True)
class Line:
    """A link with its queue, in one direction: a loop at one switch, or one end of a duplex link.

    Parameters
    ----------
    number : int
        Id in the kernel and in traces.
    name : str
        Name in tables.
    switch : int
        Number of the switch where packets enter the line.
    link : Link
        The link, with rate, delay and queue.
    trunk : str or None
        The port through which packets leave the switch at the end of the line; None: the receiver's port.
    optical : bool
        Whether the line is at an optical switch and passes packets on without a rate and a queue.
    """

    number: int
    name: str
    switch: int
    link: Link
    trunk: str | None = None
    optical: bool = False


@dataclass(frozen=True)
class Trunk:
    """A cable between two switches, by their numbers and ports; rates and delays are in the lines, not here."""

    switches: tuple[int, int]
    ports: tuple[str, str]


@dataclass(frozen=True)
class Wiring:
    """The numbers of all parts of a scenario.

    Parameters
    ----------
    switches : tuple of str
        Names by number. If the network names no switches, its only switch is ``sw``.
    stations : mapping of str to Station
        Stations by host name.
    lines : tuple of Line
        Lines by number.
    trunks : tuple of Trunk
        One trunk for each pair of neighbouring switches; if one of them is not ``ocs``, one for each of their links.
    ports : mapping of str to int
        The TCP or UDP port of a flow, by its name.
    schedules : mapping of int to Schedule
        Schedules by the number of their class, in ascending order.
    own : mapping
        Class of each flow with a timetable of its own. The key is: switch, index of the flow, whether it is the way
        back.
    shared : mapping
        Class of each schedule, by switch and name.
    static : mapping
        With several switches: class of the traffic that always takes one line, by the line's number.
    lost : mapping
        Class of the packets that an optical switch loses, by switch.
    queued : mapping of int to Schedule
        Schedules that have a queue for data, by class.
    """

    switches: tuple[str, ...]
    stations: Mapping[str, Station]
    lines: tuple[Line, ...]
    trunks: tuple[Trunk, ...]
    ports: Mapping[str, int]
    schedules: Mapping[int, Schedule]
    own: Mapping[tuple[int, int, bool], int]
    shared: Mapping[tuple[int, str], int]
    queued: Mapping[int, Schedule]
    static: Mapping[int, int] = field(default_factory=dict)
    lost: Mapping[int, int] = field(default_factory=dict)

    @functools.cached_property
    def places(self) -> dict[int, str]:
        """Names of lines by number; lines to hosts are not included."""
        return {line.number: line.name for line in self.lines}

    @functools.cached_property
    def ports_to_hosts(self) -> dict[str, str]:
        """Names of the lines from switches to hosts, by host."""
        return {station.name: f"{station.name}@{self.switches[station.switch]}" for station in self.stations.values()}

    @functools.cached_property
    def targets(self) -> dict[int, str]:
        """Names of all targets that a slot can have, by number."""
        return {**self.places, **{number: name for name, number in TARGET.items()}}

    @functools.cached_property
    def names(self) -> dict[int, str]:
        """Names of flows and schedules that have a class, by class; the ways back of flows are not included."""
        flows = list(self.ports)
        own = {number: flows[place] for (_, place, back), number in self.own.items() if not back}
        return own | {number: schedule.name for number, schedule in self.schedules.items()}

    def line(self, switch: int, link: str) -> Line:
        """Return the line of a link at a switch."""
        return self._lines[switch, link]

    @functools.cached_property
    def _lines(self) -> dict[tuple[int, str], Line]:
        return {(line.switch, line.link.name): line for line in self.lines}


@functools.lru_cache(maxsize=4)
def wire(scenario: Scenario) -> Wiring:
    """Return the numbers of all parts of a scenario.

    Raises
    ------
    InputError
        The network needs more lines or classes than there are numbers.
    """
    if scenario.network.switches:
        from rdcnlab.engines.network import graph  # imported here, because `graph` imports this module

        found = graph.wire(scenario)
    else:
        found = _one_switch(scenario)
    most = max([*found.schedules, *found.own.values(), *found.static.values(), *found.lost.values()], default=0)
    if len(found.lines) > LAST_LINK + 1:
        raise InputError.of("network.links", f"{len(found.lines)} lines", f"at most {LAST_LINK + 1}, two for a link")
    if most > LAST_CLASS:
        raise InputError.of("flows", f"{most} classes of traffic", f"at most {LAST_CLASS}; fewer timetables do it")
    return found


def stations(scenario: Scenario, at: Mapping[str, int]) -> dict[str, Station]:
    """Return the stations by host name; `at` has the number of each host's switch."""
    return {
        host.name: Station(host.name, number, address(number, at[host.name]), _mac(number + 1), at[host.name])
        for number, host in enumerate(scenario.network.hosts)
    }


def _mac(number: int) -> str:
    return f"02:00:00:00:{number >> 8:02x}:{number & 255:02x}"


def _one_switch(scenario: Scenario) -> Wiring:
    network = scenario.network
    followed = _followed(scenario)
    schedules = dict(enumerate(followed, FIRST_CLASS + len(scenario.flows)))
    names = {schedule.name for schedule in followed}
    own: dict[tuple[int, int, bool], int] = {}
    free = FIRST_CLASS + len(scenario.flows) + len(schedules)
    for place, flow in enumerate(scenario.flows):
        if not names.issuperset(ways(scenario, flow)):
            own[0, place, False] = FIRST_CLASS + place
    for place, flow in enumerate(scenario.flows):
        if flow.back != BYPASS and not names.issuperset(ways(scenario, flow, back=True)):
            own[0, place, True] = free
            free += 1
    taken = {name for flow in scenario.flows for name in ways(scenario, flow)}
    return Wiring(
        switches=("sw",),
        stations=stations(scenario, dict.fromkeys((host.name for host in network.hosts), 0)),
        lines=tuple(Line(number, link.name, 0, link) for number, link in enumerate(network.links)),
        trunks=(),
        ports={flow.name: FIRST_PORT + place for place, flow in enumerate(scenario.flows)},
        schedules=schedules,
        own=own,
        shared={(0, schedule.name): number for number, schedule in schedules.items()},
        queued={number: each for number, each in schedules.items() if each.name in taken and each.queues},
    )


def ways(scenario: Scenario, flow: Flow, *, back: bool = False) -> list[str]:
    """Return the name of the schedule that each subflow of a flow follows.

    If the flow has its own timetable, no schedule has this name.
    """
    return [mptcp.way(scenario, flow, subflow, back=back) for subflow in range(scenario.subflows(flow))]


def _followed(scenario: Scenario) -> list[Schedule]:
    """Return the schedules that flows follow: first those of data, then those of ways back, then parts for subflows."""
    there = dict.fromkeys(flow.path for flow in scenario.flows if isinstance(flow.path, str))
    back = dict.fromkeys(flow.back for flow in scenario.flows if isinstance(flow.back, str))
    found = [scenario.network.schedule(name) for name in {**there, **back}]
    return [schedule for schedule in found if schedule is not None] + mptcp.parts(scenario)
