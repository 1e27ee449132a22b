# SPDX-License-Identifier: Apache-2.0
"""Delays of links that give a network stated RTTs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rdcnlab.fields.units import NS_PER_US
from rdcnlab.scenario.flow import TCP_HEADERS
from rdcnlab.scenario.model import Scenario


def with_rtts(base: Scenario, links: Mapping[str, tuple[float, float]]) -> dict[str, Any]:
    """Return the changes, for `Scenario.with_`, that give links an RTT [us] and a rate [Gb/s]."""
    changes: dict[str, Any] = {}
    for name, (rtt_us, gbps) in links.items():
        rate = round(gbps * 10**9)
        changes[f"network.links.{name}.rate"] = rate
        changes[f"network.links.{name}.delay"] = delay_ns(base, rate, rtt_us)
    return changes


def delay_ns(base: Scenario, rate: int, rtt_us: float) -> int:
    """Return the delay of a link of some rate [bit/s] that gives a full frame and its ACK an RTT [us]."""
    flow, mtu = base.flows[0], base.network.mtu
    rtt_ns = round(rtt_us * NS_PER_US)
    return base.network.delay_ns(flow.src, flow.dst, mtu, TCP_HEADERS, rate=rate, rtt_ns=rtt_ns)
