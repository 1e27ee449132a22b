# SPDX-License-Identifier: Apache-2.0
"""The compiler: from a scenario to the network that engines take."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from rdcnlab.engines.network.aliases import Aliases, aliases, of_way
from rdcnlab.engines.network.circuits import uplinks
from rdcnlab.engines.network.classes import Classes, check_numbers, classes_of
from rdcnlab.engines.network.hosts import machines_of
from rdcnlab.engines.network.network import Network
from rdcnlab.engines.network.numbers import FEW_RULES, FIRST_PORT, LAST_LINK, PORTS
from rdcnlab.engines.network.optics import beside_circuits, lights, waiting
from rdcnlab.engines.network.parts import Station, lines_and_trunks, stations_of
from rdcnlab.engines.network.pipelines import pipelines_of
from rdcnlab.engines.network.traffic import Traffic, traffic_of
from rdcnlab.engines.network.ways import Way, all_ways
from rdcnlab.fields.errors import InputError
from rdcnlab.scenario import Scenario
from rdcnlab.scenario.additions import additions


def compile_network(scenario: Scenario, *, several_addresses: bool = True) -> Network:
    """Return the network of a scenario in the form that engines take.

    Parameters
    ----------
    scenario : Scenario
        The scenario.
    several_addresses : bool
        Whether the engine's hosts can have an address for each way, so that thousands of flows need few rules.

    Raises
    ------
    InputError
        The network needs more lines or classes than there are numbers, or its flows have no ways.
    """
    given, names = scenario.network, tuple(node.name for node in scenario.network.nodes)
    numbers = {name: number for number, name in enumerate(names)}
    lines, trunks = lines_and_trunks(scenario, numbers)
    light, queues = tuple(lights(scenario)), tuple(waiting(scenario))
    waits = (
        Way(one.flows, one.schedule, one.route, {one.rack: one.step}, rest=True, ranks=one.ranks) for one in queues
    )
    ways = (*all_ways(scenario), *waits)
    classes = classes_of(scenario, numbers, lines, ways, light)
    if len(lines) > LAST_LINK + 1:
        raise InputError.of("network.links", f"{len(lines)} lines", f"at most {LAST_LINK + 1}, two for a link")
    check_numbers(classes)
    stations, traffic = stations_of(scenario, numbers), traffic_of(scenario)
    aliased = _aliases(scenario, stations, ways, classes) if several_addresses else None
    racks = uplinks(given) if given.optics is not None else {}
    on_demand = racks if given.optics is not None and given.optics.demand is not None else {}
    return Network(
        switches=names,
        kinds=tuple(scenario.kind_at(name) for name in names),
        nodes=given.nodes,
        is_named=bool(given.switches),
        graph=given.graph,
        stations=stations,
        machines=machines_of(scenario, stations, aliased),
        lines=lines,
        trunks=trunks,
        traffic=traffic,
        ports=_ports(traffic, aliased),
        addresses=_addresses(traffic, stations, aliased),
        ways=ways,
        classes=classes,
        aliases=aliased,
        lights=light,
        waiting=queues,
        uplinks={rack: tuple(links) for rack, links in racks.items()},
        beside={pair: beside_circuits(given, *pair) for pair in itertools.permutations(on_demand, 2)},
        pipelines=pipelines_of(scenario),
        schedules=given.schedules,
        buffers=given.pools,
        notifications=() if scenario.notify is None else scenario.notifications(),
        mtu=given.mtu,
        overhead=given.overhead,
        ends=given.ends,
        limit=scenario.limit,
        seed=scenario.seed,
        snapshots=tuple(scenario.snapshots()),
        additions=additions(scenario),
        switch=scenario.switch,
        transport=scenario.transport,
        mptcp=scenario.mptcp,
        quic=scenario.quic,
        notify=scenario.notify,
        optics=given.optics,
        engine=scenario.engine,
        probes=scenario.probes,
    )


def _aliases(
    scenario: Scenario, stations: Mapping[str, Station], ways: Sequence[Way], classes: Classes
) -> Aliases | None:
    """Return the numbers of ways that addresses stand for; None if each flow has rules of its own.

    That is so where switches have room for them, and where flows do more than take one of several constant ways.
    """
    network, count = scenario.network, len(scenario.flows)
    if not network.switches or scenario.programs or network.optics is not None or classes.ends:
        return None
    # a flow has at most two rules in a switch, so that most scenarios need not be looked at
    few = count <= PORTS and 2 * count <= FEW_RULES - len(stations)
    if few or (count <= PORTS and not _are_too_many_rules(scenario, stations, ways)):
        return None
    return aliases(ways)


def _are_too_many_rules(scenario: Scenario, stations: Mapping[str, Station], ways: Sequence[Way]) -> bool:
    """Return whether flows would need more rules than a switch can have, beside one for each host."""
    graph = scenario.network.graph
    counts = dict.fromkeys(graph.switches, len(stations))
    for way in ways:
        for name in way.steps:
            usual = graph.choices(name, way.route.last)[:1]
            counts[name] += len(way.flows) * ([way.steps[name].targets[0]] != usual)
    return max(counts.values()) > FEW_RULES


def _ports(traffic: Traffic, aliased: Aliases | None) -> dict[str, int]:
    """Return the port of each flow; flows that begin later have the ports of earlier ones if there are too few.

    Raises
    ------
    InputError
        Ports tell flows apart in switches, or nobody knows before the run when a flow begins.
    """
    ports = {flow.name: FIRST_PORT + index for index, flow in enumerate(traffic.all)}
    if len(ports) <= PORTS:
        return ports
    waiting = next((flow for flow in traffic.flows if flow.after is not None), None)
    if waiting is not None or aliased is None:
        reason = (
            f"flow {waiting.name} waits for others" if waiting is not None else "switches tell flows apart by ports"
        )
        raise InputError.of("flows", f"{len(ports)} flows", f"at most {PORTS}, because {reason}")
    turns = {traffic.flows[index].name: FIRST_PORT + turn % PORTS for turn, index in enumerate(traffic.turns)}
    return ports | turns


def _addresses(
    traffic: Traffic, stations: Mapping[str, Station], aliased: Aliases | None
) -> dict[str, tuple[str, str]]:
    """Return the address to which ACKs of each flow go, and that to which its data go."""
    ends = {flow.name: (stations[flow.src].ip, stations[flow.dst].ip) for flow in traffic.flows}
    if aliased is None:
        return ends
    ways, numbers = aliased.ways, traffic.numbers
    return {
        name: (of_way(sender, ways[numbers[name], True]), of_way(receiver, ways[numbers[name], False]))
        for name, (sender, receiver) in ends.items()
    }
