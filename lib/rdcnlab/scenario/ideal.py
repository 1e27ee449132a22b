# SPDX-License-Identifier: Apache-2.0
"""The ideal completion time of a flow: that of a flow which is alone and always has the whole rate of its way.

It is the sum of

- the opening of the connection, if the flow opens it at its start: one round trip of small packets, and half a round
  trip more for the request of a receiver that asks;
- the propagation on all lines of the way;
- the time that the slowest line takes for all frames but the last;
- the time of the last frame on each line, as each switch forwards whole frames only. A token bucket as
  a host's own end counts only if its card has a buffer: otherwise a single frame leaves at once.

With rounds, all but the opening is repeated, with the times between them. A rate of the application, or its pauses, do
not count.

The congestion window does not limit an ideal flow. A flow that is alone takes longer where its first window, ten
segments, does not fill the way until the first ACK returns.
"""

from __future__ import annotations

from dataclasses import dataclass

from rdcnlab.fields.units import NS_PER_S
from rdcnlab.scenario import forwarding
from rdcnlab.scenario.application import TCP_HEADERS, TIMESTAMPS, UDP_HEADERS
from rdcnlab.scenario.flow import Flow
from rdcnlab.scenario.model import Scenario
from rdcnlab.scenario.timetable import BYPASS, DARK

#: Bytes of a SYN with the options of Linux (MSS, SACK, time stamps, window scaling), and of a SYN-ACK.
_SYN = 60
#: Bytes of the request that a receiver sends, as in ``inside/tools/traffic_tcp.c``.
_REQUEST = len("GET / HTTP/1.1\r\nHost: server\r\nConnection: close\r\n\r\n")


@dataclass(frozen=True)
class _Way:
    """A way from host to host: propagation in ns, rates on which a frame takes time, and the least of all rates."""

    delay: int
    rates: tuple[int, ...]
    least: int

    def time(self, wire: int, last: int, before: int = 0) -> float:
        """Return the ns that so many bytes on the wire take: frames of `before` bytes each, and one of `last` bytes."""
        bits = 8 * NS_PER_S
        alone = (wire - last) * bits / self.least + sum(last * bits / rate for rate in self.rates)
        # a short last frame overtakes no other, so it waits on each line for the one before it
        behind = (wire - last - before) * bits / self.least + sum(before * bits / rate for rate in self.rates)
        return self.delay + max(alone, behind + last * bits / self.rates[-1] if before else 0)

    def time_of_ack(self, wire: int) -> float:
        """Return the ns for which an ACK that leaves first delays data."""
        return wire * 8 * NS_PER_S / self.least


def ideal_ns(scenario: Scenario, flow: Flow) -> float:
    """Return the ideal completion time of a flow in ns; with a timetable, that of its fastest slot.

    Examples
    --------
    >>> scenario = Scenario.from_dict({
    ...     "network": {"fabric": "dumbbell"},
    ...     "flows": [{"name": "f", "src": "s1", "dst": "r1", "size": "1 MB", "connect": "ahead"}],
    ... })
    >>> round(ideal_ns(scenario, scenario.flows[0]) / 1000)
    855
    """
    overhead, mtu = scenario.network.overhead, scenario.network.mtu
    headers = UDP_HEADERS if flow.protocol == "udp" else TCP_HEADERS
    if flow.is_tcp and not scenario.transport_of(flow.src).timestamps:
        headers -= TIMESTAMPS
    payload = (flow.packet or mtu) - headers
    frames = -(-flow.size // payload)
    last = flow.size - (frames - 1) * payload + headers + overhead
    wire, full = flow.size + frames * (headers + overhead), mtu + overhead if frames > 1 else 0
    there = min(_ways(scenario, flow, back=False), key=lambda way: way.time(wire, last, full))
    total = there.time(wire, last, full)
    if not flow.is_tcp:
        return total
    returns = min(_ways(scenario, flow, back=True), key=lambda way: way.time(_SYN, _SYN))
    ack = headers + overhead
    if flow.connect == "start":
        # the ACK that completes the handshake leaves before the data
        total += sum(way.time(_SYN + overhead, _SYN + overhead) for way in (there, returns)) + there.time_of_ack(ack)
    if flow.initiator == "dst":
        asking = returns.time(_REQUEST + ack, _REQUEST + ack)
        total += asking + there.time_of_ack(ack)
        # later requests bring the ACKs of answers with them, and answers those of requests
        total += (flow.rounds - 1) * (asking + there.time(wire, last, full) + flow.think)
    return total


def _ways(scenario: Scenario, flow: Flow, *, back: bool) -> list[_Way]:
    """Return the ways of a flow, one for each slot that is not dark."""
    network = scenario.network
    first, last = (network.host(name) for name in ((flow.dst, flow.src) if back else (flow.src, flow.dst)))
    if network.switches:
        route = forwarding.route_of(scenario, flow, back=back)
        passed = [[network.link(hop.link) for hop in way] for way in dict.fromkeys(route.ways) if way is not None]
    else:
        slots, target, _ = scenario.timetable(flow, back=back)
        targets = dict.fromkeys([slot.link for slot in slots] or [target])
        passed = [[] if name == BYPASS else [network.link(name)] for name in targets if name != DARK]
    ways = []
    for links in passed:
        rates = (*([first.rate] if network.serialises(first) else []), *(link.rate for link in links), last.rate)
        delay = first.delay + last.delay + sum(link.delay for link in links)
        ways.append(_Way(delay, rates, min(first.rate, *rates)))
    return ways
