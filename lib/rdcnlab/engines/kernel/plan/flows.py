# SPDX-License-Identifier: Apache-2.0
"""Flows in the format that ``tools/traffic.c`` reads."""

from __future__ import annotations

import base64
import struct

from rdcnlab.engines.kernel.plan.quiet import quiet_ns
from rdcnlab.engines.kernel.traffic import quic
from rdcnlab.engines.network import Network, Traffic
from rdcnlab.fields.errors import InputError
from rdcnlab.scenario import Flow

#: With more stated flows than this, the event loop carries them, too: a thread for each end takes memory.
MOST_BY_THREADS = 1024
#: Largest flow whose receiver is woken once, when all data is there: the first window of the receiver has room for it.
SMALL = 32_768
#: Protocols by their names in ``tools/traffic.c``.
_TOOLS = {"tcp": "tcp", "mptcp": "mptcp", "udp": "udp", "quic": "program"}


def check(traffic: Traffic) -> None:
    """Raise InputError if more flows have threads of their own than the guest has memory for."""
    own = sum(not by_loop(traffic, flow) for flow in traffic.flows)
    if own > MOST_BY_THREADS:
        allowed = f"at most {MOST_BY_THREADS} flows of these kinds together"
        kinds = "of udp, mptcp or quic, or of tcp with connect: ahead"
        raise InputError.of("flows", own, allowed, reason=f"there are {own} flows {kinds}; there must be {allowed}")


def line(network: Network, flow: Flow, waited: list[str], *, here: bool) -> str:
    """Return a flow's line for ``tools/traffic.c``; see `until_quiet` for `waited`.

    The guest replaces ``@src`` and ``@dst`` by process ids and ``@start`` by the start time.
    """
    port, (sender, receiver) = network.ports[flow.name], network.addresses[flow.name]
    ends = ["@src", "@dst", sender, receiver, port]
    size = network.traffic.sizes[flow.name]
    if by_loop(network.traffic, flow):
        own = [flow.cc, flow.initiator, *_of_application(network, flow)]
        return " ".join(map(str, ["loop", flow.name, *ends, size, "@start", *own]))
    words = _words(network, flow, sender, port, waited, here=here)
    return " ".join(map(str, [_TOOLS[flow.protocol], flow.name, *ends, size, "@start", *words]))


def by_loop(traffic: Traffic, flow: Flow) -> bool:
    """Return whether one thread carries a flow together with others, instead of a thread for each of its ends."""
    if flow.protocol != "tcp":
        return False
    if flow.rounds > 1 or flow.rate or flow.on or flow.after:
        return True  # threads send at once what they have
    is_one_of_many = flow.workload is not None or len(traffic.flows) > MOST_BY_THREADS
    return is_one_of_many and flow.connect == "start"


def order(traffic: Traffic) -> dict[str, list[str]]:
    """Return the lines before those of flows that wait for others, or for which others wait, by the flow's name.

    Groups of flows for which others wait have numbers: ``ends 0`` says that the next flow belongs to the group 0, and
    ``after 0`` that it starts when all flows of that group have ended.
    """
    awaited = dict.fromkeys(flow.after for flow in traffic.flows if flow.after is not None)
    if not awaited:
        return {}
    numbers = {name: number for number, name in enumerate(awaited)}
    before: dict[str, list[str]] = {}
    for flow in traffic.flows:
        group = numbers.get(flow.name if flow.workload is None else flow.workload)
        lines = [f"ends {group}"] if group is not None else []
        lines += [f"after {numbers[flow.after]}"] if flow.after is not None else []
        if lines:
            before[flow.name] = lines
    return before


def small(network: Network) -> int:
    """Return the size in bytes up to which the receiver of a flow is woken once."""
    least = min(network.transport_of(name).rmem[1] for name in network.machines)
    return min(SMALL, least // 4)


def replays(network: Network) -> dict[str, str]:
    """Return instants (ns, 64 bits) and sizes (32 bits) of the datagrams of captures, in base64, by the flow's port."""
    packed = {}
    for flow in network.traffic.flows:
        if flow.workload is None and flow.replay is not None:
            rows = zip(*flow.replay.datagrams(f"flows.{flow.name}.replay"), strict=True)
            words = b"".join(struct.pack("<QI", instant, size) for instant, size in rows)
            packed[str(network.ports[flow.name])] = base64.b64encode(words).decode()
    return packed


def _of_application(network: Network, flow: Flow) -> list[str]:
    """Return what the application of a flow does, as pairs of words."""
    given = {
        "connect": network.traffic.connect_ns[flow.name] if flow.connect == "ahead" else None,
        "rounds": flow.rounds if flow.rounds > 1 else None,
        "think": flow.think or None,
        "rate": flow.rate,
        "write": network.traffic.writes.get(flow.name),
        "on": flow.on,
        "off": flow.off,
        "bound": None if network.aliases is None else 1,
        "replay": None if flow.replay is None else flow.replay.count,
    }
    return [str(word) for name, value in given.items() if value is not None for word in (name, value)]


def until_quiet(network: Network) -> list[str]:
    """Return that the run waits for datagrams, and how many ns after the last one; only if there is nothing else."""
    return ["waited", str(quiet_ns(network))] if network.traffic.is_udp_alone else []


def _words(network: Network, flow: Flow, address: str, port: int, waited: list[str], *, here: bool) -> list[str]:
    """Return the protocol-specific arguments."""
    if flow.protocol == "udp":
        words = [str(network.traffic.payloads[flow.name]), str(flow.burst or 1), str(flow.interval or 0)]
        return words + _of_application(network, flow) + waited
    if flow.protocol == "quic":
        # the scenario contains the command lines
        return quic.words(network, flow, address, port) if here else []
    ahead = network.traffic.connect_ns.get(flow.name) if flow.connect == "ahead" else None
    return [str(flow.cc), flow.initiator, *([] if ahead is None else [str(ahead)])]
