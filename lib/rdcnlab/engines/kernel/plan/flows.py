# SPDX-License-Identifier: Apache-2.0
"""Flows in the format that ``tools/traffic.c`` reads."""

from __future__ import annotations

from rdcnlab.engines.kernel.traffic import quic
from rdcnlab.engines.network import Network
from rdcnlab.engines.network.flows import connect_ns, payload
from rdcnlab.scenario import Flow, Scenario

#: With more stated flows than this, the event loop carries them, too: a thread for each end takes memory.
MOST_BY_THREADS = 1024
#: Largest flow whose receiver is woken once, when all data is there: the first window of the receiver has room for it.
SMALL = 32_768
#: Protocols by their names in ``tools/traffic.c``.
_TOOLS = {"tcp": "tcp", "mptcp": "mptcp", "udp": "udp", "quic": "program"}


def line(network: Network, flow: Flow, *, here: bool) -> str:
    """Return a flow's line for ``tools/traffic.c``.

    The guest replaces ``@src`` and ``@dst`` by process ids and ``@start`` by the start time.
    """
    port, sender = network.ports[flow.name], network.stations[flow.src].ip
    if by_loop(network.scenario, flow):
        ends = ["@src", "@dst", sender, network.stations[flow.dst].ip, port]
        return " ".join(map(str, ["loop", flow.name, *ends, flow.size, "@start", flow.cc, flow.initiator]))
    ends = ["@src", "@dst", sender, network.stations[flow.dst].ip, port]
    words = _words(network, flow, sender, port, here=here)
    return " ".join(map(str, [_TOOLS[flow.protocol], flow.name, *ends, flow.size, "@start", *words]))


def by_loop(scenario: Scenario, flow: Flow) -> bool:
    """Return whether one thread carries a flow together with others, instead of a thread for each of its ends."""
    is_one_of_many = flow.workload is not None or len(scenario.flows) > MOST_BY_THREADS
    return is_one_of_many and flow.protocol == "tcp" and flow.connect == "start"


def small(scenario: Scenario) -> int:
    """Return the size in bytes up to which the receiver of a flow is woken once."""
    least = min(scenario.transport_of(host.name).rmem[1] for host in scenario.network.hosts)
    return min(SMALL, least // 4)


def _words(network: Network, flow: Flow, address: str, port: int, *, here: bool) -> list[str]:
    """Return the protocol-specific arguments."""
    if flow.protocol == "udp":
        return [str(payload(flow, network.mtu)), str(flow.burst), str(flow.interval)]
    if flow.protocol == "quic":
        return (
            quic.words(network.scenario, flow, address, port) if here else []
        )  # the scenario contains the command lines
    ahead = connect_ns(network.scenario).get(flow.name) if flow.connect == "ahead" else None
    return [str(flow.cc), flow.initiator, *([] if ahead is None else [str(ahead)])]
