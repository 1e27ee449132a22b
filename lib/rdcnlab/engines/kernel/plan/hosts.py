# SPDX-License-Identifier: Apache-2.0
"""Hosts in the plan: their lines, addresses and TCP settings."""

from __future__ import annotations

from typing import Any

from rdcnlab.engines.kernel.wiring import Station, mptcp
from rdcnlab.scenario import Scenario

#: Settings that the kernel would derive from the size of memory, in pages of 4 KiB or packets.
MEMORY_SYSCTLS = {"net.ipv4.tcp_mem": "1048576 1398101 2097152", "net.ipv4.udp_mem": "1048576 1398101 2097152"}


#: Fields of `Transport` that are parameters of the kernel's module ``tcp_cubic``, with the names of the parameters.
CUBIC_PARAMETERS = {
    "cubic_beta": "beta",
    "cubic_friendliness": "tcp_friendliness",
    "cubic_fast_convergence": "fast_convergence",
    "cubic_hystart": "hystart",
}


def parameters(scenario: Scenario) -> dict[str, str]:
    """Return the parameters of kernel modules, by their path below ``/sys/module``."""
    given = {name: getattr(scenario.transport, field) for field, name in CUBIC_PARAMETERS.items()}
    return {f"tcp_cubic/parameters/{name}": str(value) for name, value in given.items() if value is not None}


def host(scenario: Scenario, station: Station) -> dict[str, Any]:
    """Return the plan of one host, in bit/s and bytes."""
    given = scenario.network.hosts[station.number]
    return {
        "name": given.name,
        "ip": station.ip,
        "prefix": 8,
        "more": mptcp.addresses(scenario, given.name, station.ip),
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
    """Return the sysctls in which a host differs from the others: it may not offer time-division TCP."""
    differs = scenario.transport.tdtcp and not scenario.offers().get(host, True)
    return {"net.ipv4.tcp_tdtcp": "0"} if differs else {}


def sysctls(scenario: Scenario) -> dict[str, str]:
    """Return the TCP settings of every host by sysctl name."""
    settings = scenario.transport
    values: dict[str, str] = {}
    for name in type(settings).model_fields:
        value = getattr(settings, name)
        if name.startswith("tdtcp") and not value:
            continue  # off is the default, and stock kernels do not have this setting
        if name == "like" or name in CUBIC_PARAMETERS or (value is None and name != "ecn"):
            continue  # the kernel's own value
        if name == "ecn":
            # 2: accept ECN, and request it only if the congestion control needs it, as DCTCP does
            value = 2 if value is None else int(value)
        if isinstance(value, tuple):
            value = " ".join(map(str, value))
        values[f"net.ipv4.tcp_{name}"] = str(int(value) if isinstance(value, bool) else value)
    return values
