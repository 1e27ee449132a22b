# SPDX-License-Identifier: Apache-2.0
"""Flows in the format that ``tools/traffic.c`` reads."""

from __future__ import annotations

from rdcnlab.engines.kernel.traffic import quic
from rdcnlab.engines.network import Network
from rdcnlab.engines.network.flows import connect_ns, payload
from rdcnlab.scenario import Flow

#: Protocols by their names in ``tools/traffic.c``.
_TOOLS = {"tcp": "tcp", "mptcp": "mptcp", "udp": "udp", "quic": "program"}


def line(network: Network, flow: Flow, *, here: bool) -> str:
    """Return a flow's line for ``tools/traffic.c``.

    The guest replaces ``@src`` and ``@dst`` by process ids and ``@start`` by the start time.
    """
    port, sender = network.ports[flow.name], network.stations[flow.src].ip
    ends = ["@src", "@dst", sender, network.stations[flow.dst].ip, port]
    words = _words(network, flow, sender, port, here=here)
    return " ".join(map(str, [_TOOLS[flow.protocol], flow.name, *ends, flow.size, "@start", *words]))


def _words(network: Network, flow: Flow, address: str, port: int, *, here: bool) -> list[str]:
    """Return the protocol-specific arguments."""
    if flow.protocol == "udp":
        return [str(payload(flow, network.mtu)), str(flow.burst), str(flow.interval)]
    if flow.protocol == "quic":
        return (
            quic.words(network.scenario, flow, address, port) if here else []
        )  # the scenario contains the command lines
    ahead = connect_ns(network.scenario).get(flow.name)
    return [str(flow.cc), flow.initiator, *([] if ahead is None else [str(ahead)])]
