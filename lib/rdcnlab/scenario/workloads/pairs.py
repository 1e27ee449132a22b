# SPDX-License-Identifier: Apache-2.0
"""Who sends to whom: the pairs of hosts of a workload."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rdcnlab.fields.quantities import FieldError
from rdcnlab.scenario.draws import draw

if TYPE_CHECKING:
    from rdcnlab.scenario.network import Network
    from rdcnlab.scenario.workloads.workload import Workload

Pair = tuple[str, str]


@dataclass(frozen=True)
class Pairs:
    """The pairs of hosts of a workload, with their weights.

    Parameters
    ----------
    listed : sequence of (str, str)
        Sender and receiver of each pair.
    weights : sequence of int
        How often a pair is drawn, compared with others.
    """

    listed: Sequence[Pair]
    weights: Sequence[int]
    _sums: list[int] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_sums", list(itertools.accumulate(self.weights)))

    def drawn(self, seed: int, purpose: str) -> Pair:
        """Draw a pair by the weights."""
        return self.listed[bisect.bisect_right(self._sums, draw(seed, purpose, self._sums[-1] - 1))]


def hosts_of(workload: Workload, network: Network) -> tuple[str, ...]:
    """Return the hosts that take part in a workload.

    Raises
    ------
    FieldError
        A host does not exist, or there are fewer than two.
    """
    for place, host in enumerate(workload.hosts):
        network.check_host(f"hosts[{place}]", host)
    for number, demand in enumerate(workload.matrix):
        for end in ("src", "dst"):
            network.check_host(f"matrix[{number}].{end}", getattr(demand, end))
    if workload.to is not None:
        network.check_host("to", workload.to)
    hosts = workload.hosts or tuple(host.name for host in network.machines)
    if len(hosts) < 2:
        raise FieldError("hosts", f"{len(hosts)} host", "at least two hosts")
    return hosts


def pairs_of(workload: Workload, network: Network, seed: int) -> Pairs:
    """Return the pairs of a workload; those of a permutation are drawn.

    Raises
    ------
    FieldError
        A host does not exist, or no pair is possible.
    """
    hosts = hosts_of(workload, network)
    count = len(hosts)
    match workload.pattern:
        case "matrix":
            return Pairs([(one.src, one.dst) for one in workload.matrix], [one.weight for one in workload.matrix])
        case "permutation":
            listed = permutation(hosts, seed, f"permutation {workload.name}")
        case "stride":
            if workload.stride % count == 0:
                raise FieldError("stride", workload.stride, f"no multiple of the number of hosts, {count}")
            listed = [(host, hosts[(place + workload.stride) % count]) for place, host in enumerate(hosts)]
        case "incast":
            to = workload.to or hosts[0]
            listed = [(host, to) for host in hosts if host != to]
        case "racks":
            at = {host.name: host.at for host in network.hosts}
            listed = [pair for pair in itertools.permutations(hosts, 2) if at[pair[0]] != at[pair[1]]]
            if not listed:
                raise FieldError("pattern", "racks", "another one, because all hosts are at one switch")
        case _:
            listed = list(itertools.permutations(hosts, 2))
    return Pairs(listed, [1] * len(listed))


def permutation(hosts: Sequence[str], seed: int, purpose: str) -> list[Pair]:
    """Draw a permutation without a host that sends to itself: a single cycle, all cycles equally likely (Sattolo).

    Examples
    --------
    >>> sorted(receiver for _, receiver in permutation(["a", "b", "c"], 1, "p"))
    ['a', 'b', 'c']
    """
    places = list(range(len(hosts)))
    for last in range(len(hosts) - 1, 0, -1):
        other = draw(seed, f"{purpose} {last}", last - 1)
        places[last], places[other] = places[other], places[last]
    return [(host, hosts[place]) for host, place in zip(hosts, places, strict=True)]


def senders_of_incast(pairs: Pairs, fan: int | None, seed: int, purpose: str) -> list[Pair]:
    """Return the pairs of one arrival of an incast: hosts in turn, from one that is drawn."""
    first = draw(seed, purpose, len(pairs.listed) - 1)
    return [pairs.listed[(first + place) % len(pairs.listed)] for place in range(fan or len(pairs.listed))]
