# SPDX-License-Identifier: Apache-2.0
"""The parameters that the paper varies: the variant, and the difference of the two networks (Sec. 5.1, 5.2)."""

from __future__ import annotations

import functools
from typing import Any, Literal

from rdcnlab.fields.units import DURATION, NS_PER_US
from rdcnlab.scenario import Scenario
from rdcnlab.scenario.flow import TCP_HEADERS
from rdcnlab.scenario.rotor import rotation, week

Variant = Literal["tdtcp", "cubic", "dctcp", "mptcp", "retcp", "retcpdyn"]
#: Sec. 5.2: the queue grows from 16 to 50 packets 150 us before the circuit, and the sender is notified at that time.
_GROWN = {
    "network.schedules.forward.slots": week(
        day=180_000, night=20_000, queue="16 packets", grown="50 packets", ahead=150_000
    )
}
_VARIANTS: dict[str, dict[str, Any]] = {
    "tdtcp": {"cc": "cubic", "notify": {}, "transport.tdtcp": True},
    "cubic": {"cc": "cubic"},
    "dctcp": {"cc": "dctcp"},
    # CUBIC in both subflows; the paper's prototype used LIA. The two networks are never active at the same time.
    "mptcp": {"cc": "cubic", "notify": {}, **{f"flows.flow-{number}.protocol": "mptcp" for number in range(1, 17)}},
    "retcp": {"cc": "retcp", "network.schedules.reverse.echo": {"of": "forward"}},
    "retcpdyn": {
        "cc": "retcp",
        "network.schedules.reverse.echo": {"of": "forward", "in_advance": 150_000},
        **_GROWN,
    },
}
#: The networks differ in latency and bandwidth, or in one of them.
Difference = Literal["both", "bandwidth", "latency"]
_DIFFERENCES: dict[str, dict[str, Any]] = {
    "both": {},
    # both networks have the latency of the packet network; the paper does not say which latency it used
    "bandwidth": {"network.links.circuit.delay": "46257 ns"},
    # RTTs of 20 and 10 us (fig. 14) for a full frame and its ACK at 100 Gb/s (fig. 9), as in networks/tdtcp.yaml
    "latency": {
        "network.links.packet.rate": "100 Gb/s",
        "network.links.packet.delay": "9544 ns",
        "network.links.circuit.delay": "4544 ns",
    },
}
#: MPTCP without isolation: packets do not wait for the network of their subflow, but cross into the other network.
CROSSING: dict[str, Any] = {"mptcp.isolation": "none"}
#: The initial burst of Sec. 5.2 is spread over a round trip.
PACED: dict[str, Any] = {"transport.tdtcp_pace": True}
#: ACKs have their circuit on another day, as in the paper's public artefact.
ACKS_APART: dict[str, Any] = {"network.schedules.reverse.phase": "600 us"}
#: Parts of a week in us: steady queues on the packet network; the times before and during the growth of reTCPdyn's
#: queue; the circuit's day without its first microseconds; and the rest until the next week begins.
STEADY, BEFORE, AHEAD, CIRCUIT, AFTER = (300, 1180), (300, 1050), (1150, 1200), (1220, 1380), (1380, 1400)
#: Length of the fold, three weeks, and begin of the fold: the first hundred weeks are left out (Sec. 2.2: to remove
#: startup and transient effects).
FOLD, FOLD_FROM = "4.2 ms", "140 ms"
#: A size that no flow can finish before the limit.
ENDLESS = "100 GiB"

#: Sec. 5.1: day and night in ns. If all networks are circuits, every night is dark.
_DAY, _NIGHT = 180 * NS_PER_US, 20 * NS_PER_US
#: Bandwidth [Gb/s] and RTT [us] of the first and the last of several networks, as in the paper. The values of the other
#: networks lie between them.
_RATES, _RTTS = (100, 10), (40, 100)


def scenario(variant: str, difference: Difference, *, duration: str, seed: int) -> Scenario:
    """Return 16 flows of a variant, from one rack to the other, for `duration`."""
    return _alike(variant, difference, duration).with_(seed=seed)


@functools.cache
def _alike(variant: Variant, difference: Difference, duration: str) -> Scenario:
    """Return the scenario that all seeds share. It takes much longer to make than a change of the seed."""
    return Scenario.from_dict(
        {
            "network": "tdtcp",
            "flows": [{"name": "flow-[1-16]", "size": ENDLESS}],
            "limit": duration,
            "probes": {"bin": "20 us", "acks": True, "fold": FOLD, "fold_from": FOLD_FROM},
        }
    ).with_(**_DIFFERENCES[difference], **_VARIANTS[variant])


def several_networks(base: Scenario, count: int) -> dict[str, Any]:
    """Return the changes, for `Scenario.with_`, that give a scenario `count` networks, each with its own circuit."""
    parts = [number / (count - 1) for number in range(count)]
    rates = [round(_RATES[0] + (_RATES[1] - _RATES[0]) * part) * 10**9 for part in parts]
    rtts = [round((_RTTS[0] + (_RTTS[1] - _RTTS[0]) * part) * NS_PER_US) for part in parts]
    names = [f"net{number}" for number in range(count)]
    first = base.flows[0]
    links = [
        {
            "name": name,
            "rate": rate,
            "delay": base.network.delay_ns(first.src, first.dst, base.network.mtu, TCP_HEADERS, rate=rate, rtt_ns=rtt),
        }
        for name, rate, rtt in zip(names, rates, rtts, strict=True)
    ]
    slots = rotation(names, day=_DAY, night=_NIGHT)
    cycle = sum(slot["duration"] for slot in slots)
    weeks_before = -(-DURATION.parse(FOLD_FROM) // cycle)
    return {
        "network.links": links,
        "network.schedules.forward.slots": slots,
        "network.schedules.reverse.slots": slots,
        "probes.fold": 3 * cycle,
        "probes.fold_from": weeks_before * cycle,
    }
