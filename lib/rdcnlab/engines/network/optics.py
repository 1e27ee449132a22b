# SPDX-License-Identifier: Apache-2.0
"""The ways of light through optical switches, and the timetables of racks for packets to each other rack."""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from rdcnlab.engines.network.circuits import Circuits, uplinks
from rdcnlab.engines.network.numbers import MOST_RULES
from rdcnlab.engines.network.ranked import with_bulk
from rdcnlab.engines.network.routing import routed
from rdcnlab.engines.network.tables import Links, Routed, Table
from rdcnlab.fields.errors import InputError
from rdcnlab.fields.units import NS_PER_S
from rdcnlab.scenario import DARK, Scenario, Schedule, Slot, program_traffic
from rdcnlab.scenario.forwarding import MOST_SLOTS, timetable
from rdcnlab.scenario.network import Network as ScenarioNetwork
from rdcnlab.scenario.optics import Optics
from rdcnlab.scenario.routes import Graph, Hop, NoWay, Route, Timetable
from rdcnlab.scenario.timetable import LEAST_SLOT

#: What a queue does in a slot: the link that it takes, and its rank there.
_Step = tuple[str | None, int]


@dataclass(frozen=True)
class Light:
    """What an optical switch does with the light of one link: the link that it leaves by, over time."""

    switch: str
    link: str
    step: Timetable


@dataclass(frozen=True)
class Waiting:
    """The queue of a rack for packets to another rack, and the uplink that serves it over time.

    Parameters
    ----------
    rack, last : str
        Where packets wait, and where they go.
    own : bool or None
        True: for packets of the rack's own hosts. False: for packets from other racks. None: for all.
    schedule : Schedule
        The queue and the slots.
    route : Route
        The next link in each slot.
    step : Timetable
        The timetable of the rack.
    flows : tuple of (int, bool)
        Index of each flow whose packets alone wait here, and whether these are the packets that answer. Empty: the
        packets of all other flows.
    senders : tuple of str
        Racks whose packets wait here, to whatever rack they go; `rack` itself means its own hosts. Empty: those of all
        racks to `last`.
    ranks : tuple of int
        The rank of the queue in each slot of `route`; empty: 0.
    """

    rack: str
    last: str
    own: bool | None
    schedule: Schedule
    route: Route
    step: Timetable
    flows: tuple[tuple[int, bool], ...] = ()
    senders: tuple[str, ...] = ()
    ranks: tuple[int, ...] = ()


def lights(scenario: Scenario) -> Iterator[Light]:
    """Yield what optical switches do with the light of each uplink that ever has a circuit.

    Raises
    ------
    InputError
        A circuit follows another one without dark slots that are longer than the guard of the switch.
    """
    network = scenario.network
    optics = network.optics
    if optics is None:
        return
    durations = tuple(slot.duration for slot in optics.slots)
    passing = [optics.light(place) for place in range(len(durations))]
    for rack, links in uplinks(network).items():
        for link in links:
            targets = [way.get(link) for way in passing]
            if not any(targets) and optics.demand is None:
                continue
            _check_dark_between(link, targets)
            switch = network.graph.other(link, rack)
            ways = tuple(None if out is None else (Hop(rack, link), Hop(switch, out)) for out in targets)
            route = Route(rack, "", durations, ways, optics.phase)
            try:
                yield Light(switch, link, timetable(scenario, route, switch))
            except NoWay as error:
                raise InputError.of("network.optics.slots", f"the circuits of {link}", str(error)) from None


def _check_dark_between(link: str, targets: list[str | None]) -> None:
    for place, (before, after) in enumerate(itertools.pairwise([*targets, targets[0]])):
        if before is not None and after is not None and before != after:
            value = f"{link} joined with {before}, then with {after}"
            allowed = "circuits with a dark slot between them; a frame that is under way at a change would be lost"
            raise InputError.of(f"network.optics.slots[{place}]", value, allowed)


def waiting(scenario: Scenario) -> Iterator[Waiting]:
    """Yield the queues of racks for packets to each other rack; where no way begins, packets wait for ever.

    Raises
    ------
    InputError
        A flow's packets, or those that answer, would wait for ever.
    """
    network = scenario.network
    optics = network.optics
    if optics is None:
        return
    circuits = _circuits(network, optics)
    tables = routed(circuits, optics)
    if optics.bulk is not None:
        bulk = {number for number, flow in enumerate(scenario.traffic) if flow.size >= optics.bulk}
        tables = with_bulk(circuits, tables, bulk)
    kinds: list[tuple[Table, bool | None]] = [(tables.every, None if tables.own is None else False)]
    if tables.own is not None:
        kinds.append((tables.own, True))
    for table, own in kinds:
        for (rack, last), links in table.items():
            if optics.demand is not None:
                beside = beside_circuits(network, rack, last)
                links = tuple(link or beside for link in links)
            elif not any(links):
                _check_unused(scenario, optics, rack, last)
            ranks = (tables.own_ranks or {}).get((rack, last), ()) if own else ()
            yield _waiting(scenario, circuits, (rack, last), links, own=own, ranks=ranks)
    for spray in tables.sprays:
        pair = (spray.rack, f"dimension{spray.dimension}")
        yield _waiting(scenario, circuits, pair, spray.links, own=True, senders=spray.senders)
    yield from _spread(scenario, circuits, tables)


