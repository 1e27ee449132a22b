# SPDX-License-Identifier: Apache-2.0
"""The hosts of a run as data: their lines, their settings of TCP, their cards, and what Multipath TCP does there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rdcnlab.engines.network.aliases import Aliases, of_way
from rdcnlab.engines.network.parts import Station
from rdcnlab.scenario import Scenario
from rdcnlab.scenario.mptcp import Endpoint, PathManager
from rdcnlab.scenario.stack import Offload
from rdcnlab.scenario.transport import Transport


@dataclass(frozen=True)
class Machine:
    """A host with all of its lines.

    Parameters
    ----------
    stations : tuple of Station
        Its first line, then its further lines.
    transport : Transport or None
        Its own settings of TCP; None: those of all hosts.
    offload : Offload
        What its card does for the kernel.
    offers : bool
        Whether it offers time-division TCP, if it sends over TCP.
    path_manager : PathManager
        What Multipath TCP does with its lines.
    aliases : tuple of str or None
        Its addresses for ways, besides its first one; None if addresses stand for no ways.
    """

    stations: tuple[Station, ...]
    transport: Transport | None
    offload: Offload
    offers: bool
    path_manager: PathManager
    aliases: tuple[str, ...] | None

    @property
    def name(self) -> str:
        """The host's name."""
        return self.stations[0].name

    @property
    def rate(self) -> int:
        """The sum of the rates of its lines in bit/s."""
        return sum(station.host.rate for station in self.stations)


def machines_of(scenario: Scenario, stations: Mapping[str, Station], aliased: Aliases | None) -> dict[str, Machine]:
    """Return the hosts of a scenario by name, in the order of the network.

    Parameters
    ----------
    scenario : Scenario
        The scenario.
    stations : mapping of str to Station
        The stations of all lines, by the line's name.
    aliased : Aliases or None
        The numbers of ways that addresses stand for.
    """
    lines: dict[str, list[Station]] = {}
    for station in sorted(stations.values(), key=lambda station: station.host.of is not None):
        lines.setdefault(station.host.of or station.name, []).append(station)
    own = {stack.name: stack for stack in scenario.hosts}
    offers, flows = scenario.offers(), [flow for flow in scenario.flows if flow.protocol == "mptcp"]
    senders, receivers = {flow.src for flow in flows}, {flow.dst for flow in flows}
    machines = {}
    for host in scenario.network.machines:
        stack, name = own.get(host.name), host.name
        transport = scenario.transport_of(name)
        machines[name] = Machine(
            stations=tuple(lines[name]),
            transport=None if transport is scenario.transport else transport,
            offload=(stack and stack.offload) or scenario.offload,
            offers=offers.get(name, True),
            path_manager=_path_manager(
                (stack and stack.mptcp) or PathManager(), lines[name], sends=name in senders, receives=name in receivers
            ),
            aliases=None if aliased is None else tuple(of_way(stations[name].ip, way) for way in aliased.used),
        )
    return machines


def _path_manager(given: PathManager, lines: list[Station], *, sends: bool, receives: bool) -> PathManager:
    """Return what the path manager of a host does, with the endpoints that it has by default."""
    if given.endpoints is not None or len(lines) == 1:
        return given
    endpoints = tuple(
        Endpoint(line=line.name, subflow=sends or not receives, signal=receives or not sends) for line in lines[1:]
    )
    return given.model_copy(update={"endpoints": endpoints})
