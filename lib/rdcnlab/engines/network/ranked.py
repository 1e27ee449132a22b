# SPDX-License-Identifier: Apache-2.0
"""Routings whose queues have ranks: RotorNet's RotorLB, and Opera's two classes of flows.

A link serves queues of a lower rank first. Queues whose rank is not stated have rank 0.
"""

from __future__ import annotations

from collections.abc import Collection

from rdcnlab.engines.network.circuits import Circuits
from rdcnlab.engines.network.tables import Links, Routed, direct_table, straight, table_of

#: Ranks of packets of a rack's own hosts: those with a direct circuit come before those that begin a way over two.
DIRECT, INDIRECT = 1, 2
#: Rank of large flows, which leave what smaller ones need.
BULK = 1


def rotor_lb(circuits: Circuits) -> Routed:
    """Return the tables of RotorNet's load balancing: direct circuits first, and two hops by what is left.

    Packets that have passed one circuit wait for the direct one and come first. Then come the rack's own packets for
    the rack that a circuit leads to, and last its own packets for other racks. As with `valiant`, several circuits
    are taken in turn. RotorNet's racks also agree on how much they send by each other, which is left out here.

    Parameters
    ----------
    circuits : Circuits
        The circuits; where a rack has several at one time, in parts of slots.
    """

    def first(slot: int, rack: str, last: str) -> tuple[str | None, int]:
        up = sorted(circuits.neighbours[slot][rack])
        directly = straight(circuits, slot, rack, last)
        if directly is not None or not up:
            return directly, DIRECT
        return up[(circuits.racks.index(last) + slot) % len(up)], INDIRECT

    own = table_of(circuits, lambda slot, rack, last: first(slot, rack, last)[0])
    slots = range(len(circuits.durations))
    ranks = {pair: tuple(first(slot, *pair)[1] for slot in slots) for pair in own}
    return Routed(direct_table(circuits), own, own_ranks=ranks)


def with_bulk(circuits: Circuits, routed: Routed, bulk: Collection[int]) -> Routed:
    """Return tables by which some flows wait in their sender's rack for the direct circuit, and others do as before.

    Parameters
    ----------
    circuits : Circuits
        The circuits.
    routed : Routed
        What all other packets do, also those that answer the flows.
    bulk : collection of int
        Numbers of the flows in the scenario.
    """
    directly = direct_table(circuits)

    def way(number: int, rack: str, first: str, last: str) -> Links:
        waits = number in bulk and rack == first and any(directly[rack, last])
        return directly[rack, last] if waits else routed.every[rack, last]

    return Routed(routed.every, way=way, way_rank=BULK, answers=False)
