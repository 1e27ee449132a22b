# SPDX-License-Identifier: Apache-2.0
"""The parts of a network with their numbers: hosts, lines and cables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rdcnlab.engines.network.addresses import address
from rdcnlab.scenario import Host, Link, Scenario
from rdcnlab.scenario.network import ONLY_SWITCH

#: Characters of a host's name in names of interfaces. Linux allows 15 characters there, of which ``-eth0`` takes 5.
MOST_LABEL = 10


@dataclass(frozen=True)
class Station:
    """A host with its number, addresses and switch.

    ``label`` is the part of interfaces' names that tells hosts apart.
    """

    host: Host
    number: int
    ip: str
    mac: str
    switch: int

    @property
    def name(self) -> str:
        """The host's name."""
        return self.host.name

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


def stations_of(scenario: Scenario, numbers: Mapping[str, int]) -> dict[str, Station]:
    """Return the stations by host name; `numbers` has the number of each switch."""
    return {
        host.name: Station(host, number, address(number, at), _mac(number + 1), at)
        for number, host in enumerate(scenario.network.hosts)
        for at in [numbers[host.at or ONLY_SWITCH]]
    }


def _mac(number: int) -> str:
    return f"02:00:00:00:{number >> 8:02x}:{number & 255:02x}"


def lines_and_trunks(scenario: Scenario, numbers: Mapping[str, int]) -> tuple[tuple[Line, ...], tuple[Trunk, ...]]:
    """Return the lines, two for a link between switches, and the cables; `numbers` has the number of each switch."""
    network = scenario.network
    names = list(numbers)
    trunks: dict[tuple[object, ...], Trunk] = {}
    lines: list[Line] = []
    for link in network.links:
        if link.between is None:
            lines.append(Line(len(lines), link.name, numbers[link.at or ONLY_SWITCH], link))
            continue
        ends = (numbers[link.between[0]], numbers[link.between[1]])
        # a switch of another kind than ocs has a port for each of its links, so a link has a cable of its own; and
        # light is passed on by the port that it comes from
        plain = network.optics is None and all(scenario.kind_at(end) == "ocs" for end in link.between)
        key: tuple[object, ...] = tuple(sorted(ends)) if plain else (link.name,)
        trunk = trunks.setdefault(key, Trunk(ends, (f"t{len(trunks)}a", f"t{len(trunks)}b")))
        port_at = dict(zip(trunk.switches, trunk.ports, strict=True))
        for end in ends:
            name = names[end]
            optical = network.node(name).optical
            lines.append(Line(len(lines), f"{link.name}@{name}", end, link, port_at[end], optical))
    return tuple(lines), tuple(trunks.values())
