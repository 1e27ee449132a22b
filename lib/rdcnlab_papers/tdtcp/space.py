# SPDX-License-Identifier: Apache-2.0
"""The parameters that the paper varies: the variant, and the difference of the two networks (Sec. 5.1, 5.2)."""

from __future__ import annotations

import functools
from typing import Any, Literal

from rdcnlab.fields.units import DURATION, NS_PER_US
from rdcnlab.scenario import Scenario
from rdcnlab.scenario.presets import preset
from rdcnlab.scenario.rotor import rotation, week
from rdcnlab.scenario.rtts import delay_ns, with_rtts

Variant = Literal["tdtcp", "cubic", "dctcp", "mptcp", "retcp", "retcpdyn"]
#: The presets of the two testbeds by column: that of the paper's text, and that of its published artefact.
NETWORKS: dict[str, str] = {"text": "tdtcp", "artefact": "tdtcp-artefact"}
#: Delays [us] of notifications from which one is calibrated, because Sec. 5.4 states none.
DELAYS_US = (25, 30, 33, 40)
#: Columns with the testbed of another column in which hosts are notified late, and their delay [us]: the smallest of
#: `DELAYS_US` at which `slightly-below` of figure 8(a) holds. It is the same for all transports and figures.
LATE_US: dict[str, int] = {"text-late": 25, "artefact-late": 40}
#: RTT [us] of both networks in figure 8, which the paper does not state. Of those that it states elsewhere (100 and 40
#: in Sec. 5.1, 20 in figure 14) it is the largest at which `retcpdyn-optimal` holds in the column.
STATED_RTTS_US = (20, 40, 100)
RTT_US: dict[str, int] = {"text": 20, "artefact": 40, "text-late": 20, "artefact-late": 40}
#: That at which figure 8 was judged before: figure 7's of the packet network.
FORMER_RTT_US = 100
#: Properties in which the artefact's testbed differs from that of the text: the rate of hosts, the days of the reverse
#: pair, isolation of MPTCP's subflows, and the time at which reTCP is notified of a circuit.
Parameter = Literal["hosts", "reverse", "isolation", "notice"]
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
#: Changes of the artefact's variants. Its reTCP is notified of a circuit 600 us ahead, also without a growing queue.
_NOTICE: dict[str, Any] = {"network.schedules.reverse.echo": {"of": "forward", "in_advance": 600_000}}
#: These variants ran on Linux 4.15 there. MPTCP ran on 4.19, and TDTCP on 5.8, whose differences are not restored.
_OLDER: dict[str, Any] = {"transport.like": "4.15"}
_IN_ARTEFACT: dict[str, dict[str, Any]] = {
    "cubic": _OLDER,
    "dctcp": _OLDER,
    "retcp": {**_OLDER, **_NOTICE},
    "retcpdyn": _OLDER,
}
#: The networks differ in latency and bandwidth, or in one of them.
Difference = Literal["both", "bandwidth", "latency"]
#: RTTs [us] of the packet network and of the circuit for a full frame and its ACK, and their rates [Gb/s]. With a
#: difference of bandwidth only, see `equal_rtts`. The third are the RTTs of figure 14 at the rate of figure 9.
_LINKS: dict[Difference, dict[str, tuple[int, int]]] = {
    "both": {},
    "bandwidth": {},  # see `equal_rtts`
    "latency": {"packet": (20, 100), "circuit": (10, 100)},
}
#: MPTCP without isolation: packets do not wait for the network of their subflow, but cross into the other network.
CROSSING: dict[str, Any] = {"mptcp.isolation": "none"}
#: MPTCP as in the text: ACKs wait for the network of their subflow.
ISOLATED: dict[str, Any] = {"mptcp.isolation": "acks"}
#: The initial burst of Sec. 5.2 is spread over a round trip.
PACED: dict[str, Any] = {"transport.tdtcp_pace": True}
#: Parts of a week in us: steady queues on the packet network; the times before and during the growth of reTCPdyn's
#: queue; the circuit's day without its first microseconds; and the rest until the next week begins.
STEADY, BEFORE, AHEAD, CIRCUIT, AFTER = (300, 1180), (300, 1050), (1150, 1200), (1220, 1380), (1380, 1400)
#: The end of the circuit's day; and 100 to 300 us after it, which is in the next week.
CIRCUIT_END, LATER = (1340, 1380), (80, 280)
#: Length of the fold, three weeks, and begin of the fold: the first hundred weeks are left out (Sec. 2.2: to remove
#: startup and transient effects).
FOLD, FOLD_FROM = "4.2 ms", "140 ms"
#: A size that no flow can finish before the limit.
ENDLESS = "100 GiB"

