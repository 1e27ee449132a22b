# SPDX-License-Identifier: Apache-2.0
"""What the application of a flow does: rounds of request and response, a rate, pauses, and waiting for other flows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from rdcnlab.fields.quantities import FieldError
from rdcnlab.fields.units import NS_PER_S
from rdcnlab.scenario.quic import QUIC_MTU

if TYPE_CHECKING:
    from rdcnlab.scenario.flow import Flow
    from rdcnlab.scenario.model import Scenario

#: Bytes of the headers of a packet: IPv4 and UDP; IPv4 and TCP with time stamps.
UDP_HEADERS, TCP_HEADERS = 28, 52
#: Bytes of the time stamps that `TCP_HEADERS` includes.
TIMESTAMPS = 12
#: A sender over TCP with a rate writes whole segments, and not more often than this: each write costs a system call.
WRITE_NS = 100_000
#: Fields of a flow or workload that say what its application does.
FIELDS = ("rounds", "think", "rate", "on", "off", "after")


def check_order(scenario: Scenario) -> None:
    """Raise FieldError if `after` names nothing that can end, or flows wait for each other."""
    flows = {flow.name: flow.after for flow in scenario.flows if flow.workload is None}
    workloads = {workload.name: workload.after for workload in scenario.workloads}
    for kind, ones in (("flows", flows), ("workloads", workloads)):
        for name, after in ones.items():
            if after is not None:
                _check_after(f"{kind}.{name}.after", name, after, flows, workloads)
    before: Mapping[str, str | None] = {**workloads, **flows}
    for name in before:
        passed = [name]
        while (after := before[passed[-1]]) is not None:
            if after in passed:
                raise FieldError(f"{'flows' if name in flows else 'workloads'}.{name}.after", before[name],
                                 reason=f"{' after '.join([*passed, after])}: none of them can begin")  # fmt: skip
            passed.append(after)


def _check_after(field: str, name: str, after: str, flows: Iterable[str], workloads: Iterable[str]) -> None:
    known = [other for other in (*flows, *workloads) if other != name]
    if after == name:
        raise FieldError(field, after, "another flow or workload")
    if after not in known:
        raise FieldError.unknown(field, after, known, "flow or workload")
    if after in flows and after in workloads:
        reason = f"a flow and a workload have the name {after}; give one of them another name"
        raise FieldError(field, after, "the name of one flow or workload", reason=reason)


def payload(flow: Flow, mtu: int) -> int:
    """Return the payload of a full packet of a flow in bytes."""
    if flow.protocol == "quic":
        return min(mtu, QUIC_MTU) - UDP_HEADERS  # the smallest maximum size, which is usual (RFC 9000, sec. 14)
    return (flow.packet or mtu) - UDP_HEADERS if flow.protocol == "udp" else mtu - TCP_HEADERS


def write_B(scenario: Scenario, flow: Flow) -> int:  # noqa: N802  (unit)
    """Return the bytes that the application of a flow with a rate writes at once: a datagram, or whole segments."""
    assert flow.rate is not None
    size = payload(flow, scenario.network.mtu)
    if flow.protocol == "udp":
        return size
    size += 0 if scenario.transport_of(flow.src).timestamps else TIMESTAMPS
    return size * max(1, -(-flow.rate * WRITE_NS // (8 * NS_PER_S * size)))


def total_B(scenario: Scenario, flow: Flow) -> int:  # noqa: N802  (unit)
    """Return the payload of a whole flow in bytes: of all rounds, or until its sender stops.

    Examples
    --------
    >>> from rdcnlab.scenario import Scenario
    >>> scenario = Scenario.from_dict({
    ...     "network": {"fabric": "dumbbell"},
    ...     "flows": [
    ...         {"name": "f", "src": "s1", "dst": "r1", "protocol": "udp", "rate": "11.776 Mb/s", "until": "10 ms"}],
    ... })
    >>> total_B(scenario, scenario.flows[0]) // 1472
    10
    """
    if flow.replay is not None:
        return flow.replay.payload
    if flow.until is None:
        return flow.size * flow.rounds
    duration = flow.until - flow.start
    if flow.rate is not None:
        at_once = write_B(scenario, flow)
        # the writes of which the first is at the start, and that are before the end
        writes = -(-active_ns(flow, duration) * flow.rate // (at_once * 8 * NS_PER_S))
        return min(flow.size, writes * at_once)
    assert flow.burst is not None
    assert flow.interval is not None
    bursts = -(-duration // flow.interval)
    return min(flow.size, bursts * flow.burst * payload(flow, scenario.network.mtu))


def active_ns(flow: Flow, duration: int) -> int:
    """Return for how many ns of a duration after its start the application of a flow is on."""
    if flow.on is None or flow.off is None:
        return duration
    whole, rest = divmod(duration, flow.on + flow.off)
    return whole * flow.on + min(rest, flow.on)


def sending_ns(scenario: Scenario, flow: Flow) -> int:
    """Return for how many ns a flow of datagrams is sent: until the interval after its last datagram or burst ends."""
    total = total_B(scenario, flow)
    if flow.replay is not None:
        return flow.replay.duration
    if flow.rate is None:
        assert flow.burst is not None
        assert flow.interval is not None
        return -(-total // (flow.burst * payload(flow, scenario.network.mtu))) * flow.interval
    active = total * 8 * NS_PER_S // flow.rate
    return active if flow.on is None or flow.off is None else active + max(0, active - 1) // flow.on * flow.off


def packets(scenario: Scenario, flow: Flow, size: int) -> int:
    """Return an upper bound of the full and short packets of a flow, with `size` bytes of payload in a full one."""
    if flow.replay is not None:
        return flow.replay.count
    if flow.rounds > 1:
        return flow.rounds * -(-flow.size // size)
    # a write of its own, and the end of a time with data, may end with a short packet
    short = 0 if flow.on is None or flow.off is None else scenario.limit // (flow.on + flow.off)
    return total_B(scenario, flow) // size + short
