# SPDX-License-Identifier: Apache-2.0
"""Lines and queues in the kernel's format; the kernel implements them for every kind of switch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rdcnlab.engines.network import Line, Network, Station
from rdcnlab.engines.network.numbers import PORT_LINK
from rdcnlab.scenario import Link, Port
from rdcnlab.scenario.aqm import Aqm
from rdcnlab.scenario.draws import draw
from rdcnlab.scenario.line import Faulty
from rdcnlab.scenario.queue import ETHERNET_HEADER, Queue

#: The kernel events of lines, and of switches of the kind ``ocs``.
EVENTS = ("ocs_dequeue", "ocs_drop", "ocs_mark", "ocs_slot", "ocs_enqueue")
#: Trace filter for lines inside the network and lines to hosts. The line from a host matches neither condition; a port
#: without a rate, as to another switch, has no events.
PLACES = f"(link <= 1023 || link >= {PORT_LINK})"
#: The kernel counts probabilities in units of 1e-9, a scenario in millionths.
PER_MILLIONTH = 1000


def overhead(network: Network) -> int:
    """Return the bytes that a frame takes on a line in addition to its Ethernet header and payload."""
    return network.overhead - ETHERNET_HEADER


def port(network: Network, station: Station) -> dict[str, Any]:
    """Return a host's two lines at its switch; the line from the host has a rate behind a deep token bucket only.

    Exact ends have their rate at the host.
    """
    host, more = station.host, overhead(network)
    behind = host.nic_buffer and network.ends == "bucket"
    to_host, from_host = (faults(network, host, f"{host.name} {way}") for way in ("to", "from"))
    return {
        "host": station.label,
        "mac": station.mac,
        "ingress": {"rate": host.rate if behind else 0, "delay": host.delay, "overhead": more, **from_host},
        "egress": {
            "rate": host.rate,
            "delay": host.delay,
            "overhead": more,
            "queue": port_queue(host.port, network.pools),
            **to_host,
            **discipline(network, host.port.aqm, f"qh{station.number}"),
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
    if given.marking is not None:
        mark = given.marking
        words |= {"mark_min": mark.min, "mark_max": mark.max, "mark_prob": mark.probability * PER_MILLIONTH}
    elif threshold is not None:
        words["ecn"] = threshold
    if given.red is not None:
        red = given.red
        words |= {"red_min": red.min, "red_max": red.max, "red_prob": red.probability * PER_MILLIONTH}
    return words


def line(network: Network, which: Line) -> dict[str, Any]:
    """Return a line inside the network; one that leads to another switch ends at the port of its trunk."""
    link = which.link
    words: dict[str, Any] = {
        "id": which.number,
        "rate": 0 if which.optical else link.rate,
        "delay": link.delay,
        "overhead": overhead(network),
        "queue": {} if which.optical else queue(link, network.switch.ecn_threshold, network.pools),
    }
    if not which.optical:
        device = f"ql{which.number}"
        words |= {**changes(link), **faults(network, link, which.name), **discipline(network, link.aqm, device)}
    return words if which.trunk is None else words | {"port": which.trunk}


def pools(network: Network) -> list[dict[str, int]]:
    """Return the shared buffers; every switch has its own copy of each."""
    return [{"id": network.pools[pool.name], "bytes": pool.size} for pool in network.buffers]


def changes(link: Link) -> dict[str, Any]:
    """Return the rate of a link over time, for `inside.ocs`; empty if it is constant."""
    if link.opportunities:
        instants = [instant * 10**6 for instant in link.opportunities]
        return {"steps": {"instants": instants, "size": link.opportunity}}
    if link.steps:
        return {"steps": {"rates": [[step.duration, step.rate] for step in link.steps], "hold": not link.repeat}}
    if not link.down:
        return {}
    rates, end = [], 0
    for first, last in link.down:
        rates += [[first - end, link.rate]] if first > end else []
        rates.append([last - first, 0])
        end = last
    return {"steps": {"rates": [*rates, [10**9, link.rate]], "hold": True}}


def discipline(network: Network, given: Aqm | None, device: str) -> dict[str, Any]:
    """Return the queueing discipline of one end of a line, and the device that it is at; empty if it has none."""
    return {} if given is None else {"aqm": {"device": device, "tc": given.tc, "mtu": network.mtu}}


def faults(network: Network, given: Faulty, name: str) -> dict[str, Any]:
    """Return the faults of one end of a line and the seed of its draws; empty if it has none."""
    if not given.errs:
        return {}
    shares = {"loss": given.loss, "duplicate": given.duplicate, "corrupt": given.corrupt}
    if given.bursts is not None:
        shares |= given.bursts.model_dump()
    words = {name: share * PER_MILLIONTH for name, share in shares.items() if share}
    if given.jitter:
        words |= {"jitter": given.jitter, "reorder": int(given.reorder)}
    return {"seed": draw(network.seed, f"faults {name}", 2**64 - 1), "faults": words}
