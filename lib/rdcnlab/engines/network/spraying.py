# SPDX-License-Identifier: Apache-2.0
"""Valiant load balancing in a grid of racks, as in Shale: a circuit of each dimension, then the direct ones.

A rack knows how far a packet is by where it comes from. Packets pass any circuit of the first dimension, then any of
the second, and so on, and each of these circuits leads away from the coordinate of their sender. So a rack whose last
coordinate is another one than the sender's has packets that need direct circuits only. In any other rack, the first
coordinates that differ from the sender's say in which dimensions they have had a circuit.
"""

from __future__ import annotations

from rdcnlab.engines.network.circuits import Circuits
from rdcnlab.engines.network.tables import Routed, Spray, straight, table_of
from rdcnlab.fields.errors import InputError

_FIELD = "network.optics.levels"
#: Coordinates of a rack, one for each dimension.
Point = tuple[int, ...]


def sprayed(circuits: Circuits, levels: int) -> Routed:
    """Return the tables of Valiant load balancing in a grid: at most ``2 * levels`` circuits.

    A queue that waits for any circuit of a dimension sends by the next one that is up. With several of them at once,
    it takes another one in each slot.

    Parameters
    ----------
    circuits : Circuits
        The circuits; each changes one coordinate of the grid.
    levels : int
        Number of dimensions. Racks have numbers in the order of the network's switches, and digits of the number are
        coordinates, the least one first.

    Raises
    ------
    InputError
        The racks are no such grid, a circuit changes several coordinates, or a pair of racks that differ in one
        coordinate has none.
    """
    points = grid(circuits.racks, levels)
    racks = {point: rack for rack, point in points.items()}
    for slot in circuits.neighbours:
        for rack, here in slot.items():
            for peer in here.values():
                _check_one(points, rack, peer)

    def direct(slot: int, rack: str, last: str) -> str | None:
        here, there = points[rack], points[last]
        first = _differing(here, there)[0]
        return straight(circuits, slot, rack, racks[*here[:first], there[first], *here[first + 1 :]])

    every = table_of(circuits, direct)
    for (rack, last), links in every.items():
        if not any(links) and len(_differing(points[rack], points[last])) == 1:
            allowed = f"circuits between all racks that differ in one coordinate; {rack} has none to {last}"
            raise InputError.of(_FIELD, levels, allowed)
    sprays = [_spray(circuits, points, rack, passed) for rack in circuits.racks for passed in range(levels)]
    return Routed(every, sprays=tuple(sprays))


def grid(racks: tuple[str, ...], levels: int) -> dict[str, Point]:
    """Return the coordinates of racks in a grid.

    Examples
    --------
    >>> grid(("a", "b", "c", "d"), 2)
    {'a': (0, 0), 'b': (1, 0), 'c': (0, 1), 'd': (1, 1)}
    """
    side = round(len(racks) ** (1 / levels))
    if side**levels != len(racks):
        raise InputError.of(_FIELD, levels, f"a root of the number of racks ({len(racks)}) that is a whole number")
    return {rack: tuple(place // side**level % side for level in range(levels)) for place, rack in enumerate(racks)}


def _spray(circuits: Circuits, points: dict[str, Point], rack: str, passed: int) -> Spray:
    """Return the queue of a rack for packets that have had a circuit in so many dimensions."""

    def link(slot: int) -> str | None:
        up = circuits.neighbours[slot][rack]
        able = [name for name, peer in sorted(up.items()) if _differing(points[rack], points[peer]) == [passed]]
        return able[slot % len(able)] if able else None

    senders = [one for one, point in points.items() if _differing(points[rack], point) == list(range(passed))]
    return Spray(rack, passed + 1, tuple(senders), tuple(link(slot) for slot in range(len(circuits.durations))))


def _differing(one: Point, other: Point) -> list[int]:
    return [level for level, pair in enumerate(zip(one, other, strict=True)) if pair[0] != pair[1]]


def _check_one(points: dict[str, Point], rack: str, peer: str) -> None:
    count = len(_differing(points[rack], points[peer]))
    if count != 1:
        allowed = f"circuits that change one coordinate; that from {rack} to {peer} changes {count}"
        raise InputError.of(_FIELD, len(points[rack]), allowed)
