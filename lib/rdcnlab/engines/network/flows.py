# SPDX-License-Identifier: Apache-2.0
"""Packets and instants of flows that are the same in all engines."""

from __future__ import annotations

from rdcnlab.engines.network.numbers import AHEAD_EACH_NS, AHEAD_NS, START_NS
from rdcnlab.scenario import Flow, Scenario
from rdcnlab.scenario.flow import TCP_HEADERS, UDP_HEADERS
from rdcnlab.scenario.quic import QUIC_MTU


def connect_ns(scenario: Scenario) -> dict[str, int]:
    """Return the instant at which each flow with `Flow.connect` ``ahead`` opens its connection, by the flow's name.

    They open one after the other, in the order of the flows. The last one opens `AHEAD_NS` before the start.
    """
    ahead = [flow.name for flow in scenario.flows if flow.connect == "ahead"]
    last = START_NS - AHEAD_NS
    return {name: last - AHEAD_EACH_NS * (len(ahead) - 1 - index) for index, name in enumerate(ahead)}


def payload(flow: Flow, mtu: int) -> int:
    """Return the payload of a full packet of a flow in bytes."""
    if flow.protocol == "quic":
        return min(mtu, QUIC_MTU) - UDP_HEADERS  # the smallest maximum size, which is usual (RFC 9000, sec. 14)
    return (flow.packet or mtu) - UDP_HEADERS if flow.protocol == "udp" else mtu - TCP_HEADERS
