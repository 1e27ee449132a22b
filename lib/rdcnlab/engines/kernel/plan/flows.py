# SPDX-License-Identifier: Apache-2.0
"""Flows as ``tools/traffic.c`` reads them."""

from __future__ import annotations

from rdcnlab.engines.kernel.traffic import quic
from rdcnlab.engines.kernel.wiring import Wiring
from rdcnlab.scenario import Flow, Scenario
from rdcnlab.scenario.flow import TCP_HEADERS, UDP_HEADERS
from rdcnlab.scenario.quic import QUIC_MTU

#: What ``tools/traffic.c`` calls them.
_TOOLS = {"tcp": "tcp", "mptcp": "mptcp", "udp": "udp", "quic": "program"}


def line(scenario: Scenario, wiring: Wiring, flow: Flow, *, here: bool) -> str:
    """Return a flow's line for ``tools/traffic.c``; ``@src``, ``@dst`` (processes) and ``@start`` come later."""
    port, sender = wiring.ports[flow.name], wiring.stations[flow.src].ip
    ends = ["@src", "@dst", sender, wiring.stations[flow.dst].ip, port]
    words = _words(scenario, flow, sender, port, here=here)
    return " ".join(map(str, [_TOOLS[flow.protocol], flow.name, *ends, flow.size, "@start", *words]))


def _words(scenario: Scenario, flow: Flow, address: str, port: int, *, here: bool) -> list[str]:
    """Return what is a protocol's own."""
    if flow.protocol == "udp":
        return [str(payload(flow, scenario.network.mtu)), str(flow.burst), str(flow.interval)]
    if flow.protocol == "quic":
        return quic.words(scenario, flow, address, port) if here else []  # the scenario has them
    return [str(flow.cc), flow.initiator]


def payload(flow: Flow, mtu: int) -> int:
    """Return the bytes a full packet of a flow carries."""
    if flow.protocol == "quic":
        return min(mtu, QUIC_MTU) - UDP_HEADERS  # the least they may have, and most have (RFC 9000, sec. 14)
    return (flow.packet or mtu) - UDP_HEADERS if flow.protocol == "udp" else mtu - TCP_HEADERS
