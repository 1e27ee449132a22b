# SPDX-License-Identifier: Apache-2.0
"""Hosts: their lines, addresses and settings of TCP."""

from __future__ import annotations

from typing import Any

from rdcnlab.engines.kernel.wiring import Station, mptcp
from rdcnlab.scenario import Scenario

#: Settings that the kernel derives from the size of memory, in pages of 4 KiB or packets.
MEMORY_SYSCTLS = {"net.ipv4.tcp_mem": "1048576 1398101 2097152", "net.ipv4.udp_mem": "1048576 1398101 2097152"}


def host(scenario: Scenario, station: Station) -> dict[str, Any]:
    """Return a host for the guest; bit/s and bytes."""
    given = scenario.network.hosts[station.number]
    return {
        "name": given.name,
        "ip": station.ip,
        "prefix": 8,
        "more": mptcp.addresses(scenario, given.name),
        "subflows": mptcp.subflows(scenario, given.name),
        "sysctls": _own_sysctls(scenario, given.name),
        "mac": station.mac,
        "mtu": scenario.network.mtu,
        "rate": given.rate,
        "nic_buffer": given.nic_buffer,
        "queue_bytes": given.queue.bytes,
        "queue_packets": given.queue.packets,
    }


def _own_sysctls(scenario: Scenario, host: str) -> dict[str, str]:
    """Return what a host has unlike others: it may not offer time-division TCP."""
    differs = scenario.transport.tdtcp and not scenario.offers().get(host, True)
    return {"net.ipv4.tcp_tdtcp": "0"} if differs else {}


def sysctls(scenario: Scenario) -> dict[str, str]:
    """TCP settings of every host, by sysctl name."""
    settings = scenario.transport
    values: dict[str, str] = {}
    for name in type(settings).model_fields:
        value = getattr(settings, name)
        if name.startswith("tdtcp") and not value:
            continue  # off by default; stock kernels have no such setting
        if name == "ecn":
            # 2 accepts ECN and asks for it only where the congestion control needs it, as DCTCP does
            value = 2 if value is None else int(value)
        if isinstance(value, tuple):
            value = " ".join(map(str, value))
        values[f"net.ipv4.tcp_{name}"] = str(int(value) if isinstance(value, bool) else value)
    return values
