# SPDX-License-Identifier: Apache-2.0
"""A scenario as the guest is told it: addresses, classes, absolute instants, sysctls, trace buffers."""

from __future__ import annotations

from typing import Any

from rdcnlab.engines.kernel import plan_classes, plan_mptcp, plan_quic
from rdcnlab.engines.kernel.plan_classes import FIRST_PORT, TARGET
from rdcnlab.errors import InputError
from rdcnlab.scenario import BYPASS, DARK, Flow, Host, Link, Scenario
from rdcnlab.scenario.flow import TCP_HEADERS, UDP_HEADERS
from rdcnlab.scenario.queue import ETHERNET_HEADER
from rdcnlab.scenario.quic import QUIC_MTU

#: CLOCK_MONOTONIC in the guest at which a scenario starts. What comes before takes a varying fraction of a second of
#: virtual time, because each reading of the clock costs 256 ns; the rest is skipped.
START_NS = 60 * 10**9
#: Before the start: listeners stand, the random numbers are set.
READY_NS = START_NS - 10**6
#: The same where programs have to come up, whose clock readings take virtual time.
READY_FOR_PROGRAMS_NS = START_NS - 10**9
#: Bit of a link id in traces that says: the line of a port.
PORT_LINK = 0x8000
#: Trace filter for those two: a host's own line, to the switch, is neither of them.
PLACES = f"(link <= 1023 || link >= {PORT_LINK})"
#: Trace filter for what happens in the queue of a class: it is served by a link, or in the dark by none.
IN_CLASS = f"(link <= 1023 || link == {TARGET[DARK]})"

#: What is kept of each event the kernel can record, as its ``format`` file names it.
FIELDS = {
    "tcp_retransmit_skb": ("dport",),
    "tcp_probe": ("dport", "snd_una", "snd_cwnd", "ssthresh", "srtt"),
    "ocs_enqueue": ("link", "class", "len", "dport"),
    "ocs_dequeue": ("link", "class", "len", "qlen", "dport"),
    "ocs_drop": ("link", "class", "len", "dport", "reason"),
    "ocs_mark": ("link", "class", "len", "dport"),
    "ocs_slot": ("class", "slot", "target"),
}

#: What ``tools/traffic.c`` calls them.
_TOOLS = {"tcp": "tcp", "mptcp": "mptcp", "udp": "udp", "quic": "program"}
#: Settings that the kernel derives from the size of memory, in pages of 4 KiB or packets.
MEMORY_SYSCTLS = {"net.ipv4.tcp_mem": "1048576 1398101 2097152", "net.ipv4.udp_mem": "1048576 1398101 2097152"}


def compile_plan(scenario: Scenario) -> dict[str, Any]:
    """Translate a scenario for the guest.

    Parameters
    ----------
    scenario : Scenario
        With engine ``kernel`` and switch ``ocs`` or ``linux``.

    Returns
    -------
    dict
        Plain data for JSON; ns, bit/s and bytes.

    Raises
    ------
    InputError
        The scenario asks for something this engine cannot do.
    """
    hosts = [_host(scenario, host, number) for number, host in enumerate(scenario.network.hosts)]
    address = {host["name"]: host["ip"] for host in hosts}
    flows = [
        {
            "src": flow.src,
            "dst": flow.dst,
            "start_ns": START_NS + start,
            "line": _line(scenario, flow, address, FIRST_PORT + number),
        }
        for number, (flow, start) in enumerate(zip(scenario.flows, scenario.start_times(), strict=True))
    ]
    return {
        "hosts": hosts,
        "overhead": scenario.network.overhead,
        "sysctls": sysctls(scenario) | plan_classes.sysctls(scenario) | plan_mptcp.sysctls(scenario),
        "memory_sysctls": MEMORY_SYSCTLS,
        "switch": _SWITCHES[scenario.switch.kind](scenario, hosts),
        "probes": _probes(scenario),
        "seed": str(scenario.seed),
        "epoch_ns": START_NS,
        "ready_ns": ready_ns(scenario),
        "limit_ns": START_NS + scenario.limit,
        "flows": flows,
        "files": {
            plan_quic.files(FIRST_PORT + number): flow.size
            for number, flow in enumerate(scenario.flows)
            if flow.protocol == "quic"
        },
        "memory_kB": plan_quic.memory_kB(scenario),
        # shell lines to run in hosts before the flows and once they have ended, as pairs of host and line; for tests
        "before": [],
        "commands": [],
    }


