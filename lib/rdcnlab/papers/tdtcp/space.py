# SPDX-License-Identifier: Apache-2.0
"""What the paper varies: the variant, and by what the two networks differ (Sec. 5.1, 5.2)."""

from __future__ import annotations

import functools
from typing import Any, Literal

from rdcnlab.fields.units import DURATION, NS_PER_US
from rdcnlab.scenario import Scenario
from rdcnlab.scenario.flow import TCP_HEADERS
from rdcnlab.scenario.rotor import rotation, week

Variant = Literal["tdtcp", "cubic", "dctcp", "mptcp", "retcp", "retcpdyn"]
#: Sec. 5.2: the queue grows from 16 to 50 packets 150 us ahead of the circuit, and the sender is told then.
_GROWN = {
    "network.schedules.forward.slots": week(
        day=180_000, night=20_000, queue="16 packets", grown="50 packets", ahead=150_000
    )
}
_VARIANTS: dict[str, dict[str, Any]] = {
    "tdtcp": {"cc": "cubic", "notify": {}, "transport.tdtcp": True},
    "cubic": {"cc": "cubic"},
    "dctcp": {"cc": "dctcp"},
    # CUBIC in both subflows; the paper's prototype had LIA, and the networks are never there together
    "mptcp": {"cc": "cubic", "notify": {}, **{f"flows.flow-{number}.protocol": "mptcp" for number in range(1, 17)}},
    "retcp": {"cc": "retcp", "network.schedules.reverse.echo": {"of": "forward"}},
    "retcpdyn": {
        "cc": "retcp",
        "network.schedules.reverse.echo": {"of": "forward", "in_advance": 150_000},
        **_GROWN,
    },
}
#: Latency and bandwidth, or one of them.
Difference = Literal["both", "bandwidth", "latency"]
_DIFFERENCES: dict[str, dict[str, Any]] = {
    "both": {},
    # the latency of the packet network in both; the paper does not say which one
    "bandwidth": {"network.links.circuit.delay": "46257 ns"},
    # RTTs of 20 and 10 us (fig. 14) of a full frame and its ACK at 100 Gb/s (fig. 9), as networks/tdtcp.yaml has it
    "latency": {
        "network.links.packet.rate": "100 Gb/s",
        "network.links.packet.delay": "9544 ns",
        "network.links.circuit.delay": "4544 ns",
    },
}
#: MPTCP of which nothing waits for its network: what a subflow has sent crosses into the other one.
CROSSING: dict[str, Any] = {"mptcp.isolation": "none"}
#: The initial burst of Sec. 5.2 spread over a round trip.
PACED: dict[str, Any] = {"transport.tdtcp_pace": True}
#: ACKs have their circuit on another day, as in the public artefact.
ACKS_APART: dict[str, Any] = {"network.schedules.reverse.phase": "600 us"}
#: Parts of a week, us: when queues are steady on the packet network, before and while reTCPdyn's grows, the circuit's
#: day without its first microseconds, and what follows until the week begins anew.
STEADY, BEFORE, AHEAD, CIRCUIT, AFTER = (300, 1180), (300, 1050), (1150, 1200), (1220, 1380), (1380, 1400)
#: Three weeks, and what is left out before: a hundred of them (Sec. 2.2: to remove startup and transient effects).
FOLD, FOLD_FROM = "4.2 ms", "140 ms"
#: More than any flow can send until the limit.
ENDLESS = "100 GiB"

#: Sec. 5.1: days and nights, ns. Where all networks are circuits, every night is dark.
_DAY, _NIGHT = 180 * NS_PER_US, 20 * NS_PER_US
#: Bandwidth [Gb/s] and RTT [us] of the first of several networks and of the last one, those of the paper; the others
#: are between.
_RATES, _RTTS = (100, 10), (40, 100)


def scenario(variant: str, difference: Difference, *, duration: str, seed: int) -> Scenario:
    """Return 16 flows of a variant, from one rack to the other, for `duration`."""
    return _alike(variant, difference, duration).with_(seed=seed)


@functools.cache
def _alike(variant: Variant, difference: Difference, duration: str) -> Scenario:
    """Return what the seeds share, which takes much longer to make than another seed."""
    return Scenario.from_dict(
        {
            "network": "tdtcp",
            "flows": [{"name": "flow-[1-16]", "size": ENDLESS}],
            "limit": duration,
            "probes": {"bin": "20 us", "acks": True, "fold": FOLD, "fold_from": FOLD_FROM},
        }
    ).with_(**_DIFFERENCES[difference], **_VARIANTS[variant])


def several_networks(base: Scenario, count: int) -> dict[str, Any]:
    """Return the changes that give a scenario so many networks, each a circuit of its own, for `Scenario.with_`."""
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