def _circuits(network: ScenarioNetwork, optics: Optics) -> Circuits:
    """Return the circuits in the slots of tables: where circuits are taken in turn, a slot is a part of a slot.

    A queue that comes to an uplink is served after those that were there. So a part must be long enough for a frame of
    each: packets from other racks, those with the direct circuit, and a share of all other queues of the rack. One more
    frame is under way when a part begins. With shorter parts the queues to the last racks would never be served.
    """
    circuits = Circuits.of(network)
    if not optics.in_turn:
        return circuits
    links = uplinks(network)
    fewest = min(map(len, links.values()))
    frames = 3 + -(-(len(links) - 2) // fewest)
    rate = min(network.link(link).rate for some in links.values() for link in some)
    part = -(-frames * (network.mtu + network.overhead) * 8 * NS_PER_S // rate)
    return circuits.divided(max(part, LEAST_SLOT), MOST_SLOTS)


def _waiting(
    scenario: Scenario,
    circuits: Circuits,
    pair: tuple[str, str],
    links: Links,
    *,
    own: bool | None = None,
    number: int = 1,
    flows: tuple[tuple[int, bool], ...] = (),
    senders: tuple[str, ...] = (),
    ranks: tuple[int, ...] = (),
) -> Waiting:
    """Return a queue between two racks; `number` tells several of them apart."""
    optics, (rack, last) = scenario.network.optics, pair
    assert optics is not None
    steps, durations = _merged(tuple(zip(links, ranks or (0,) * len(links), strict=True)), circuits.durations)
    merged = tuple(link for link, _ in steps)
    slots = tuple(map(_slot, merged, durations))
    schedule = Schedule.model_construct(
        name=f"{rack}{'>>' if own else '>'}{last}{'' if number == 1 else f'.{number}'}", slots=slots,
        queue=optics.queue, ecn_threshold=optics.ecn_threshold, dark="hold", phase=optics.phase,
    )  # fmt: skip
    ways = tuple(None if link is None else (Hop(rack, link),) for link in merged)
    route = Route(rack, last, durations, ways, optics.phase)
    step = timetable(scenario, route, rack, every=True)
    ranked = tuple(rank for _, rank in steps) if any(ranks) else ()
    return Waiting(rack, last, own, schedule, route, step, flows, senders, ranked)


@functools.lru_cache(maxsize=4096)
def _slot(link: str | None, duration: int) -> Slot:
    """Return a slot; timetables of parts of slots have thousands of equal ones."""
    return Slot.model_construct(duration=duration, link=link or DARK)


def _spread(scenario: Scenario, circuits: Circuits, tables: Routed) -> Iterator[Waiting]:
    """Yield the queues of flows whose way differs from that of all packets between the same racks.

    Flows share a queue where they take the same uplinks to the same rack.
    """
    optics = scenario.network.optics
    if tables.way is None or optics is None:
        return
    at = {host.name: host.at or "" for host in scenario.network.hosts}
    spread: dict[tuple[str, str, Links], list[tuple[int, bool]]] = {}
    for index, flow in enumerate(scenario.traffic):
        if program_traffic.is_of_programs(flow):
            continue
        for back in (False, True) if tables.answers else (False,):
            first, last = (at[flow.dst], at[flow.src]) if back else (at[flow.src], at[flow.dst])
            for rack in circuits.racks if first != last else ():
                links = () if rack == last else tables.way(index, rack, first, last)
                if links and links != tables.every[rack, last]:
                    spread.setdefault((rack, last, links), []).append((index, back))
    rules: Counter[str] = Counter()
    numbers: Counter[tuple[str, str]] = Counter()
    for (rack, last, links), flows in spread.items():
        rules[rack] += len(flows)
        numbers[rack, last] += 1
        number = 1 + numbers[rack, last]
        ranks = (tables.way_rank,) * len(links)
        yield _waiting(scenario, circuits, (rack, last), links, number=number, flows=tuple(flows), ranks=ranks)
    for rack, count in rules.items():
        if count + 2 * len(at) + len(circuits.racks) > MOST_RULES:
            field, other = ("split", "split: packet") if optics.routing == "vlb" else ("ways", "ways: 1")
            if optics.bulk is not None:
                field, other = "bulk", "a larger size"
            allowed = f"at most {MOST_RULES} rules; fewer flows, or {other}"
            raise InputError.of(f"network.optics.{field}", f"{count} rules for flows at {rack}", allowed)


def beside_circuits(network: ScenarioNetwork, rack: str, last: str) -> str | None:
    """Return the link by which packets reach another rack without optical switches; None if no such way exists."""
    optical = {node.name for node in network.switches if node.optical}
    ends = {
        link.name: link.between for link in network.links if link.between is not None and not {*link.between} & optical
    }
    graph = Graph([node.name for node in network.switches], ends)
    return None if graph.distance(rack, last) is None else graph.choices(rack, last)[0]


def _check_unused(scenario: Scenario, optics: Optics, rack: str, last: str) -> None:
    at = {host.name: host.at for host in scenario.network.hosts}
    for flow in scenario.traffic:
        if (rack, last) in {(at[flow.src], at[flow.dst]), (at[flow.dst], at[flow.src])}:
            value = f"{flow.src} at {at[flow.src]}, {flow.dst} at {at[flow.dst]}"
            allowed = (
                f"hosts whose racks have a way in both directions; routing {optics.routing} has none from {rack} to "
            )
            raise InputError.of(f"flows.{flow.name}", value, allowed + last)


def _merged(steps: tuple[_Step, ...], durations: tuple[int, ...]) -> tuple[tuple[_Step, ...], tuple[int, ...]]:
    """Join equal neighbours; not across the ends, because the first slot is in force before the start."""
    joined: list[tuple[_Step, int]] = []
    for step, duration in zip(steps, durations, strict=True):
        if joined and joined[-1][0] == step:
            joined[-1] = (step, joined[-1][1] + duration)
        else:
            joined.append((step, duration))
    return tuple(step for step, _ in joined), tuple(duration for _, duration in joined)