def ready_ns(scenario: Scenario) -> int:
    """Return when everything stands but what begins after the random numbers are set."""
    return READY_FOR_PROGRAMS_NS if plan_quic.flows(scenario) else READY_NS


def _line(scenario: Scenario, flow: Flow, address: dict[str, str], port: int) -> str:
    """Return a flow's line for ``tools/traffic.c``; ``@src``, ``@dst`` (processes) and ``@start`` come later."""
    ends = ["@src", "@dst", address[flow.src], address[flow.dst], port]
    words = _words(scenario, flow, address[flow.src], port)
    return " ".join(map(str, [_TOOLS[flow.protocol], flow.name, *ends, flow.size, "@start", *words]))


def _words(scenario: Scenario, flow: Flow, address: str, port: int) -> list[str]:
    """Return what is a protocol's own."""
    if flow.protocol == "udp":
        return [str(_payload(flow, scenario.network.mtu)), str(flow.burst), str(flow.interval)]
    if flow.protocol == "quic":
        return plan_quic.words(scenario, flow, address, port)
    return [str(flow.cc), flow.initiator]


def _payload(flow: Flow, mtu: int) -> int:
    """Return the bytes a full packet of a flow carries."""
    if flow.protocol == "quic":
        return min(mtu, QUIC_MTU) - UDP_HEADERS  # the least they may have, and most have (RFC 9000, sec. 14)
    return (flow.packet or mtu) - UDP_HEADERS if flow.protocol == "udp" else mtu - TCP_HEADERS


