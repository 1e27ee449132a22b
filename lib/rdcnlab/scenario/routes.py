# SPDX-License-Identifier: Apache-2.0
"""Ways through a network of several switches, and the next link of each way at each switch.

A way is a sequence of hops. The shortest way is the one whose links have the smallest sum of weights; a link without a
weight weighs 1. The functions of this module have no side effects: they take graph and paths, and return the next link
at each switch. Engines apply the result.
"""

from __future__ import annotations

import hashlib
import heapq
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rdcnlab.fields.phrases import listed, nearest, unknown

#: A function that chooses one of several links at a switch; each of the links begins a shortest way.
Choice = Callable[[str, Sequence[str]], str]


@dataclass(frozen=True)
class Hop:
    """One step of a way: the link that packets take from a switch."""

    switch: str
    link: str


class NoWay(ValueError):
    """A path names something that no way between its ends passes; the message says what is allowed.

    Parameters
    ----------
    allowed : str
        What is allowed, in words.
    reason : str
        What is wrong, as a sentence of its own; see `rdcnlab.fields.errors.Problem`.
    """

    def __init__(self, allowed: str, reason: str = "") -> None:
        self.reason = reason
        super().__init__(allowed)


class Graph:
    """Switches and the duplex links between them.

    Parameters
    ----------
    switches : sequence of str
        Names, in the order of the network.
    links : mapping of str to tuple of str
        The two ends of each link by its name, in the order of the network.
    loops : mapping of str to str
        The switch of each link that begins and ends at the same switch, by the link's name.
    weights : mapping of str to int
        Weight of each of the `links` by its name, at least 1. A link that is missing here weighs 1.
    """

    def __init__(
        self,
        switches: Sequence[str],
        links: Mapping[str, tuple[str, str]],
        loops: Mapping[str, str] | None = None,
        weights: Mapping[str, int] | None = None,
    ) -> None:
        self.switches = tuple(switches)
        self.links = dict(links)
        self.loops = dict(loops or {})
        self.weights = dict.fromkeys(links, 1) | dict(weights or {})
        # more than any way that passes no switch twice
        self._unreachable = sum(self.weights.values()) + 1
        self._from: dict[str, list[tuple[str, str]]] = {name: [] for name in switches}
        for name, (left, right) in links.items():
            if left in self._from and right in self._from:
                self._from[left].append((name, right))
                self._from[right].append((name, left))
        self._distances: dict[str, dict[str, int]] = {}
        # ways on which nothing had to be chosen
        self._ways: dict[tuple[str, str, tuple[str, ...]], tuple[Hop, ...]] = {}

    def distance(self, first: str, last: str) -> int | None:
        """Return the sum of weights of the shortest way between two switches; None if no way exists."""
        return self._to(last).get(first)

    def other(self, link: str, switch: str) -> str:
        """Return the switch at the other end of a link."""
        left, right = self.links[link]
        return right if left == switch else left

    def choices(self, at: str, last: str) -> list[str]:
        """Return the links at a switch that begin a shortest way to another switch."""
        distances = self._to(last)
        return [
            link
            for link, neighbour in self._from[at]
            if distances.get(neighbour, self._unreachable) + self.weights[link] == distances[at]
        ]

    def way(self, first: str, last: str, via: Sequence[str], choose: Choice) -> tuple[Hop, ...]:
        """Return the shortest way between two switches that passes the given links and switches.

        A loop must be at the last switch; it is then the last hop.

        Parameters
        ----------
        first, last : str
            Names of switches. If they are equal, the way is empty.
        via : sequence of str
            Links and switches, in the order in which the way passes them.
        choose : callable
            Function that chooses between links that begin equally short ways.

        Raises
        ------
        NoWay
            A given name does not exist, cannot be reached, or makes the way pass a switch twice.
        """
        key = (first, last, tuple(via))
        if key not in self._ways:
            chosen = []

            def watched(switch: str, links: Sequence[str]) -> str:
                chosen.append(choose(switch, links))
                return chosen[-1]

            way = self._way(first, last, via, watched)
            if chosen:  # another flow may choose another way
                return way
            self._ways[key] = way
        return self._ways[key]

    def _way(self, first: str, last: str, via: Sequence[str], choose: Choice) -> tuple[Hop, ...]:
        """Find the way; see `way`."""
        hops: list[Hop] = []
        at = first
        loop: list[Hop] = []
        if via and via[-1] in self.loops:
            if self.loops[via[-1]] != last:
                raise NoWay(f"a link at the receiver's switch {last}, or one between switches")
            loop, via = [Hop(last, via[-1])], via[:-1]
        self._check_neighbours(via)
        for index, name in enumerate(via):
            if name in self._from:
                hops += self._shortest(at, name, choose)
                at = name
            elif name in self.links:
                near, far = self._direction(at, via[index:], last)
                hops += [*self._shortest(at, near, choose), Hop(near, name)]
                at = far
            else:
                names = [*self.links, *self.loops, *self.switches]
                allowed = f"links and switches of the network: {', '.join(names)}"
                raise NoWay(allowed, unknown(name, names, "link or switch"))
        hops += self._shortest(at, last, choose)
        passed = [hop.switch for hop in hops] + [last]
        twice = next((switch for switch in passed if passed.count(switch) > 1), None)
        if twice is not None:
            raise NoWay(f"a way from {first} to {last} that passes no switch twice; this one passes {twice} twice")
        return (*hops, *loop)

    def _check_neighbours(self, via: Sequence[str]) -> None:
        """Raise NoWay if two names that follow each other do not: a wrong name would make a detour of the rest."""
        for name, following in itertools.pairwise(via):
            ends, others = self._ends(name), self._ends(following)
            if not ends or not others or self._join(name, following):
                continue  # an unknown name has an error of its own
            joined = [other for other in (*self.switches, *self.links) if other != name and self._join(name, other)]
            near = nearest(following, [other for other in joined if (other in self.links) == (following in self.links)])
            proposed = f" Did you mean '{near}'?" if near else ""
            raise NoWay(
                f"names of which each is joined to the next; joined to {name}: {listed(joined, following)}",
                f"no link joins {name} and {following}.{proposed} Joined to {name}: {listed(joined, following)}",
            )

    def _ends(self, name: str) -> tuple[str, ...]:
        """Return the ends of a link, or a switch alone; nothing for an unknown name."""
        return (name,) if name in self._from else self.links.get(name, ())

    def _join(self, name: str, other: str) -> bool:
        """Return whether a way can pass one right after the other: links at one switch, or switches with a link."""
        if name in self._from and other in self._from:
            return any(neighbour == other for _, neighbour in self._from[name])
        return bool({*self._ends(name)} & {*self._ends(other)})

    def _direction(self, at: str, via: Sequence[str], last: str) -> tuple[str, str]:
        """Return the ends of the link that is first in `via`, in the order in which the shortest way passes them."""
        left, right = self.links[via[0]]
        directions = ((left, right), (right, left))
        return min(directions, key=lambda ends: self._cost(at, ends[0]) + self._length(ends[1], via[1:], last))

    def _length(self, at: str, via: Sequence[str], last: str) -> int:
        """Return the sum of weights of the shortest way from `at` to `last` that passes all of `via`."""
        if via and via[0] in self.links:
            near, far = self._direction(at, via, last)
            return self._cost(at, near) + self.weights[via[0]] + self._length(far, via[1:], last)
        following = via[0] if via and via[0] in self._from else last
        return self._cost(at, following) + (self._length(following, via[1:], last) if via else 0)

    def _cost(self, first: str, last: str) -> int:
        distance = self.distance(first, last)
        return self._unreachable if distance is None else distance

    def _shortest(self, at: str, last: str, choose: Choice) -> list[Hop]:
        if self.distance(at, last) is None:
            raise NoWay(f"links and switches that can be reached from {at}")
        hops = []
        while at != last:
            links = self.choices(at, last)
            link = links[0] if len(links) == 1 else choose(at, links)
            hops.append(Hop(at, link))
            at = self.other(link, at)
        return hops

    def _to(self, last: str) -> dict[str, int]:
        """Return the distance to a switch from each switch that can reach it."""
        if last not in self._distances:
            # Dijkstra's algorithm
            distances: dict[str, int] = {}
            queue = [(0, last)]
            while queue:
                distance, at = heapq.heappop(queue)
                if at in distances:
                    continue
                distances[at] = distance
                for link, neighbour in self._from.get(at, []):
                    if neighbour not in distances:
                        heapq.heappush(queue, (distance + self.weights[link], neighbour))
            self._distances[last] = distances
        return self._distances[last]


