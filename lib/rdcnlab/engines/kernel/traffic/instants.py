# SPDX-License-Identifier: Apache-2.0
"""Instants before the start of a scenario: listeners are ready, the RNG is seeded."""

from __future__ import annotations

from collections.abc import Iterable

from rdcnlab.engines.kernel.traffic import quic
from rdcnlab.engines.network import Network, Traffic
from rdcnlab.engines.network.numbers import READY_NS, START_NS


def ready_ns(network: Network) -> int:
    """Return the instant at which all listeners must be ready and the RNG is seeded; nothing opens before it."""
    first = min(network.traffic.connect_ns.values(), default=START_NS)
    return min(quic.ready_ns(network.traffic), first - (START_NS - READY_NS))


def late(traffic: Traffic, starts_s: Iterable[float]) -> list[str]:
    """Return the flows whose connection was not established at their start, from the start times in their table."""
    asked = zip(traffic.flows, traffic.starts, starts_s, strict=True)
    return [flow.name for flow, start, seen in asked if flow.connect == "ahead" and seen > start / 1e9]
