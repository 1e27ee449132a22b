# SPDX-License-Identifier: Apache-2.0
"""Routings that spread flows over several ways between two racks."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Mapping

from rdcnlab.engines.network.circuits import Circuits
from rdcnlab.engines.network.tables import Links, Routed, direct_table, distances, table_of
from rdcnlab.scenario.routes import choose_by_hash

#: Cost in ns, by rack and receiver's rack.
_Costs = Mapping[tuple[str, str], int]


def k_shortest(circuits: Circuits, count: int) -> Routed:
    """Return tables by which flows of two racks are spread over the shortest ways of each slot's circuits.

    A way passes no rack twice. Of ways with equally many circuits, those by the first racks come first. A packet that
    is in a rack outside its flow's way, because the circuits changed while it was under way, takes a shortest way from
    there. Packets wait only if there is no way.

    Parameters
    ----------
    circuits : Circuits
        The circuits.
    count : int
        Number of ways for each pair of racks and slot, at most.
    """
    apart = [distances(circuits, slot) for slot in range(len(circuits.durations))]
    known = functools.cache(lambda slot, first, last: _paths(circuits, slot, apart[slot], first, last, count))

    def step(number: int, slot: int, rack: str, first: str, last: str) -> str | None:
        paths = known(slot, first, last)
        path = paths[number % len(paths)] if paths else ()
        if rack not in path:
            paths = known(slot, rack, last)
            path = paths[0] if paths else ()
        if not path:
            return None
        peer = path[path.index(rack) + 1]
        links = sorted(link for link, other in circuits.neighbours[slot][rack].items() if other == peer)
        return links[number % len(links)]

    def way(number: int, rack: str, first: str, last: str) -> Links:
        return tuple(step(number % count, slot, rack, first, last) for slot in range(len(circuits.durations)))

    return Routed(table_of(circuits, lambda slot, rack, last: step(0, slot, rack, rack, last)), way=way)


def _paths(
    circuits: Circuits, slot: int, apart: Mapping[tuple[str, str], int], first: str, last: str, count: int
) -> tuple[tuple[str, ...], ...]:
    """Return the shortest ways between two racks in a slot, as racks; empty if there is none."""
    if (first, last) not in apart:
        return ()
    places = {rack: place for place, rack in enumerate(circuits.racks)}
    peers = {
        rack: sorted(set(links.values()), key=places.__getitem__) for rack, links in circuits.neighbours[slot].items()
    }

    def extended(path: tuple[str, ...], left: int) -> Iterator[tuple[str, ...]]:
        if path[-1] == last:
            if not left:
                yield path
            return
        for peer in peers[path[-1]]:
            if peer not in path and apart.get((peer, last), left) < left:
                yield from extended((*path, peer), left - 1)

    lengths = range(apart[first, last], len(circuits.racks))
    paths = itertools.chain.from_iterable(extended((first,), length) for length in lengths)
    return tuple(itertools.islice(paths, count))


def by_one_rack(circuits: Circuits) -> Routed:
    """Return the tables of Valiant load balancing by flow: each flow passes one rack on its way, and stays in order.

    Its packets wait for the circuit to this rack, and there for the circuit to the receiver's rack. A hash of the
    flow's number and the two racks chooses among all racks that have both circuits, as equal-cost multi-path routing
    chooses among links; the receiver's rack is one of them, and then the way is the direct one. Packets of no flow take
    the direct way.
    """
    directly = direct_table(circuits)

    @functools.cache
    def choices(first: str, last: str) -> tuple[str, ...]:
        others = [rack for rack in circuits.racks if rack != first and any(directly[first, rack])]
        return tuple(rack for rack in others if rack == last or any(directly[rack, last]))

    def way(number: int, rack: str, first: str, last: str) -> Links:
        if rack != first or not choices(first, last):
            return directly[rack, last]
        return directly[first, choose_by_hash("vlb", number, last)(first, choices(first, last))]

    return Routed(directly, way=way)


def uniform_cost(circuits: Circuits, count: int, hop_cost: int | None = None) -> Routed:
    """Return tables by which flows of two racks are spread over all ways of least cost through slots.

    A way costs `hop_cost` for each circuit that it passes, because a circuit that carries a packet on its way carries
    no other one, and the duration of each slot at whose end it still waits. This is the idea of UCMP (SIGCOMM 2024).

    Parameters
    ----------
    circuits : Circuits
        The circuits.
    count : int
        Number of ways that flows may differ in.
    hop_cost : int, optional
        Cost of a circuit in ns, at least 1. Default: the mean duration of a slot.
    """
    slots = range(len(circuits.durations))
    hop = sum(circuits.durations) // len(slots) if hop_cost is None else hop_cost
    best: _Costs = {(rack, rack): 0 for rack in circuits.racks}
    costs: list[_Costs] = [{} for _ in slots]
    before: _Costs | None = None
    while best != before:  # the circuits repeat, so the recursion goes round until nothing changes
        before = best
        for slot in reversed(slots):
            best = costs[slot] = _one_slot_earlier(circuits, slot, best, hop)
    steps = functools.cache(lambda slot, rack, last: _least(circuits, slot, costs, hop, (rack, last)))

    def way(number: int, rack: str, first: str, last: str) -> Links:  # noqa: ARG001  (every rack decides anew)
        shift = number % count + circuits.racks.index(rack)
        return tuple(chosen[shift % len(chosen)] for chosen in (steps(slot, rack, last) for slot in slots))

    return Routed(table_of(circuits, lambda slot, rack, last: steps(slot, rack, last)[0]), way=way)


def _one_slot_earlier(circuits: Circuits, slot: int, later: _Costs, hop: int) -> _Costs:
    """Return the costs from a slot, from the costs of the slot after it."""
    cost = {pair: value + circuits.durations[slot] for pair, value in later.items()}
    cost |= {(rack, rack): 0 for rack in circuits.racks}
    improved = True
    while improved:
        improved = False
        for rack, last in itertools.product(circuits.racks, circuits.racks):
            for peer in circuits.neighbours[slot][rack].values():
                through = cost.get((peer, last))
                if through is not None and through + hop < cost.get((rack, last), through + hop + 1):
                    cost[rack, last], improved = through + hop, True
    return cost


def _least(circuits: Circuits, slot: int, costs: list[_Costs], hop: int, pair: tuple[str, str]) -> Links:
    """Return the first steps of all ways of least cost: uplinks, and None if a way that waits costs no more."""
    rack, last = pair
    options: list[tuple[int, str | None]] = [
        (costs[slot][peer, last] + hop, link)
        for link, peer in sorted(circuits.neighbours[slot][rack].items())
        if (peer, last) in costs[slot]
    ]
    following = costs[(slot + 1) % len(costs)].get(pair)
    if following is not None:
        options.append((following + circuits.durations[slot], None))
    least = min((cost for cost, _ in options), default=0)
    return tuple(step for cost, step in options if cost == least) or (None,)
