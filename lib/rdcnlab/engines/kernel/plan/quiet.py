# SPDX-License-Identifier: Apache-2.0
"""How long a network may deliver nothing although a frame is under way in it."""

from __future__ import annotations

import itertools
import math

from rdcnlab.engines.network import Network
from rdcnlab.scenario import Host, Link
from rdcnlab.scenario.line import Faulty

#: The least time in ns, so that nothing changes where lines are fast.
LEAST_NS = 10**9
#: A run of losses that is less probable than this is not waited for.
_NEVER = 1e-9
_MS = 10**6


def quiet_ns(network: Network) -> int:
    """Return the ns after which no datagram comes any more if none has come meanwhile and all have been sent.

    A frame is under way at most for the sum, over the lines of its way, of the time that the line needs for a full
    frame, the line's delay, and the times in which the line stands. A queue before it delivers its own frames
    meanwhile, one for each of these times; those that faults lose are not seen.
    """
    frame = 8e9 * (network.mtu + network.overhead)
    hosts = [_host(station.host, frame) for station in network.stations.values()]
    lines = {name: _link(network, link, frame) for name, link in network.links.items()}
    ways = [0.0]
    for way in network.ways:
        hops = [sum(lines[hop.link] for hop in one) for one in way.route.ways if one]
        stands = sum(time for time, one in zip(way.route.durations, way.route.ways, strict=True) if one is None)
        ways.append(max(hops, default=0.0) + stands)
    if network.waiting:
        # a packet may wait for a cycle at each rack that it passes; it passes each at most once
        cycle = max(sum(queue.step.durations) for queue in network.waiting)
        ways.append((cycle + max(lines.values(), default=0.0)) * len(network.switches))
    return max(LEAST_NS, math.ceil(2 * max(hosts) + max(ways)))


def _host(host: Host, frame: float) -> float:
    return (frame / host.rate) * _lost(host) + host.delay + host.jitter


def _link(network: Network, link: Link, frame: float) -> float:
    """Return the longest time in ns between two frames that a link delivers, with its delay."""
    rate, stands, cycle = link.rate, 0.0, math.inf
    if link.steps:
        rate = min(step.rate for step in link.steps if step.rate)
        stands = sum(step.duration for step in link.steps if not step.rate)
        cycle = sum(step.duration for step in link.steps) - stands
    elif link.down:
        stands = sum(last - first for first, last in link.down)
    elif link.opportunities:
        gaps = [later - earlier for earlier, later in itertools.pairwise((0, *link.opportunities))]
        each = max(gaps) * _MS * -(-(network.mtu + network.overhead) // link.opportunity)
        return 2 * each * _lost(link) + link.delay + link.jitter
    sending = frame / rate * _lost(link)
    return sending + stands * math.ceil(1 + sending / cycle) + link.delay + link.jitter


def _lost(line: Faulty) -> int:
    """Return how many frames in a row may be lost or useless, with the one that is not."""
    share = (line.loss + line.corrupt) / 1e6
    if line.bursts is not None:
        # a bad time lasts as long as the line does not change
        share = max(share, 1 - line.bursts.bad_good / 1e6)
    return 1 + (math.ceil(math.log(_NEVER) / math.log(share)) if 0 < share < 1 else 0)
