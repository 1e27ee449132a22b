# SPDX-License-Identifier: Apache-2.0
"""Which drops a scenario explains. All others are faults: of the engine, or of a limit that nobody has stated.

A line of ours drops by its own fields: buffer, pool, RED, discipline, loss, dark slots, `down`, notifications that a
host forges. What a switch or a host drops beside that is explained only if code of the user's runs in the network:
programs (QUIC's among them), a controller, or a P4 program may send to a port that nobody listens at, or read slowly.
"""

from __future__ import annotations

from collections.abc import Mapping

from rdcnlab.engines.network import Network

#: Reasons of ``ocs`` that the fields of a line or a notification explain wherever they occur.
STATED = frozenset({"tail", "pool", "red", "dark", "down", "loss", "qdisc", "forged"})
#: Reasons that code of the user's explains: it chooses where frames go, and how long they are.
CHOSEN = frozenset({"port", "mtu", "hops", "nowhere"})

#: Counters of IP that are packets which a host dropped.
IP_DROPS = (
    "Ip.InHdrErrors", "Ip.InAddrErrors", "Ip.InUnknownProtos", "Ip.InDiscards", "Ip.ReasmFails", "IpExt.InNoRoutes",
    "IpExt.InTruncatedPkts", "TcpExt.IPReversePathFilter",
)  # fmt: skip
#: Counters of sockets: packets that a host dropped after IP had delivered them. ``Tcp.InErrs`` also counts a SYN
#: that comes again to a connection which is open, so it is not among them.
SOCKET_DROPS = (
    "Udp.NoPorts", "Udp.InErrors", "Icmp.InErrors", "TcpExt.ListenDrops", "TcpExt.TCPBacklogDrop",
    "TcpExt.PFMemallocDrop", "TcpExt.TCPMinTTLDrop", "TcpExt.TCPRcvQDrop", "TcpExt.TCPOFODrop",
    "TcpExt.TCPZeroWindowDrop", "TcpExt.TCPDeferAcceptDrop", "Tcp.InCsumErrors",
)  # fmt: skip
#: Counters of packets that a host could not send.
#: Not among them are those that a full queue or send buffer causes: the queue counts its drops itself, and a program
#: that waits for its buffer has made no packet yet (``Ip.OutDiscards``, ``Udp.SndbufErrors``).
SENDING_DROPS = ("Ip.OutNoRoutes", "Ip.FragFails")
#: What happens when a receive buffer is full, which `Transport.rmem` states.
OF_BUFFER = frozenset({"TcpExt.TCPRcvQDrop", "TcpExt.TCPOFODrop", "TcpExt.TCPBacklogDrop", "TcpExt.TCPZeroWindowDrop"})
#: What a bit that was flipped on the way causes.
OF_CORRUPTION = frozenset(
    {*IP_DROPS, "Udp.InErrors", "Udp.NoPorts", "Tcp.InCsumErrors", "Icmp.InErrors", "TcpExt.TCPMinTTLDrop"}
)
#: What is asked of each host.
_OF_HOSTS = frozenset({*IP_DROPS, *SOCKET_DROPS, *SENDING_DROPS}) - OF_BUFFER


def decides(network: Network) -> bool:
    """Return whether code of the user's runs in the network: programs, a controller, or P4."""
    return bool(
        network.traffic.programs
        or network.switch.program is not None
        or network.switch.controller is not None
        or any(node.program is not None for node in network.nodes)
        or network.traffic.of("quic")
    )


def corrupts(network: Network) -> bool:
    """Return whether any line flips bits."""
    hosts = (station.host for station in network.stations.values())
    return any(end.corrupt for end in (*network.links.values(), *hosts))


def unexplained_on_lines(network: Network, dropped: Mapping[str, int]) -> tuple[str, ...]:
    """Return the reasons of drops on a line or at a port that no field of a scenario explains."""
    wrong = tuple(reason for reason, count in dropped.items() if count and reason not in STATED)
    # nearly always empty; `decides` looks at all flows, and this is called for every line
    return tuple(reason for reason in wrong if reason not in CHOSEN) if wrong and decides(network) else wrong


def unexplained_in_hosts(network: Network, counters: Mapping[str, int]) -> tuple[str, ...]:
    """Return the counters of a host that no field of a scenario explains.

    Parameters
    ----------
    network : Network
        The network that was run.
    counters : mapping of str to int
        The counters that are not zero, by their names.
    """
    wrong = tuple(sorted(_OF_HOSTS & counters.keys()))
    if not wrong or decides(network):
        return ()
    return tuple(name for name in wrong if name not in OF_CORRUPTION) if corrupts(network) else wrong
