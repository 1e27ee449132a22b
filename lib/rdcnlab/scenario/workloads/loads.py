# SPDX-License-Identifier: Apache-2.0
"""How often flows of a workload must start so that lines have a load."""

from __future__ import annotations

import functools
from collections import defaultdict
from typing import TYPE_CHECKING

from rdcnlab.fields.quantities import FieldError
from rdcnlab.fields.units import NS_PER_S
from rdcnlab.scenario.flow import TCP_HEADERS
from rdcnlab.scenario.timetable import BYPASS, DARK, ECMP
from rdcnlab.scenario.workloads.arrivals import DRAWN, FABRIC, HOSTS

if TYPE_CHECKING:
    from rdcnlab.scenario.network import Network
    from rdcnlab.scenario.routes import Graph
    from rdcnlab.scenario.workloads.pairs import Pairs
    from rdcnlab.scenario.workloads.workload import Workload

#: A line: the place where packets enter it, a host or a switch, and its host or link.
Line = tuple[str, str]


def mean_time(workload: Workload, network: Network, pairs: Pairs) -> float:
    """Return the mean time between two flows in ns with which the workload has its load.

    Raises
    ------
    FieldError
        The load is that of something which the workload does not use.
    """
    arrivals = workload.arrivals
    assert arrivals.load is not None
    shares = line_shares(workload, network, pairs)
    lines, rate = loaded_lines(workload, network, shares)
    # bits of a flow on all these lines, against what all of them carry
    share = sum(shares[line] for line in lines)
    counted = wire_bytes(workload, network) if arrivals.counts == DRAWN else _uncut_wire_bytes(workload, network)
    return counted * 8 * NS_PER_S * share * 1e6 / (rate * arrivals.load)


def wire_bytes(workload: Workload, network: Network) -> float:
    """Return the mean bytes on the wire of a flow that is drawn, with the headers of its frames."""
    frames = workload.sizes.drawn_frames(network.mtu - TCP_HEADERS, workload.at_most)
    return workload.rounds * (workload.sizes.drawn_mean(workload.at_most) + frames * (TCP_HEADERS + network.overhead))


def _uncut_wire_bytes(workload: Workload, network: Network) -> float:
    """Return the mean bytes of which a load of uncut sizes is made; stored scenarios need every bit of it."""
    frames = workload.sizes.frames(network.mtu - TCP_HEADERS)
    return workload.rounds * (workload.sizes.mean + frames * (TCP_HEADERS + network.overhead))


def line_shares(workload: Workload, network: Network, pairs: Pairs) -> dict[Line, float]:
    """Return for each line the share of flows that pass it; equal-cost ways are equally likely."""
    total = sum(pairs.weights)
    homes = {host.name: host.at for host in network.hosts}
    shares: defaultdict[Line, float] = defaultdict(float)
    between: defaultdict[tuple[str, str], float] = defaultdict(float)
    for (src, dst), weight in zip(pairs.listed, pairs.weights, strict=True):
        shares[src, src] += weight / total
        shares[f"{homes[dst]}", dst] += weight / total
        between[homes[src] or "", homes[dst] or ""] += weight / total
    if network.switches and workload.path in (ECMP, BYPASS):
        for (first, last), share in between.items():
            for line, amount in _spread(network.graph, first, last, share):
                shares[line] += amount
    elif isinstance(workload.path, str) and workload.path not in (ECMP, BYPASS, DARK):
        for (first, _), share in between.items():
            shares[first, workload.path] += share
    return dict(shares)


# equal networks share their graph, and scenarios of other seeds or transports have the same shares
@functools.lru_cache(maxsize=4096)
def _spread(graph: Graph, first: str, last: str, share: float) -> list[tuple[Line, float]]:
    """Return what a share of flows between two switches adds to the lines of all their shortest ways."""
    added: list[tuple[Line, float]] = []
    waiting = {first: share}
    while waiting:
        # switches are passed in the order of their distance, so that all of a switch's flows are there
        here = max(waiting, key=lambda name: graph.distance(name, last) or 0)
        amount = waiting.pop(here)
        if here == last:
            continue
        links = graph.choices(here, last)
        for link in links:
            added.append(((here, link), amount / len(links)))
            other = graph.other(link, here)
            waiting[other] = waiting.get(other, 0.0) + amount / len(links)
    return added


def _rates(network: Network) -> dict[Line, int]:
    rates: dict[Line, int] = {}
    for host in network.hosts:
        rates[host.name, host.name] = rates[f"{host.at}", host.name] = host.rate
    for link in network.links:
        for end in link.between or (link.at or "",):
            rates[end, link.name] = link.rate
    return rates


def loaded_lines(workload: Workload, network: Network, shares: dict[Line, float]) -> tuple[list[Line], int]:
    """Return the lines that `Arrivals.of` names, of a link or a host the busier one, and their rate in all (bit/s).

    Raises
    ------
    FieldError
        `Arrivals.of` names something that the workload does not use.
    """
    rates, lines = _rates(network), _lines(workload, network, shares)
    if workload.arrivals.of not in (HOSTS, FABRIC):
        lines = [max(lines, key=lambda line: (shares[line], rates[line]))]
    return lines, sum(rates[line] for line in lines)


def _lines(workload: Workload, network: Network, shares: dict[Line, float]) -> list[Line]:
    of, hosts = workload.arrivals.of, [host.name for host in network.hosts]
    links = [link.name for link in network.links]
    if of == HOSTS:
        return [line for line in shares if line[0] == line[1]]
    if of == FABRIC:
        lines = [line for line in shares if line[1] in links]
    elif of not in (*links, *hosts):
        raise FieldError.unknown("arrivals.of", of, [HOSTS, FABRIC, *links, *hosts], "link or host")
    else:
        lines = [line for line in shares if line[1] == of]
    if not lines:
        what = "no link between switches" if of == FABRIC else f"not {of}"
        raise FieldError("arrivals.of", of, f"something that the workload's flows pass; they use {what}")
    return lines
