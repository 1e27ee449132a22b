# SPDX-License-Identifier: Apache-2.0
"""Hosts in the plan: their lines, addresses and TCP settings."""

from __future__ import annotations

from typing import Any

from rdcnlab.engines.kernel.build import own as own_build
from rdcnlab.engines.network import Machine, Network, Station
from rdcnlab.engines.network.numbers import FIRST_PORT, PORTS
from rdcnlab.engines.network.versions import HOLD_US
from rdcnlab.scenario.own import OwnAlgorithm
from rdcnlab.scenario.stack import Offload
from rdcnlab.scenario.transport import Transport

#: Settings of the whole guest that the kernel would derive from the size of memory, in pages of 4 KiB, and limits of a
#: processor's queues.
MEMORY_SYSCTLS = {
    "net.ipv4.tcp_mem": "1048576 1398101 2097152",
    "net.ipv4.udp_mem": "1048576 1398101 2097152",
    # frames that all hosts get at one instant wait here until it is over; by default 1000, and the others are dropped
    "net.core.netdev_max_backlog": str(2**31 - 1),
    # what a host keeps for a neighbour until it knows the address; by default 208 KiB. Devices made later have it
    "net.ipv4.neigh.default.unres_qlen_bytes": str(2**31 - 1),
}


#: The first port that the kernel chooses for a connection, unless a scenario has more flows than ports below it.
FIRST_FREE_PORT = 32_768

#: Fields of `Transport` that are parameters of the kernel's module ``tcp_cubic``, with the names of the parameters.
CUBIC_PARAMETERS = {
    "cubic_beta": "beta",
    "cubic_friendliness": "tcp_friendliness",
    "cubic_fast_convergence": "fast_convergence",
    "cubic_hystart": "hystart",
}
#: The same for ``tcp_nuftcp``, with the factor from percent to the module's thousandths.
NUFTCP_PARAMETERS = {"nuftcp_factor": ("factor", 10), "nuftcp_weight": ("weight", 10), "nuftcp_quiet": ("quiet", 1)}


def parameters(network: Network) -> dict[str, str]:
    """Return the parameters of kernel modules, by their path below ``/sys/module``."""
    settings = network.transport
    given = {name: getattr(settings, field) for field, name in CUBIC_PARAMETERS.items()}
    values = {f"tcp_cubic/parameters/{name}": str(value) for name, value in given.items() if value is not None}
    for field, (name, scale) in NUFTCP_PARAMETERS.items():
        value = getattr(settings, field)
        if value is not None:
            values[f"tcp_nuftcp/parameters/{name}"] = str(value * scale)
    own = set(network.engine.own_names)
    for chosen in network.engine.parameters:
        module = f"tcp_{chosen.name}"
        if chosen.name in own:
            module = own_build.STEM if isinstance(network.additions, OwnAlgorithm) else own_build.module(chosen.name)
        values |= {f"{module}/parameters/{name}": str(value) for name, value in chosen.values}
    if settings.nuftcp_readings:
        # bit n is row n of docs/decisions/nuftcp.md
        values["tcp_nuftcp/parameters/readings"] = str(sum(1 << row for row in settings.nuftcp_readings))
    return values


def host(network: Network, machine: Machine) -> dict[str, Any]:
    """Return the plan of one host, in bit/s and bytes."""
    station, name = machine.stations[0], machine.name
    return {
        "name": name,
        **({} if machine.transport is None else {"transport": sysctls(network, machine.transport)}),
        **({} if machine.offload == Offload() else {"offload": machine.offload.model_dump()}),
        **({} if station.label == name else {"label": station.label}),
        "ip": station.ip,
        "prefix": 8,
        "more": _addresses(network, name),
        **({} if machine.aliases is None else {"aliases": machine.aliases}),
        "subflows": _subflows(network, name),
        "sysctls": _own_sysctls(network, machine),
        "mtu": network.mtu,
        "ends": network.ends,
        **_line(station),
        **_lines(network, machine),
    }


