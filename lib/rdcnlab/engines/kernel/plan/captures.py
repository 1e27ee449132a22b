# SPDX-License-Identifier: Apache-2.0
"""Captures at hosts, which have room for as many packets as the flows can cause."""

from __future__ import annotations

from typing import Any

from rdcnlab.engines.network import Network
from rdcnlab.engines.network.numbers import DATE_NS, START_NS
from rdcnlab.scenario import BYPASS, DARK, Flow

#: Room of a capture in packets where programs send, and nobody knows how much. A run that has more ends with an error.
MOST_CAPTURED = 400_000


def captures(network: Network) -> list[dict[str, Any]]:
    """Return the captures at hosts, with room for as many packets as the flows can cause there."""
    shared = {"packets": _captured(network), "epoch_ns": START_NS, "date_ns": DATE_NS}
    captured = [network.stations[name] for name in network.probes.capture]
    return [
        {
            "host": station.name,
            **({} if station.host.of is None else {"in": station.host.of}),
            "interface": f"{station.label}-eth0",
            **shared,
        }
        for station in captured
    ]


def captures_kB(network: Network) -> int:  # noqa: N802  (unit)
    """Return the memory of the captures in kB: each packet has a frame of 256 B."""
    return len(network.probes.capture) * (_captured(network) * 256 // 1000)


def _captured(network: Network) -> int:
    """Return the packets of one capture: data, half of it again, and an ACK for each."""
    most = _packets(network) * 5 // 2 + 20_000
    return min(most, MOST_CAPTURED) if network.traffic.programs else most


def _packets(network: Network) -> int:
    """Return an upper bound of data packets until the limit, from flow sizes, host rates and schedules."""
    traffic = network.traffic
    wire = 8e9 * (network.mtu + network.overhead)
    counts: dict[str, int] = {}
    for (name, sender), flows in _sharing(network).items():
        # flows of one host share its line
        frame = min(traffic.payloads[flow.name] for flow in flows) + network.overhead
        line = int(network.machines[sender].rate * network.limit * 1.1 / 8e9 / frame)
        bound = sum(min(traffic.packets[flow.name], line) for flow in flows)
        counts[name] = counts.get(name, 0) + min(bound, line) + 64 * len(flows)
    for name, bits in _carried(network).items():
        if name in counts:
            bound = int(bits * network.limit / wire * 1.1) + 64 * len(traffic.all)
            counts[name] = min(counts[name], bound)
    return sum(counts.values())


def _sharing(network: Network) -> dict[tuple[str, str], list[Flow]]:
    """Return the flows by the names of their schedule, which is empty without a schedule, and of their sender."""
    sharing: dict[tuple[str, str], list[Flow]] = {}
    for flow in network.traffic.all:
        schedule = network.traffic.schedules.get(flow.name)
        sharing.setdefault(("" if schedule is None else schedule.name, flow.src), []).append(flow)
    return sharing


def _carried(network: Network) -> dict[str, float]:
    """Return the mean rate that each schedule can carry in bit/s, by its name."""
    fastest = max(station.host.rate for station in network.stations.values())
    rates = {name: link.rate for name, link in network.links.items()} | {DARK: 0, BYPASS: fastest}
    rates_of = {}
    for way in network.ways:
        if way.schedule is None:
            continue
        links = [DARK if hops is None else hops[0].link if hops else BYPASS for hops in way.route.ways]
        bits = sum(duration * rates[link] for duration, link in zip(way.route.durations, links, strict=True))
        rates_of[way.schedule.name] = bits / sum(way.route.durations)
    return rates_of
