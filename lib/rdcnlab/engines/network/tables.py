# SPDX-License-Identifier: Apache-2.0
"""The form of a routing's result, and what routings have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from rdcnlab.engines.network.circuits import Circuits

#: The uplink of each slot, None to wait.
Links = tuple[str | None, ...]
#: ``table[rack, receiver's rack]``.
Table = Mapping[tuple[str, str], Links]
#: ``way(n, rack, sender's rack, receiver's rack)``: what packets in a rack do that belong to flow n of the scenario.
WayOf = Callable[[int, str, str, str], Links]


@dataclass(frozen=True)
class Spray:
    """A queue of a rack for packets that need a circuit of one dimension, whichever it is.

    Parameters
    ----------
    rack : str
        The rack.
    dimension : int
        The dimension, from 1.
    senders : tuple of str
        The racks of their senders; of the rack itself, packets of its own hosts.
    links : tuple of str or None
        The uplink of each slot.
    """

    rack: str
    dimension: int
    senders: tuple[str, ...]
    links: Links


@dataclass(frozen=True)
class Routed:
    """The tables of a routing.

    Parameters
    ----------
    every : mapping
        For all packets, or if there is `own`, for packets that came from another rack.
    own : mapping or None
        For packets of the rack's own hosts.
    way : callable or None
        With several ways between two racks: what packets do that belong to flow n of the scenario, n from 0. Packets of
        no flow follow `every`.
    sprays : tuple of Spray
        Queues by the packets' senders, which come before `every`.
    own_ranks : mapping or None
        Ranks of the queues of `own` in each slot; None: they have rank 0.
    way_rank : int
        Rank of the queues of `way`.
    answers : bool
        Whether packets that answer a flow follow `way`, too; otherwise `every`.
    """

    every: Table
    own: Table | None = None
    way: WayOf | None = None
    sprays: tuple[Spray, ...] = ()
    own_ranks: Mapping[tuple[str, str], tuple[int, ...]] | None = None
    way_rank: int = 0
    answers: bool = True


def table_of(circuits: Circuits, step: Callable[[int, str, str], str | None]) -> dict[tuple[str, str], Links]:
    """Return a table from a function of slot, rack and receiver's rack."""
    slots = range(len(circuits.durations))
    return {
        (rack, last): tuple(step(slot, rack, last) for slot in slots)
        for rack in circuits.racks
        for last in circuits.racks
        if rack != last
    }


def straight(circuits: Circuits, slot: int, rack: str, last: str) -> str | None:
    """Return the uplink with a circuit from one rack to another in a slot; None if there is none."""
    return next((link for link, peer in sorted(circuits.neighbours[slot][rack].items()) if peer == last), None)


def direct_table(circuits: Circuits) -> Table:
    """Return the table in which packets take the circuit to the receiver's rack when it is up, and otherwise wait."""
    return table_of(circuits, lambda slot, rack, last: straight(circuits, slot, rack, last))


def distances(circuits: Circuits, slot: int) -> dict[tuple[str, str], int]:
    """Return the least number of circuits between racks in a slot; pairs without a way are left out."""
    up = circuits.neighbours[slot]
    apart: dict[tuple[str, str], int] = {}
    for first in circuits.racks:
        reached, border, steps = {first: 0}, [first], 0
        while border:
            steps += 1
            border = [peer for rack in border for peer in up[rack].values() if peer not in reached]
            reached |= dict.fromkeys(border, steps)
        apart |= {(first, last): steps for last, steps in reached.items()}
    return apart
