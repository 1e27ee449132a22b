# SPDX-License-Identifier: Apache-2.0
"""Pairings of racks whose unions have short ways: random ones, of which the best draw is taken."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

Item = TypeVar("Item")

#: A pairing joins each rack to another one: pairs of racks, counted from 0, in ascending order.
Pairing = tuple[tuple[int, int], ...]

#: Draws of which the best is taken, up to 64 racks and with more, where each takes a second.
_DRAWS, _OF_MANY = 24, 6


def factorisation(racks: int, draw: Callable[[], float]) -> list[Pairing]:
    """Return random pairings in which each two racks meet once: a 1-factorisation of the complete graph.

    Pairs are put into pairings one by one, and one that is in the way goes out again. So their number never falls, and
    no case is known in which it stays below all (Dinitz and Stinson, "A hill-climbing algorithm for the construction of
    one-factorizations and Room squares", SIAM J. Alg. Disc. Meth. 8, 1987).

    Parameters
    ----------
    racks : int
        Number of racks, even.
    draw : callable
        Returns numbers of [0, 1). Only these are used, so the result is the same wherever the numbers are.

    Returns
    -------
    list of Pairing
        ``racks - 1`` pairings.
    """
    peer = [[-1] * racks for _ in range(racks - 1)]  # by pairing and rack
    place = [[-1] * racks for _ in range(racks)]  # the pairing of two racks
    # pairings and racks that have no peer in them; and, for each rack, those that it is not yet paired with
    bare = _Bag((turn, rack) for turn in range(racks - 1) for rack in range(racks))
    lone = [_Bag(other for other in range(racks) if other != rack) for rack in range(racks)]

    def join(turn: int, one: int, other: int) -> None:
        for rack, second in ((one, other), (other, one)):
            peer[turn][rack] = second
            place[rack][second] = turn
            bare.remove((turn, rack))
            lone[rack].remove(second)

    def part(turn: int, one: int, other: int) -> None:
        for rack, second in ((one, other), (other, one)):
            peer[turn][rack] = -1
            place[rack][second] = -1
            bare.add((turn, rack))
            lone[rack].add(second)

    while bare:
        turn, one = bare.any(draw)
        if draw() < 0.5:
            # a rack that is bare in a pairing lacks another rack, too
            other = lone[one].any(draw)
            if (third := peer[turn][other]) >= 0:
                part(turn, other, third)
        else:
            rest = [rack for rack in range(racks) if peer[turn][rack] < 0 and rack != one]
            other = rest[int(draw() * len(rest))]
            if (former := place[one][other]) >= 0:
                part(former, one, other)
        join(turn, one, other)
    return [tuple(sorted((a, b) for a, b in enumerate(row) if a < b)) for row in peer]


def hops(racks: int, pairings: Sequence[Pairing]) -> NDArray[np.int64]:
    """Return how many circuits the shortest way between each two racks has; -1 if there is none.

    Returns
    -------
    numpy.ndarray of int
        One row and one column for each rack.
    """
    next_to = np.zeros((racks, racks), bool)
    for one, other in (pair for pairing in pairings for pair in pairing):
        next_to[one, other] = next_to[other, one] = True
    reached = np.eye(racks, dtype=bool)
    count = np.where(reached, 0, -1)
    border = reached
    for number in range(1, racks):
        # a product of small whole numbers in floats is exact
        border = (border.astype(np.float32) @ next_to.astype(np.float32) > 0) & ~reached
        if not border.any():
            break
        count[border] = number
        reached |= border
    return count


@lru_cache(maxsize=64)
def pairings(racks: int, count: int) -> list[Pairing]:
    """Return pairings by which all racks reach each other over few circuits; no two racks are paired twice.

    Parameters
    ----------
    racks, count : int
        Number of racks, even, and of pairings: from 2 to ``racks - 1``.
    """
    return _best(racks, lambda some: [some[:count]])[:count]


@lru_cache(maxsize=64)
def rotors(racks: int, count: int) -> list[list[Pairing]]:
    """Return the pairings of rotors that turn one after the other, by which all racks reach each other at all instants.

    Parameters
    ----------
    racks, count : int
        Number of racks, even, and of rotors.

    Returns
    -------
    list of list of Pairing
        The pairings of each rotor in their order, of every rotor as many. A rotor that would have one less shows its
        first one twice in a row. Empty if no draw joins all racks while a rotor turns.
    """

    def dealt(some: list[Pairing]) -> list[list[Pairing]]:
        return [(some[number::count] + some[number : number + 1])[:share] for number in range(count)]

    def lit(some: list[Pairing]) -> Iterator[list[Pairing]]:
        hands = dealt(some)
        for at, dark in instants(count, share):
            yield [hands[number][turn] for number, turn in enumerate(at) if number != dark]

    share = -(-(racks - 1) // count)
    return dealt(chosen) if (chosen := _best(racks, lit)) else []


def instants(count: int, share: int) -> Iterator[tuple[list[int], int]]:
    """Yield, for each slice, which of its pairings every rotor shows, and which rotor turns at the slice's end.

    Parameters
    ----------
    count, share : int
        Number of rotors, and of pairings that each has.
    """
    for number in range(share * count):
        turn, dark = divmod(number, count)
        yield [(turn + (rotor < dark)) % share for rotor in range(count)], dark


def _best(racks: int, instants: Callable[[list[Pairing]], Iterable[Sequence[Pairing]]]) -> list[Pairing]:
    """Return the best of some random factorisations; empty if none joins all racks at each instant.

    The best one has the fewest circuits of the longest way at any instant, then the fewest of all ways together. These
    are whole numbers, and so the choice is the same on every machine; the gap between the eigenvalues of the graph, by
    which expanders are often chosen, is a float, and serves the same purpose. `instants` returns the pairings that are
    up together, for each instant, from all pairings.
    """
    drawn = random.Random(racks)
    taken: list[Pairing] = []
    least = (racks, 0)
    for _ in range(_DRAWS if racks <= 64 else _OF_MANY):
        some = factorisation(racks, drawn.random)
        longest = total = 0
        for up in instants(some):
            ways = hops(racks, up)
            longest, total = max(longest, int(ways.max())), total + int(ways.sum())
            if ways.min() < 0 or longest > least[0]:
                break
        else:
            if (longest, total) < least:
                taken, least = some, (longest, total)
    return taken


class _Bag(Generic[Item]):
    """Items of which any may be taken out, and one be drawn, in constant time."""

    def __init__(self, items: Iterator[Item]) -> None:
        self.items = list(items)
        self.at = {item: number for number, item in enumerate(self.items)}

    def __len__(self) -> int:
        return len(self.items)

    def any(self, draw: Callable[[], float]) -> Item:
        return self.items[int(draw() * len(self.items))]

    def add(self, item: Item) -> None:
        self.at[item] = len(self.items)
        self.items.append(item)

    def remove(self, item: Item) -> None:
        number, last = self.at.pop(item), self.items.pop()
        if number < len(self.items):
            self.items[number] = last
            self.at[last] = number
