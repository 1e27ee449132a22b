# SPDX-License-Identifier: Apache-2.0
"""Addresses that stand for ways: what switches need to know of more flows than they have rules.

A switch tells flows apart by their ports, with a rule for each flow. Where that would be too many rules, hosts have
several addresses, one for each of the equally short ways between two switches, and a flow has the address of its way:
its packets go to the receiver's address, and its ACKs to the sender's. A rule for a pair of switches and a way then
does for all flows that take it. Numbers of ways are in the third byte of an address, above the number of the host.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rdcnlab.engines.network.ways import Way

#: Ways between two switches, at most: their number and the two upper bits of a host's number share a byte.
MOST_WAYS = 64
_HOST_BITS = 2


@dataclass(frozen=True)
class Aliases:
    """The numbers of ways, by the flow's index and whether it is its way back."""

    ways: Mapping[tuple[int, bool], int]

    @functools.cached_property
    def used(self) -> list[int]:
        """The numbers besides 0, whose addresses hosts have anyway."""
        return sorted(set(self.ways.values()) - {0})


def of_way(ip: str, way: int) -> str:
    """Return a host's address for a way, from its first address.

    Examples
    --------
    >>> of_way("10.3.0.7", 5), of_way("10.3.1.7", 5)
    ('10.3.20.7', '10.3.21.7')
    """
    words = ip.split(".")
    words[2] = str(int(words[2]) | way << _HOST_BITS)
    return ".".join(words)


def prefix_of(part: int, way: int) -> str:
    """Return the prefix of the addresses of all hosts of a switch for a way.

    Examples
    --------
    >>> prefix_of(3, 5)
    '10.3.20.0/22'
    """
    return f"10.{part}.{way << _HOST_BITS}.0/{24 - _HOST_BITS}"


def aliases(ways: Sequence[Way]) -> Aliases | None:
    """Return the numbers of all ways; None if flows do more than take one of several constant ways."""
    of_pairs: dict[tuple[str, str], dict[object, int]] = {}
    numbers: dict[tuple[int, bool], int] = {}
    for way in ways:
        if way.schedule is not None or any(way.needs_class(name) for name in way.steps):
            return None
        of_pair = of_pairs.setdefault((way.route.first, way.route.last), {})
        number = of_pair.setdefault(way.route.ways, len(of_pair))
        if number >= MOST_WAYS:
            return None
        numbers |= dict.fromkeys(way.flows, number)
    return Aliases(numbers)