def _line(station: Station) -> dict[str, Any]:
    """Return the settings of one line of a host, in bit/s and bytes."""
    given = station.host
    return {
        "mac": station.mac,
        "rate": given.rate,
        "nic_buffer": given.nic_buffer,
        "queue_bytes": given.queue.bytes,
        "queue_packets": given.queue.packets,
        **({} if given.qdisc is None else {"qdisc": given.qdisc.tc}),
    }


def _lines(network: Network, machine: Machine) -> dict[str, Any]:
    """Return the further lines of a host and what its path manager does; empty where no host has several lines."""
    if not network.classes.ends:
        return {}
    manager = machine.path_manager
    flags = ("subflow", "signal", "backup", "fullmesh")
    return {
        "lines": [{"label": station.label, "ip": station.ip, **_line(station)} for station in machine.stations[1:]],
        "path_manager": {
            "subflows": manager.subflows,
            "accepted": manager.accepted,
            "endpoints": [
                {
                    "ip": network.stations[endpoint.line].ip,
                    "label": network.stations[endpoint.line].label,
                    "flags": [flag for flag in flags if getattr(endpoint, flag)],
                }
                for endpoint in manager.endpoints or ()
            ],
        },
    }


def _subflows(network: Network, host: str) -> int:
    """Return the largest number of subflows of a connection of a host."""
    subflows = network.traffic.subflows
    return max((subflows[flow.name] for flow in network.traffic.of("mptcp") if host in (flow.src, flow.dst)), default=1)


def _addresses(network: Network, host: str) -> list[str]:
    """Return the additional addresses of a host, which it announces to its peers."""
    subflows = network.traffic.subflows
    most = max((subflows[flow.name] for flow in network.traffic.of("mptcp") if flow.dst == host), default=1)
    return [network.subflow_address(host, subflow) for subflow in range(1, most)]


def _own_sysctls(network: Network, machine: Machine) -> dict[str, str]:
    """Return the sysctls in which a host differs from the others: it may not offer time-division TCP."""
    return {"net.ipv4.tcp_tdtcp": "0"} if network.transport.tdtcp and not machine.offers else {}


def sysctls(network: Network, own: Transport | None = None) -> dict[str, str]:
    """Return settings of TCP by sysctl name: those of every host, or the own ones of a host."""
    settings, traffic = own or network.transport, network.traffic
    values: dict[str, str] = {}
    for name in type(settings).model_fields:
        value = getattr(settings, name)
        if name.startswith("tdtcp") and not value:
            continue  # off is the default, and stock kernels do not have this setting
        if name == "version_hold_us" and value is None and traffic.uses_nuftcp:
            value = HOLD_US
        if name == "like" or name in CUBIC_PARAMETERS or (value is None and name != "ecn"):
            continue  # the kernel's own value
        if name.startswith("nuftcp_"):
            continue  # parameters of the module
        if name == "ecn":
            # 2: accept ECN, and request it only if the congestion control needs it, as DCTCP does
            value = 2 if value is None else int(value)
        if isinstance(value, tuple):
            value = " ".join(map(str, value))
        values[f"net.ipv4.tcp_{name}"] = str(int(value) if isinstance(value, bool) else value)
    if traffic.uses_nuftcp:
        values["net.ipv4.ip_default_ttl"] = "15"  # the upper 4 bits are the version, which begins with 0
    if len(traffic.flows) > FIRST_FREE_PORT - FIRST_PORT:
        used = min(len(traffic.flows), PORTS)
        # a port that the kernel chooses must not be a flow's: packets to it would be those of the flow
        values["net.ipv4.ip_local_port_range"] = f"{FIRST_PORT + used} 65535"
    if traffic.uses_mptcp:
        # where no flow follows a schedule, Linux's own
        scheduled = any(count > 1 for count in traffic.subflows.values())
        values["net.mptcp.scheduler"] = network.mptcp.scheduler if scheduled else "default"
    return values
