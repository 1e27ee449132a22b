# SPDX-License-Identifier: Apache-2.0
"""Routings over circuits: pure functions from circuits to the next uplink of a packet, by rack, receiver and slot.

A table has, for each pair of racks (where a packet is, where its receiver is), one entry a slot: the uplink that the
packet takes then, or None if it waits in the rack. A packet that arrives at a rack on its way is treated anew.
"""

from __future__ import annotations

from collections.abc import Callable

from rdcnlab.engines.network.circuits import Circuits
from rdcnlab.engines.network.earliest import earliest
from rdcnlab.engines.network.multipath import by_one_rack, k_shortest, uniform_cost
from rdcnlab.engines.network.ranked import rotor_lb
from rdcnlab.engines.network.spraying import sprayed
from rdcnlab.engines.network.tables import Routed, Table, direct_table, distances, straight, table_of
from rdcnlab.scenario.optics import Optics


def routed(circuits: Circuits, optics: Optics) -> Routed:
    """Return the tables of the routing that a network states.

    With the routings ``vlb`` by packet and ``rotorlb``, the slots of `circuits` are parts of the network's slots, as
    another circuit is taken in each slot.
    """
    if optics.split == "flow":
        return by_one_rack(circuits)
    if optics.levels > 1:
        return sprayed(circuits, optics.levels)
    if optics.routing == "earliest":
        return earliest(circuits, optics.max_hops)
    if optics.routing == "table":
        return Routed(_given(circuits, optics))
    if optics.routing == "ksp":
        return k_shortest(circuits, optics.ways)
    if optics.routing == "ucmp":
        return uniform_cost(circuits, optics.ways, optics.hop_cost)
    return _ROUTINGS[optics.routing](circuits)


def direct(circuits: Circuits) -> Routed:
    """Return tables by which packets wait for the circuit to the receiver's rack.

    Examples
    --------
    >>> a_to_b = {"a": {"up1": "b"}, "b": {"up2": "a"}}
    >>> direct(Circuits(("a", "b"), (900, 100), (a_to_b, {"a": {}, "b": {}}))).every["a", "b"]
    ('up1', None)
    """
    return Routed(direct_table(circuits))


def valiant(circuits: Circuits) -> Routed:
    """Return the tables of Valiant load balancing: any circuit first, then the direct one.

    If several circuits are up and none is direct, receivers are spread over them, in another way in each slot.
    """

    def first(slot: int, rack: str, last: str) -> str | None:
        up = circuits.neighbours[slot][rack]
        directly = straight(circuits, slot, rack, last)
        if directly is not None or not up:
            return directly
        return sorted(up)[(circuits.racks.index(last) + slot) % len(up)]

    return Routed(direct_table(circuits), table_of(circuits, first))


def shortest(circuits: Circuits) -> Routed:
    """Return tables by which packets take the fewest of the circuits that are up in the slot, as Opera's small flows.

    They wait only if no way is up. Of several equally short ways, receivers are spread over the first uplinks.
    """
    apart = [distances(circuits, slot) for slot in range(len(circuits.durations))]

    def step(slot: int, rack: str, last: str) -> str | None:
        here = apart[slot].get((rack, last))
        if here is None:
            return None
        nearer = [
            link
            for link, peer in sorted(circuits.neighbours[slot][rack].items())
            if apart[slot].get((peer, last)) == here - 1
        ]
        return nearer[circuits.racks.index(last) % len(nearer)]

    return Routed(table_of(circuits, step))


def _given(circuits: Circuits, optics: Optics) -> Table:
    rows = {(row.slot, row.rack, row.to): row.link for row in optics.table}
    return table_of(circuits, lambda slot, rack, last: rows.get((slot + 1, rack, last)))


_ROUTINGS: dict[str, Callable[[Circuits], Routed]] = {
    "direct": direct, "vlb": valiant, "rotorlb": rotor_lb, "shortest": shortest,
}  # fmt: skip