def choose_by_hash(*key: object) -> Choice:
    """Return a choice by a hash of a key and the switch, as equal-cost multi-path routing chooses for a flow."""

    def choose(switch: str, links: Sequence[str]) -> str:
        text = " ".join(map(str, (*key, switch)))
        return links[int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") % len(links)]

    return choose


def backwards(hops: Sequence[Hop], graph: Graph) -> tuple[Hop, ...]:
    """Return the same way in the other direction."""
    return tuple(Hop(graph.other(hop.link, hop.switch), hop.link) for hop in reversed(hops) if hop.link in graph.links)


@dataclass(frozen=True)
class Route:
    """The ways of packets between two switches, one for each slot.

    Parameters
    ----------
    first, last : str
        Switches of the sender and of the receiver.
    durations : tuple of int
        ns of each slot. The slots repeat for ever; a single slot never ends.
    ways : tuple of (tuple of Hop or None)
        The way in each slot; None is dark.
    phase : int
        ns after the scenario's start at which the first slot begins, at switches without a delay (`Node.late`).
    """

    first: str
    last: str
    durations: tuple[int, ...]
    ways: tuple[tuple[Hop, ...] | None, ...]
    phase: int = 0

    @property
    def switches(self) -> tuple[str, ...]:
        """The sender's switch, all switches on the ways, and the receiver's switch as the last."""
        passed = [hop.switch for way in self.ways for hop in way or ()]
        return tuple(dict.fromkeys([self.first, *passed, self.last]))

    def at(self, switch: str, *, dark: bool) -> tuple[str | None, ...]:
        """Return the link that packets take from a switch in each slot; None is dark, "" is to the receiver.

        If the way of a slot does not pass the switch, the switch keeps the rule of the slot before: packets that are
        still under way may need it.

        Parameters
        ----------
        switch : str
            One of `switches`.
        dark : bool
            Whether the switch itself goes dark in a dark slot, as the sender's switch and optical switches do.
        """
        unchanged = object()
        links: list[object] = []
        for way in self.ways:
            if way is None:
                links.append(None if dark else unchanged)
            else:
                target = "" if switch == self.last else unchanged
                links.append(next((hop.link for hop in way if hop.switch == switch), target))
        start = next(index for index, link in enumerate(links) if link is not unchanged)
        current: str | None = None
        targets: list[str | None] = [None] * len(links)
        for index in range(start, start + len(links)):
            link = links[index % len(links)]
            if link is None or isinstance(link, str):
                current = link
            targets[index % len(links)] = current
        return tuple(targets)

    def chooses(self, switch: str) -> bool:
        """Return whether a switch does more for the route than to deliver packets to its own host."""
        return any(link != "" for link in self.at(switch, dark=switch == self.first))


@dataclass(frozen=True)
class Timetable:
    """The timetable of one switch for a route: targets with durations (ns) that repeat after a phase (ns)."""

    targets: tuple[str | None, ...]
    durations: tuple[int, ...]
    phase: int
    indices: tuple[int, ...]
    """For each target, the index of the route's slot that it belongs to."""

    @property
    def static(self) -> bool:
        """Whether the target is always the same."""
        return len(set(self.targets)) == 1
