# SPDX-License-Identifier: Apache-2.0
"""The routing ``earliest``: packets arrive in the earliest slot, within a bound of circuits if one is given."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from rdcnlab.engines.network.circuits import Circuits
from rdcnlab.engines.network.tables import Routed, table_of
from rdcnlab.fields.errors import InputError

#: The uplink of each slot, by rack and receiver's rack; None to wait.
_Choices = list[dict[tuple[str, str], str | None]]
#: (slots until the arrival and the weight of circuits, circuits), by rack and receiver's rack.
_Costs = dict[tuple[str, str], tuple[int, int]]


def earliest(circuits: Circuits, max_hops: int | None = None) -> Routed:
    """Return tables by which packets arrive in the earliest slot, and pass the fewest circuits on such a way.

    A packet may pass several circuits in one slot. It waits in a rack on its way where that is no later. This is the
    optimum that HOHO computes: no way arrives in an earlier slot. The number of circuits has no bound but `max_hops`.

    Parameters
    ----------
    circuits : Circuits
        The circuits.
    max_hops : int, optional
        Number of circuits that a packet passes at most, even if it waits in queues and leaves racks in other slots than
        those that were computed. For each receiver's rack, a circuit counts as so many slots of waiting as this needs:
        0 (no circuit counts), 1, 2, 4 and so on.

    Raises
    ------
    InputError
        Racks are further apart than `max_hops`, whatever the slot.
    """
    if max_hops is None:
        chosen = _choices(circuits, circuits.racks, 0)
    else:
        _check_apart(circuits, max_hops)
        chosen = _bounded(circuits, max_hops)
    return Routed(table_of(circuits, lambda slot, rack, last: chosen[slot].get((rack, last))))


def _bounded(circuits: Circuits, max_hops: int) -> _Choices:
    """Return choices by which no packet passes more circuits, whenever it leaves the racks on its way.

    Where a circuit counts more than all waiting, each one leads nearer to the receiver's rack, so the search ends.
    """
    chosen: _Choices = [{} for _ in circuits.durations]
    left, weight = list(circuits.racks), 0
    while left:
        found = _choices(circuits, left, weight)
        within = [last for last in left if _longest(circuits, found, last) <= max_hops]
        for here, there in zip(chosen, found, strict=True):
            here |= {(rack, last): link for (rack, last), link in there.items() if last in within}
        left = [last for last in left if last not in within]
        weight = 2 * weight or 1
    return chosen


def _choices(circuits: Circuits, lasts: Collection[str], weight: int) -> _Choices:
    """Return the choices of least cost: slots until the arrival, and `weight` slots more for each circuit."""
    # The costs of the slot after it give those of a slot. The circuits repeat, so the recursion goes round until
    # nothing changes.
    best: _Costs = {(last, last): (0, 0) for last in lasts}
    chosen: _Choices = [{} for _ in circuits.durations]
    before = None
    while best != before:
        before = best
        for slot in reversed(range(len(circuits.durations))):
            best, chosen[slot] = _one_slot_earlier(circuits, slot, best, lasts, weight)
    return chosen


def _one_slot_earlier(
    circuits: Circuits, slot: int, later: _Costs, lasts: Iterable[str], weight: int
) -> tuple[_Costs, dict[tuple[str, str], str | None]]:
    """Return the costs and the choices of a slot from the costs of the slot after it."""
    up, racks = circuits.neighbours[slot], circuits.racks
    costs: _Costs = {}
    choices: dict[tuple[str, str], str | None] = {}
    for last in lasts:
        # to wait costs a slot
        cost = {rack: (later[rack, last][0] + 1, later[rack, last][1]) for rack in racks if (rack, last) in later}
        cost[last] = (0, 0)
        choice: dict[str, str | None] = dict.fromkeys(racks)
        improved = True
        while improved:  # as many rounds as a way in this slot has circuits, at most
            improved = False
            for rack in racks:
                for link, peer in sorted(up[rack].items()):
                    if peer not in cost:
                        continue
                    through = (cost[peer][0] + weight, cost[peer][1] + 1)
                    if rack not in cost or through < cost[rack]:
                        cost[rack], choice[rack], improved = through, link, True
        costs |= {(rack, last): value for rack, value in cost.items()}
        choices |= {(rack, last): link for rack, link in choice.items()}
    return costs, choices


def _longest(circuits: Circuits, chosen: _Choices, last: str) -> float:
    """Return the most circuits that a packet can pass which leaves each rack in any slot; infinite if it can circle."""
    peers: dict[str, set[str]] = {rack: set() for rack in circuits.racks}
    for up, links in zip(circuits.neighbours, chosen, strict=True):
        for rack in circuits.racks:
            link = links.get((rack, last))
            if link is not None:
                peers[rack].add(up[rack][link])
    length: dict[str, float] = {last: 0}
    left = {rack: some for rack, some in peers.items() if some and rack != last}
    while left:
        ready = [rack for rack, some in left.items() if some <= length.keys()]
        if not ready:
            return float("inf")
        for rack in ready:
            length[rack] = 1 + max(length[peer] for peer in left.pop(rack))
    return max(length.values())


def _check_apart(circuits: Circuits, max_hops: int) -> None:
    """Raise InputError if racks that have a way between them are further apart than a number of circuits."""
    peers: Mapping[str, set[str]] = {
        rack: {peer for slot in circuits.neighbours for peer in slot[rack].values()} for rack in circuits.racks
    }
    furthest = (0, "", "")
    for first in circuits.racks:
        reached, border, steps = {first}, {first}, 0
        while border:
            border = {peer for rack in border for peer in peers[rack]} - reached
            reached |= border
            steps += 1
            if border and steps > furthest[0]:
                furthest = steps, first, min(border, key=circuits.racks.index)
    least, first, last = furthest
    if max_hops < least:
        allowed = f"at least {least}, the fewest circuits of a way from {first} to {last}"
        raise InputError.of("network.optics.max_hops", max_hops, allowed)