def _host(scenario: Scenario, host: Host, number: int) -> dict[str, Any]:
    return {
        "name": host.name,
        "ip": plan_mptcp.address(number),
        "prefix": 8,
        "more": plan_mptcp.addresses(scenario, host.name),
        "subflows": plan_mptcp.subflows(scenario, host.name),
        "sysctls": _own_sysctls(scenario, host.name),
        "mac": f"02:00:00:00:{(number + 1) >> 8:02x}:{(number + 1) & 255:02x}",
        "mtu": scenario.network.mtu,
        "rate": host.rate,
        "nic_buffer": host.nic_buffer,
        "queue_bytes": host.queue.bytes,
        "queue_packets": host.queue.packets,
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


def _switch(scenario: Scenario, hosts: list[dict[str, Any]]) -> dict[str, Any]:
    network, switch = scenario.network, scenario.switch
    overhead = network.overhead - ETHERNET_HEADER
    link_ids = {link.name: number for number, link in enumerate(network.links)}
    pool_ids = {pool.name: number for number, pool in enumerate(network.pools)}
    classes, rules = plan_classes.classes(scenario)
    return {
        "kind": switch.kind,
        "links": [
            {
                "id": link_ids[link.name],
                "rate": link.rate,
                "delay": link.delay,
                "overhead": overhead,
                "queue": queue(link, switch.ecn_threshold, pool_ids),
            }
            for link in network.links
        ],
        "pools": [{"id": pool_ids[pool.name], "bytes": pool.size} for pool in network.pools],
        "ports": ports(scenario, hosts),
        "classes": classes,
        "rules": rules,
        "notify": plan_classes.notifications(scenario, {host["name"]: host["ip"] for host in hosts}),
    }


def ports(scenario: Scenario, hosts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return each host's two lines at the switch: from the host, whose card shapes it or has memory, and to it."""
    overhead = scenario.network.overhead - ETHERNET_HEADER
    return [
        {
            "host": host.name,
            "mac": spec["mac"],
            "ingress": {"rate": host.rate if host.nic_buffer else 0, "delay": host.delay, "overhead": overhead},
            "egress": {"rate": host.rate, "delay": host.delay, "overhead": overhead},
        }
        for host, spec in zip(scenario.network.hosts, hosts, strict=True)
    ]


def _bridge(scenario: Scenario, hosts: list[dict[str, Any]]) -> dict[str, Any]:
    """Ports of a Linux bridge: each host's line with its queue in front; both cables' delay is on the receiver's."""
    lines = [
        {
            "host": host.name,
            "mac": spec["mac"],
            "rate": host.rate,
            "delay_ns": 2 * host.delay,
            "overhead": scenario.network.overhead - ETHERNET_HEADER,
            "queue_packets": host.queue.packets or max(1, (host.queue.bytes or 0) // scenario.network.mtu),
        }
        for host, spec in zip(scenario.network.hosts, hosts, strict=True)
    ]
    return {"kind": "linux", "ports": lines}


def queue(link: Link, threshold: int | None, pool_ids: dict[str, int]) -> dict[str, int]:
    """Return a link's queue in the kernel's words."""
    words: dict[str, int] = {}
    if link.buffer is not None:
        words["limit_bytes"] = link.buffer
    if link.pool is not None:
        words["pool"] = pool_ids[link.pool]
    ecn = link.ecn_threshold if threshold is None else threshold
    if ecn is not None:
        words["ecn"] = ecn
    if link.red is not None:
        # the kernel counts probability in 1e-9
        words |= {"red_min": link.red.min, "red_max": link.red.max, "red_prob": link.red.probability * 1000}
    return words


def _p4(scenario: Scenario, hosts: list[dict[str, Any]]) -> dict[str, Any]:
    from rdcnlab.engines.kernel import plan_p4  # which needs this module

    return plan_p4.switch(scenario, hosts)


_SWITCHES = {"ocs": _switch, "linux": _bridge, "bmv2": _p4}


def fields(scenario: Scenario, event: str) -> tuple[str, ...]:
    """Return what is kept of an event: of windows of subflows also whose they are."""
    return FIELDS[event] + (("sock_cookie",) if event == "tcp_probe" and plan_mptcp.flows(scenario) else ())


def _probes(scenario: Scenario) -> list[dict[str, Any]]:
    """Trace buffers: which events, and room for as many as the flows can cause.

    A flow of `size` bytes is ``size / mss`` packets; for retransmissions there is half as much room again.
    An event in the ring buffer takes its fields, 8 bytes common to all and 4 bytes of header.
    """
    packets = _packets(scenario)
    first, last = FIRST_PORT, FIRST_PORT + len(scenario.flows) - 1
    ours = f"dport >= {first} && dport <= {last}"
    queued = sorted(plan_classes.traced(scenario))
    # what waits in the queue of a class, ACKs too if there are any
    waiting = f"class >= {queued[0]} && class <= {queued[-1]} && {IN_CLASS}" if queued else ""

    def probe(event: str, size: int, count: int, only: str = ours) -> dict[str, Any]:
        name = event.split("/")[1]
        return {
            "name": name,
            "event": event,
            "filter": only,
            "fields": fields(scenario, name),
            "buffer_kB": 256 + size * count // 1000,
        }

    # BBR in a queue of a few packets has every fourth sent again
    lossy = packets // 2 + 20_000
    probes = [probe("tcp/tcp_retransmit_skb", 88, lossy)]
    if scenario.switch.kind in ("ocs", "bmv2"):
        # with a P4 switch each line is a device of its own, whose first port is the host's, and links are what they are
        places = PLACES if scenario.switch.kind == "ocs" else f"(link <= 1023 || link == {PORT_LINK})"
        passing = f"{ours} && {places}"
        seen = f"({passing}) || ({waiting})" if waiting else passing
        probes += [
            # at each of two places, a link inside the switch and the receiver's line
            probe("ocs/ocs_dequeue", 36, packets * 3, seen),
            probe("ocs/ocs_drop", 40, lossy),
        ]
        if scenario.switch.kind == "ocs":
            probes += [
                probe("ocs/ocs_mark", 36, packets * 3 // 2 if _marks(scenario) else 0),
                probe("ocs/ocs_slot", 32, _slot_changes(scenario), ""),
            ]
        if scenario.probes.packets:
            probes.append(probe("ocs/ocs_enqueue", 36, packets * 3, seen))
        elif waiting:
            probes.append(probe("ocs/ocs_enqueue", 36, packets * 3 // 2, waiting))
    if scenario.probes.tcp != "none":
        # data_len == 0: an ACK arrives
        probes.append(probe("tcp/tcp_probe", 132, packets * 5 // 4, f"data_len == 0 && {ours}"))
    return probes


def _packets(scenario: Scenario) -> int:
    """Return data packets until the limit, at most; a schedule bounds those of its flows by what its links carry."""
    network = scenario.network
    counts: dict[str, int] = {}
    for flow in scenario.flows:
        schedule = network.schedule(flow.path)
        name = "" if schedule is None else schedule.name
        counts[name] = counts.get(name, 0) + flow.size // _payload(flow, network.mtu) + 64
    rates = {link.name: link.rate for link in network.links} | {DARK: 0, BYPASS: max(h.rate for h in network.hosts)}
    for schedule in network.schedules:
        if schedule.name in counts:
            bits = sum(slot.duration * rates[slot.link] for slot in schedule.slots) / schedule.cycle
            most = int(bits * scenario.limit / 8e9 / (network.mtu + network.overhead) * 1.1) + 64 * len(scenario.flows)
            counts[schedule.name] = min(counts[schedule.name], most)
    return sum(counts.values())


def _marks(scenario: Scenario) -> bool:
    """Whether any queue marks packets."""
    links, schedules = scenario.network.links, scenario.network.schedules
    return (
        scenario.switch.ecn_threshold is not None
        or any(link.ecn_threshold is not None or link.red is not None for link in links)
        or any(schedule.ecn_threshold is not None for schedule in schedules)
        or any(slot.ecn_threshold is not None for schedule in schedules for slot in schedule.slots)
    )


def _slot_changes(scenario: Scenario) -> int:
    """Slot changes until the limit, at most."""
    total = 1000
    own = [slots for flow in scenario.flows for slots in (flow.slots, flow.back) if not isinstance(slots, str)]
    shared = [schedule.slots for schedule in plan_classes.schedules(scenario).values()]
    for slots in [*own, *shared]:
        if slots:
            cycle = sum(slot.duration for slot in slots)
            total += len(slots) * (scenario.limit // cycle + 1)
    return min(total, 4_000_000)


def check(scenario: Scenario) -> None:
    """Raise InputError for what this engine cannot do."""
    if scenario.notify is not None and scenario.switch.kind != "ocs":
        raise InputError.of("notify", "given", "nothing, with another switch than ocs")
    if scenario.switch.kind != "ocs":
        for number, flow in enumerate(scenario.flows):
            for field in ("path", "back"):
                path = getattr(flow, field)
                if scenario.network.schedule(path) is not None or (field == "back" and path != BYPASS):
                    allowed = f"{'bypass' if field == 'back' else 'no schedule'}, with another switch than ocs"
                    raise InputError.of(f"flows[{number}].{field}", str(path), allowed)
    if scenario.switch.kind == "bmv2":
        for number, flow in enumerate(scenario.flows):
            if flow.protocol != "tcp":
                raise InputError.of(f"flows[{number}].protocol", flow.protocol, "tcp, with bmv2 as switch")
    plan_quic.check(scenario)
    if scenario.switch.kind == "linux":
        for number, flow in enumerate(scenario.flows):
            if flow.path != BYPASS:
                raise InputError.of(f"flows[{number}].path", flow.path, "bypass, with a Linux bridge as switch")
