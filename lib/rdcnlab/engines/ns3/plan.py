# SPDX-License-Identifier: Apache-2.0
"""The plan of a run, which the simulator's process reads: hosts, switches, TCP's settings, flows; plain numbers.

Switches have the plan of ``ocs``, our kernel's switch. So graph, timetables, queues and numbers are those of the kernel
engine, from the same code.
"""

from __future__ import annotations

import ipaddress
from typing import Any

from rdcnlab.engines.network import Network, Traffic, ocs
from rdcnlab.engines.network.numbers import FIRST_PORT, START_NS
from rdcnlab.engines.network.versions import HOLD_US
from rdcnlab.engines.ns3.check import VARIANTS
from rdcnlab.fields.units import NS_PER_S
from rdcnlab.scenario import Flow, Host, Transport
from rdcnlab.scenario.flow import TCP_HEADERS
from rdcnlab.scenario.queue import ETHERNET_HEADER

#: Bytes of TCP's option for time stamps.
TIMESTAMPS = 12
#: Bytes of memory that Linux takes for a received packet in addition to its payload, rounded. With frames of 9000 B,
#: 91 % of a receive buffer is payload (measured on Linux 6.12: see the network ``aykurt``). Windows of Linux are that
#: share of the buffer; buffers of ns-3 hold payload only.
PACKET_MEMORY = 885
#: Percent and rounds of NUFTCP where a scenario gives none, as in ``net/ipv4/tcp_nuftcp.c``.
DEFAULTS = {"factor": 150, "weight": 20, "quiet": 10}


def compile_plan(network: Network) -> dict[str, Any]:
    """Translate a network whose scenario `rdcnlab.engines.ns3.check` accepts into a plan.

    Returns
    -------
    dict
        Plain data for JSON; in ns, bit/s and bytes. Times count from the simulator's own start.
    """
    return {
        "start": START_NS,
        "limit": START_NS + network.limit,
        "seed": network.seed,
        "mtu": network.mtu,
        "ports": [FIRST_PORT, FIRST_PORT + len(network.traffic.flows) - 1],
        "packets": network.probes.packets,
        "count": {
            "links": [line.number for line in network.lines if line.link.name in network.probes.count],
            "bin": network.probes.bin,
            "instants": list(network.snapshots),
        },
        "acks": network.probes.tcp != "none",
        "transport": _transport(network),
        "hosts": [
            {
                "name": station.label,
                "ip": station.ip,
                **_line(station.host, network),
            }
            for station in network.stations.values()
        ],
        "macs": {station.mac: station.ip for station in network.stations.values()},
        "switches": [_device(network, number) for number in range(len(network.switches))],
        "cables": [{"switches": list(trunk.switches), "ports": list(trunk.ports)} for trunk in network.trunks],
        "flows": _flows(network),
        **({"nuftcp": _nuftcp(network.transport)} if network.traffic.uses_nuftcp else {}),
    }


def _nuftcp(given: Transport) -> dict[str, int]:
    """Return the settings of NUFTCP, with the module's defaults of our kernel; factor and weight in thousandths."""
    chosen = {"factor": given.nuftcp_factor, "weight": given.nuftcp_weight, "quiet": given.nuftcp_quiet}
    values = {name: DEFAULTS[name] if value is None else value for name, value in chosen.items()}
    hold_us = HOLD_US if given.version_hold_us is None else given.version_hold_us
    return {
        "factor": values["factor"] * 10,
        "weight": values["weight"] * 10,
        "quiet": values["quiet"],
        "readings": sum(1 << row for row in given.nuftcp_readings),
        "hold": hold_us * 1000,
        "marks": 1,
        "hold_sack": given.version_hold_sack or 0,
    }


def _line(host: Host, network: Network) -> dict[str, int]:
    """Return a host's own queue and line; a token bucket has the values of `inside.topology.bucket`."""
    mtu, overhead, queue = network.mtu, network.overhead, host.queue
    words = {"rate": host.rate, "overhead": overhead - ETHERNET_HEADER, "packets": 0, "memory": 0}
    if network.ends == "exact":
        limit = queue.bytes or queue.packets or 0
        return {**words, "depth": 0, "limit": limit, "packets": int(queue.bytes is None), "memory": host.nic_buffer}
    burst = mtu + overhead + host.nic_buffer + host.rate * 128 // (8 * 10**9) + 16
    # tc keeps the depth as time, in ticks of 64 ns
    return {**words, "depth": burst * 8 * 10**9 // host.rate // 64 * 64, "limit": queue.in_bytes(mtu)}


def segment(network: Network) -> int:
    """Return the payload of a full packet of TCP in bytes."""
    return network.mtu - TCP_HEADERS + (0 if network.transport.timestamps else TIMESTAMPS)


def _device(network: Network, switch: int) -> dict[str, Any]:
    """Return the plan of a switch.

    The model compares whole addresses, so a rule for a prefix is one for each host that has it. Its hosts are no
    routers, so what goes to a station goes to its address.
    """
    device = ocs.device(network, switch)
    rules = []
    for rule in device["rules"]:
        if "station" in rule:
            rule = {**{name: value for name, value in rule.items() if name != "station"}, "dst": rule["station"]}
        same = [rule]
        for name in ("src", "dst"):
            if "/" in rule.get(name, ""):
                same = [{**one, name: ip} for one in same for ip in _addresses(network, rule[name])]
        rules += same
    return {**device, "rules": rules}


def _addresses(network: Network, prefix: str) -> list[str]:
    hosts = ipaddress.IPv4Network(prefix)
    return [station.ip for station in network.stations.values() if ipaddress.IPv4Address(station.ip) in hosts]


def _transport(network: Network) -> dict[str, int]:
    given, size = network.transport, segment(network)
    return {
        "segment": size,
        "receive": max(given.rmem[2] * size // (size + PACKET_MEMORY), 2 * size),
        "send": max(given.wmem[2], 2 * size),
        "least": given.rto_min_us * 1000,
        "reordering": given.reordering,
        "sack": int(given.sack),
        "timestamps": int(given.timestamps),
        "scaling": int(given.window_scaling),
        "early": given.pacing_ss_ratio,
        "later": given.pacing_ca_ratio,
        "most": given.limit_output_bytes,
    }


def _flows(network: Network) -> list[dict[str, Any]]:
    traffic = network.traffic
    ahead = traffic.connect_ns
    flows = []
    for flow, start in zip(traffic.flows, traffic.starts, strict=True):
        one: dict[str, Any] = {
            "protocol": flow.protocol,
            "source": network.stations[flow.src].number,
            "sink": network.stations[flow.dst].number,
            "port": network.ports[flow.name],
            "size": traffic.sizes[flow.name],
            "start": START_NS + start,
        }
        if flow.protocol == "udp":
            one |= {
                "payload": traffic.payloads[flow.name],
                "burst": flow.burst or 1,
                "interval": interval_ns(traffic, flow),
            }
        else:
            one |= {
                "connect": ahead.get(flow.name, -1),
                "requested": int(flow.initiator == "dst"),
                "variant": VARIANTS[flow.cc or ""],
                "ecn": int(_uses_ecn(network, flow)),
            }
        flows.append(one)
    return flows


def interval_ns(traffic: Traffic, flow: Flow) -> int:
    """Return the ns between two bursts, or two datagrams of a rate; `rdcnlab.engines.ns3.check` refuses fractions."""
    return flow.interval or traffic.payloads[flow.name] * 8 * NS_PER_S // (flow.rate or 1)


def _uses_ecn(network: Network, flow: Flow) -> bool:
    asked = network.transport.ecn
    return flow.control.needs_ecn if asked is None else asked
