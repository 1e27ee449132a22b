# SPDX-License-Identifier: Apache-2.0
"""Lines and queues in the kernel's format; the kernel implements them for every kind of switch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rdcnlab.engines.network import Line, Network, Station
from rdcnlab.engines.network.numbers import PORT_LINK
from rdcnlab.scenario import Link, Port
from rdcnlab.scenario.queue import ETHERNET_HEADER, Queue

#: The kernel events of lines, and of switches of the kind ``ocs``.
EVENTS = ("ocs_dequeue", "ocs_drop", "ocs_mark", "ocs_slot", "ocs_enqueue")
#: Trace filter for lines inside the network and lines to hosts. The line from a host matches neither condition; a port
#: without a rate, as to another switch, has no events.
PLACES = f"(link <= 1023 || link >= {PORT_LINK})"


def overhead(network: Network) -> int:
    """Return the bytes that a frame takes on a line in addition to its Ethernet header and payload."""
    return network.scenario.network.overhead - ETHERNET_HEADER


def port(network: Network, station: Station) -> dict[str, Any]:
    """Return a host's two lines at its switch; the line from the host has a rate only if the card has a buffer."""
    host, more = network.scenario.network.hosts[station.number], overhead(network)
    return {
        "host": station.label,
        "mac": station.mac,
        "ingress": {"rate": host.rate if host.nic_buffer else 0, "delay": host.delay, "overhead": more},
        "egress": {
            "rate": host.rate,
            "delay": host.delay,
            "overhead": more,
            "queue": port_queue(host.port, network.pools),
        },
    }


def port_queue(port: Port, pools: Mapping[str, int]) -> dict[str, int]:
    """Return the queue of a port to a host; `pools` has the pools' numbers."""
    return _limit(port.buffer) | _behaviour(port, port.ecn_threshold, pools)


def queue(link: Link, threshold: int | None, pools: Mapping[str, int]) -> dict[str, int]:
    """Return a link's queue; `threshold` replaces the link's own, and `pools` has the pools' numbers."""
    return _limit(link.buffer) | _behaviour(link, link.ecn_threshold if threshold is None else threshold, pools)


def _limit(limit: Queue | None) -> dict[str, int]:
    if limit is None:
        return {}
    return {"limit_packets": limit.packets} if limit.packets is not None else {"limit_bytes": limit.bytes or 0}


def _behaviour(given: Link | Port, threshold: int | None, pools: Mapping[str, int]) -> dict[str, int]:
    words: dict[str, int] = {}
    if given.pool is not None:
        words["pool"] = pools[given.pool]
    if threshold is not None:
        words["ecn"] = threshold
    if given.red is not None:
        # the kernel counts the probability in units of 1e-9
        words |= {"red_min": given.red.min, "red_max": given.red.max, "red_prob": given.red.probability * 1000}
    return words


def line(network: Network, which: Line) -> dict[str, Any]:
    """Return a line inside the network; one that leads to another switch ends at the port of its trunk."""
    link = which.link
    words: dict[str, Any] = {
        "id": which.number,
        "rate": 0 if which.optical else link.rate,
        "delay": link.delay,
        "overhead": overhead(network),
        "queue": {} if which.optical else queue(link, network.scenario.switch.ecn_threshold, network.pools),
    }
    return words if which.trunk is None else words | {"port": which.trunk}


def pools(network: Network) -> list[dict[str, int]]:
    """Return the shared buffers; every switch has its own copy of each."""
    return [{"id": network.pools[pool.name], "bytes": pool.size} for pool in network.scenario.network.pools]
