# SPDX-License-Identifier: Apache-2.0
"""Ways through a network of several switches, and what each switch has to do for them.

Everything here is pure: graph and paths go in, the next link at each switch comes out. Engines only carry it out.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

#: Chooses one of several links at a switch; all of them are on a shortest way.
Choice = Callable[[str, Sequence[str]], str]


@dataclass(frozen=True)
class Hop:
    """A step of a way: at a switch, onto a link."""

    switch: str
    link: str


class NoWay(ValueError):
    """What a path names is not on any way; the message says what would be."""


class Graph:
    """Switches and the duplex links between them.

    Parameters
    ----------
    switches : sequence of str
        Names, in the order of the network.
    links : mapping of str to tuple of str
        The two ends of each link by its name, in the order of the network.
    loops : mapping of str to str
        The switch of each link that begins and ends at one.
    """

    def __init__(
        self, switches: Sequence[str], links: Mapping[str, tuple[str, str]], loops: Mapping[str, str] | None = None
    ) -> None:
        self.switches = tuple(switches)
        self.links = dict(links)
        self.loops = dict(loops or {})
        self._from: dict[str, list[tuple[str, str]]] = {name: [] for name in switches}
        for name, (one, other) in links.items():
            if one in self._from and other in self._from:
                self._from[one].append((name, other))
                self._from[other].append((name, one))
        self._distances: dict[str, dict[str, int]] = {}

    def distance(self, first: str, last: str) -> int | None:
        """Return how many links are between two switches; None where no way is."""
        return self._to(last).get(first)

    def other(self, link: str, switch: str) -> str:
        """Return the switch at the other end of a link."""
        one, other = self.links[link]
        return other if one == switch else one

    def choices(self, at: str, last: str) -> list[str]:
        """Return the links at a switch with which the shortest ways to another one begin."""
        distances = self._to(last)
        return [link for link, other in self._from[at] if distances.get(other, len(self.switches)) + 1 == distances[at]]

    def way(self, first: str, last: str, via: Sequence[str], choose: Choice) -> tuple[Hop, ...]:
        """Return the way between two switches that passes what is named, and is the shortest elsewhere.

        A loop, which is at the last switch, ends it.

        Parameters
        ----------
        first, last : str
            Switches; with the same one the way is empty.
        via : sequence of str
            Links and switches, in the order in which they are passed.
        choose : callable
            Takes one of several links that begin equally short ways.

        Raises
        ------
        NoWay
            Something named is not there, cannot be reached, or leads past a switch twice.
        """
        hops: list[Hop] = []
        at = first
        loop: list[Hop] = []
        if via and via[-1] in self.loops:
            if self.loops[via[-1]] != last:
                raise NoWay(f"a link at the receiver's switch {last}, or one between switches")
            loop, via = [Hop(last, via[-1])], via[:-1]
        for place, name in enumerate(via):
            if name in self._from:
                hops += self._shortest(at, name, choose)
                at = name
            elif name in self.links:
                near, far = self._direction(at, via[place:], last)
                hops += [*self._shortest(at, near, choose), Hop(near, name)]
                at = far
            else:
                raise NoWay(
                    f"links and switches of the network: {', '.join([*self.links, *self.loops, *self.switches])}"
                )
        hops += self._shortest(at, last, choose)
        passed = [hop.switch for hop in hops] + [last]
        twice = next((switch for switch in passed if passed.count(switch) > 1), None)
        if twice is not None:
            raise NoWay(f"a way from {first} to {last} that passes no switch twice, as it does {twice}")
        return (*hops, *loop)

    def _direction(self, at: str, via: Sequence[str], last: str) -> tuple[str, str]:
        """Return the ends of the link that is first in `via`, in the order in which the shortest way passes them."""
        one, other = self.links[via[0]]
        both = ((one, other), (other, one))
        return min(both, key=lambda ends: self._cost(at, ends[0]) + self._length(ends[1], via[1:], last))

    def _length(self, at: str, via: Sequence[str], last: str) -> int:
        """Return how many links the shortest way to the last switch has that passes all that is named."""
        if via and via[0] in self.links:
            near, far = self._direction(at, via, last)
            return self._cost(at, near) + 1 + self._length(far, via[1:], last)
        following = via[0] if via and via[0] in self._from else last
        return self._cost(at, following) + (self._length(following, via[1:], last) if via else 0)

    def _cost(self, first: str, last: str) -> int:
        distance = self.distance(first, last)
        return len(self.switches) if distance is None else distance

    def _shortest(self, at: str, last: str, choose: Choice) -> list[Hop]:
        if self.distance(at, last) is None:
            raise NoWay(f"what can be reached from {at}")
        hops = []
        while at != last:
            links = self.choices(at, last)
            link = links[0] if len(links) == 1 else choose(at, links)
            hops.append(Hop(at, link))
            at = self.other(link, at)
        return hops

    def _to(self, last: str) -> dict[str, int]:
        """Distances of all switches from which a switch can be reached."""
        if last not in self._distances:
            found, waiting = {last: 0}, deque([last])
            while waiting:
                at = waiting.popleft()
                for _, other in self._from.get(at, []):
                    if other not in found:
                        found[other] = found[at] + 1
                        waiting.append(other)
            self._distances[last] = found
        return self._distances[last]


def hashed(*key: object) -> Choice:
    """Return a choice by a hash of a key and the switch, as equal-cost multi-path routing makes it for a flow."""

    def choose(switch: str, links: Sequence[str]) -> str:
        text = " ".join(map(str, (*key, switch)))
        return links[int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") % len(links)]

    return choose


def first(switch: str, links: Sequence[str]) -> str:  # noqa: ARG001  (the form of a choice)
    """Take the link that comes first in the network."""
    return links[0]


def backwards(hops: Sequence[Hop], graph: Graph) -> tuple[Hop, ...]:
    """Return the same way in the other direction."""
    return tuple(Hop(graph.other(hop.link, hop.switch), hop.link) for hop in reversed(hops) if hop.link in graph.links)


@dataclass(frozen=True)
class Route:
    """Where packets go between two switches, one way after the other.

    Parameters
    ----------
    first, last : str
        Switches of sender and receiver.
    durations : tuple of int
        ns of each slot; they repeat for ever. One that is alone never ends.
    ways : tuple of (tuple of Hop or None)
        The way in each slot; None is dark.
    phase : int
        ns by which it begins after the scenario, wherever a switch is not late.
    """

    first: str
    last: str
    durations: tuple[int, ...]
    ways: tuple[tuple[Hop, ...] | None, ...]
    phase: int = 0

    @property
    def switches(self) -> tuple[str, ...]:
        """Switches that have to do with it, the receiver's last."""
        passed = [hop.switch for way in self.ways for hop in way or ()]
        return tuple(dict.fromkeys([self.first, *passed, self.last]))

    def at(self, switch: str, *, dark: bool) -> tuple[str | None, ...]:
        """Return the link that packets take from a switch in each slot; None is dark, "" is to the receiver.

        A switch that is not on the way of a slot keeps what it had: nobody takes rules away from where packets may
        still be.

        Parameters
        ----------
        switch : str
            One of `switches`.
        dark : bool
            Whether the switch itself goes dark in a dark slot, as the sender's and optical ones do.
        """
        unsaid = object()
        known: list[object] = []
        for way in self.ways:
            if way is None:
                known.append(None if dark else unsaid)
            else:
                here = "" if switch == self.last else unsaid
                known.append(next((hop.link for hop in way if hop.switch == switch), here))
        start = next(place for place, link in enumerate(known) if link is not unsaid)
        kept: str | None = None
        found: list[str | None] = [None] * len(known)
        for place in range(start, start + len(known)):
            link = known[place % len(known)]
            if link is None or isinstance(link, str):
                kept = link
            found[place % len(known)] = kept
        return tuple(found)

    def chooses(self, switch: str) -> bool:
        """Return whether a switch has more to do for it than to deliver to a host of its own."""
        return any(link != "" for link in self.at(switch, dark=switch == self.first))


@dataclass(frozen=True)
class Timetable:
    """What one switch does for a route: targets and durations (ns) that repeat, after a phase (ns)."""

    targets: tuple[str | None, ...]
    durations: tuple[int, ...]
    phase: int
    places: tuple[int, ...]
    """The slot of the route that each of them is."""

    @property
    def static(self) -> bool:
        """Whether nothing ever changes."""
        return len(set(self.targets)) == 1