#: Sec. 5.1: day and night in ns. If all networks are circuits, every night is dark.
DAY, NIGHT = 180 * NS_PER_US, 20 * NS_PER_US
#: Bandwidth [Gb/s] and RTT [us] of the first and the last of several networks, as in the paper. The values of the other
#: networks lie between them.
_RATES, _RTTS = (100, 10), (40, 100)


def testbed_of(column: str) -> str:
    """Return the column with the same testbed in which hosts are notified at once."""
    return column.removesuffix("-late")


@functools.cache
def scenario(column: str, variant: str, difference: Difference, duration: str) -> Scenario:
    """Return 16 flows of a variant, from one rack to the other, for `duration`."""
    base = Scenario.from_dict(
        {
            "network": NETWORKS[testbed_of(column)],
            "flows": [{"name": "flow-[1-16]", "size": ENDLESS}],
            "limit": duration,
            "probes": {"bin": "20 us", "acks": True, "fold": FOLD, "fold_from": FOLD_FROM},
        }
    )
    artefact_changes = _IN_ARTEFACT.get(variant, {}) if testbed_of(column) == "artefact" else {}
    made = base.with_(**with_rtts(base, _LINKS[difference]), **{**_VARIANTS[variant], **artefact_changes})
    return made.with_(**late(made, LATE_US[column])) if column in LATE_US else made


def rtt_text(column: str) -> str:
    """Return the calibrated RTT of figure 8 in words."""
    return f"RTT of both networks {RTT_US[column]} us, calibrated"


def equal_rtts(base: Scenario, rtt_us: int) -> dict[str, Any]:
    """Return the changes, for `Scenario.with_`, that give both networks one RTT [us] and leave them their rates."""
    return with_rtts(base, {"packet": (rtt_us, 10), "circuit": (rtt_us, 100)})


def both_differences(base: Scenario) -> dict[str, Any]:
    """Return the changes, for `Scenario.with_`, with which the networks differ in bandwidth and latency."""
    circuit, packet = zip(_RTTS, _RATES, strict=True)
    return with_rtts(base, {"packet": packet, "circuit": circuit})


def late(base: Scenario, delay_us: int) -> dict[str, Any]:
    """Return the changes, for `Scenario.with_`, with which hosts are notified late, if they are notified at all."""
    return {} if base.notify is None else {"notify.delay": f"{delay_us} us"}


def late_at_former_rtt(base: Scenario) -> dict[str, Any]:
    """Return the changes of the experiment in which hosts are notified 40 us late, at figure 8's former RTT."""
    return {**equal_rtts(base, FORMER_RTT_US), "notify": {"delay": "40 us"}}


def parameter(name: str, column: str = "artefact") -> dict[str, Any]:
    """Return the changes, for `Scenario.with_`, that give a testbed one `Parameter` of the testbed of another column.

    The changes of ``isolation`` and ``notice`` are always those of the artefact. With other rates of the hosts, links
    have other delays, so that RTTs are as before.
    """
    other = preset(NETWORKS[column]).network
    if name == "isolation":
        return dict(CROSSING)
    if name == "notice":
        return dict(_NOTICE)
    if name == "reverse":
        schedule = other.schedule("reverse")
        slots = () if schedule is None else schedule.slots
        return {"network.schedules.reverse.slots": [slot.model_dump(mode="json") for slot in slots]}
    changes: dict[str, Any] = {f"network.hosts.{host.name}.rate": host.rate for host in other.hosts}
    return changes | {f"network.links.{link.name}.delay": link.delay for link in other.links}


def several_networks(base: Scenario, count: int) -> dict[str, Any]:
    """Return the changes, for `Scenario.with_`, that give a scenario `count` networks, each with its own circuit."""
    parts = [number / (count - 1) for number in range(count)]
    rates = [round(_RATES[0] + (_RATES[1] - _RATES[0]) * part) * 10**9 for part in parts]
    rtts = [_RTTS[0] + (_RTTS[1] - _RTTS[0]) * part for part in parts]
    names = [f"net{number}" for number in range(count)]
    ends = base.network.links[0].between
    links = [
        {"name": name, "between": ends, "rate": rate, "delay": delay_ns(base, rate, rtt)}
        for name, rate, rtt in zip(names, rates, rtts, strict=True)
    ]
    slots = rotation(names, day=DAY, night=NIGHT)
    cycle = sum(slot["duration"] for slot in slots)
    weeks_before = -(-DURATION.parse(FOLD_FROM) // cycle)
    return {
        "network.links": links,
        "network.schedules.forward.slots": slots,
        "network.schedules.reverse.slots": slots,
        "probes.fold": 3 * cycle,
        "probes.fold_from": weeks_before * cycle,
    }
