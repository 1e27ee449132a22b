# SPDX-License-Identifier: Apache-2.0
"""Cautions: what is legal in a scenario and nearly always a mistake, each with its cure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rdcnlab.fields.units import DURATION, NS_PER_S, RATE, SIZE
from rdcnlab.scenario import bins, forwarding
from rdcnlab.scenario.caution import Caution
from rdcnlab.scenario.consistency import transport_field
from rdcnlab.scenario.elements import Port
from rdcnlab.scenario.queue import ETHERNET_HEADER
from rdcnlab.scenario.timetable import BYPASS, DARK, ECMP, SAME
from rdcnlab.scenario.workloads.arrivals import UNCUT
from rdcnlab.scenario.workloads.offered import percent

if TYPE_CHECKING:
    from rdcnlab.scenario.elements import Link
    from rdcnlab.scenario.flow import Flow
    from rdcnlab.scenario.model import Scenario
    from rdcnlab.scenario.queueing import Queueing
    from rdcnlab.scenario.routes import Hop

#: Full frames that a queue needs at least where packets arrive faster than they leave: a sender's first window has ten
#: segments (RFC 6928).
_LEAST_FRAMES = 10
#: Share of a stated load that flows offer at least, where there is no caution.
_NEARLY = 0.98
#: Disciplines that mark unless they are told not to.
_MARKING = ("cake", "fq_codel")


def cautions(scenario: Scenario) -> tuple[Caution, ...]:
    """Return the cautions on a scenario.

    A P4 program or a controller of the user's own chooses ways, so with them there are only cautions on loads.

    Examples
    --------
    >>> from rdcnlab.scenario import Scenario
    >>> flow = {"name": "f", "src": "s1", "dst": "r1", "size": "1 MB", "cc": "dctcp"}
    >>> (caution,) = cautions(Scenario.from_dict({"network": "dumbbell", "flows": [flow]}))
    >>> caution.field, caution.cure
    ('flows.f.cc', 'Set ecn_threshold of its links (bottleneck), such as 100 kB')
    """
    loads = tuple(_uncut_loads(scenario))
    if scenario.switch.program is not None or scenario.switch.controller is not None:
        return loads
    checks = (_no_marks, _no_flags, _buffers, _no_room, _detours, bins.coarse)
    return tuple(dict.fromkeys([*(caution for check in checks for caution in check(scenario)), *loads]))


# Loads ---------------------------------------------------------------------------------------------------------------


def _uncut_loads(scenario: Scenario) -> Iterator[Caution]:
    """Find workloads whose load is that of uncut sizes, and whose flows are cut."""
    uncut = any(workload.arrivals.counts == UNCUT for workload in scenario.workloads)
    for load in scenario.loads() if uncut else ():
        if load.stated is not None and load.mean < _NEARLY * load.stated:
            text = f"flows offer {percent(load.mean)} in the mean, because {percent(load.stated)} is of uncut sizes"
            yield Caution(f"workloads.{load.workload}.arrivals.counts", text, "Set it to drawn, or leave it out")


# ECN -----------------------------------------------------------------------------------------------------------------


def _no_marks(scenario: Scenario) -> Iterator[Caution]:
    """Find flows that need marks and get none; those of one congestion control are one caution."""
    flows: dict[str, list[Flow]] = {}
    for flow in scenario.flows:
        if flow.cc is not None and flow.control.needs_ecn and flow.is_tcp and not _is_marked(scenario, flow):
            flows.setdefault(flow.cc, []).append(flow)
    for cc, unmarked in flows.items():
        first = unmarked[0]
        more = f" (nor on the ways of {len(unmarked) - 1} other flows)" if len(unmarked) > 1 else ""
        text = (
            f"nothing on the way of flow {first.name}{more} marks packets, so {cc} gets no ECN and reduces its window "
            "only after losses, as reno does"
        )
        schedule, links = scenario.schedule(first), _links(scenario, first)
        if schedule is not None and schedule.queue is not None:
            cure = f"Set ecn_threshold of the schedule {schedule.name}, or of the fabric, such as 10 packets"
        elif links:
            names = ", ".join(link.name for link in links[:3]) + (" ..." if len(links) > 3 else "")
            cure = f"Set ecn_threshold of its links ({names}), such as 100 kB"
        else:
            cure = f"Set network.hosts.{first.dst}.port.ecn_threshold, such as 100 kB"
        yield Caution(f"flows.{first.name}.cc", text, cure)


def _no_flags(scenario: Scenario) -> Iterator[Caution]:
    """Find that there are flows of reTCP, and ACKs of none of them ever carry its flag."""
    backs = {flow.name: scenario.schedule(flow, back=True) for flow in scenario.flows if flow.control.reads_flags}
    scheduled = {name: back for name, back in backs.items() if back is not None}
    if not backs or any(back.echo is not None for back in scheduled.values()):
        return
    name = next(iter(scheduled or backs))
    text = (
        f"no switch sets the flag of reTCP in ACKs of flow {name}, so its window does not change with a circuit: it is "
        "reno"
    )
    if scheduled:
        cure = f"Set echo of the fabric, such as 0 ns, or echo of the schedule {scheduled[name].name}"
    else:
        cure = "Let its ACKs follow a schedule (back) that has echo: {of: the schedule of its data}"
    yield Caution(f"flows.{name}.cc", text, cure)


def _is_marked(scenario: Scenario, flow: Flow) -> bool:
    links, schedule = _links(scenario, flow), scenario.schedule(flow)
    slots = () if schedule is None else schedule.slots
    by_schedule = [] if schedule is None else [schedule.ecn_threshold, *(slot.ecn_threshold for slot in slots)]
    queues: list[Queueing] = [*links, scenario.network.host(flow.dst).port]
    by_switch = bool(links) and scenario.switch.ecn_threshold is not None
    optics = scenario.network.optics
    return (
        by_switch
        or (optics is not None and optics.ecn_threshold is not None)
        or any(map(_marks, queues))
        or any(by_schedule)
    )


def _marks(queue: Queueing) -> bool:
    if queue.aqm is None:
        return queue.ecn_threshold is not None or queue.marking is not None
    options = [option.name for option in queue.aqm.options]
    by_default = queue.aqm.kind in _MARKING and "noecn" not in options
    return by_default or "ecn" in options or "ce_threshold" in options


# Socket buffers ------------------------------------------------------------------------------------------------------


def _buffers(scenario: Scenario) -> Iterator[Caution]:
    """Find flows whose socket buffers hold less than their share of the way's bandwidth-delay product."""
    ways = {flow.name: _ways(scenario, flow) for flow in scenario.flows if flow.is_tcp}
    users: dict[str, int] = {}
    for links in ways.values():
        for name in {link.name for way in links for link in way}:
            users[name] = users.get(name, 0) + 1
    by_host: dict[str, int] = {}
    for flow in scenario.flows:
        for host in (flow.src, flow.dst):
            by_host[host] = by_host.get(host, 0) + 1
    worst: dict[str, tuple[int, Flow, int, int]] = {}
    for flow in scenario.flows:
        if not flow.is_tcp:
            continue
        ends = [scenario.network.host(name) for name in (flow.src, flow.dst)]
        cables = sum(host.delay for host in ends)
        delay_back = min((sum(link.delay for link in way) for way in _ways(scenario, flow, back=True)), default=0)
        for way in ways[flow.name]:
            rates = [(host.rate // by_host[host.name]) for host in ends]
            rates += [link.rate // users[link.name] for link in way]
            rtt = 2 * cables + delay_back + sum(link.delay for link in way)
            product = min(rates) * rtt // (8 * NS_PER_S)
            for field, host in (("wmem", flow.src), ("rmem", flow.dst)):
                size = getattr(scenario.transport_of(host), field)[2]
                # at most the whole buffer holds payload; the kernel counts its own overhead, too
                # a flow that is smaller than the buffer is not limited by it
                if flow.rate is None and size < min(product, flow.size) and product > worst.get(field, (0,))[0]:
                    worst[field] = (product, flow, min(rates), rtt)
    for field, (product, flow, rate, rtt) in worst.items():
        kind, host = ("send", flow.src) if field == "wmem" else ("receive", flow.dst)
        place, sizes = transport_field(scenario, host), getattr(scenario.transport_of(host), field)
        size = sizes[2]
        text = (
            f"a {kind} buffer of at most {SIZE.format(size)} limits flow {flow.name} to about "
            f"{size * 8 * 1e3 / rtt:.3g} Mb/s: with an RTT of {DURATION.format(rtt)}, "
            f"{RATE.format(rate)} need {product / 1e6:.3g} MB"
        )
        least = ", ".join(SIZE.format(value) for value in sizes[:2])
        buffers = f"{field}: [{least}, {-(-2 * product // 10**6)} MB]"
        cure = f"Set transport: {{{buffers}}}" if place == "transport" else f"Set {place}.{buffers}"
        yield Caution(f"{place}.{field}", text, cure)


# Room in queues ------------------------------------------------------------------------------------------------------


def _no_room(scenario: Scenario) -> Iterator[Caution]:
    """Find ports to receivers, and links, whose queue is too short for packets that arrive faster than they leave."""
    network = scenario.network
    frame = network.mtu + ETHERNET_HEADER
    feeds: dict[str, dict[str, int]] = {}
    taken: dict[str, Link] = {}
    for flow in scenario.flows:
        for way in _ways(scenario, flow):
            taken |= {link.name: link for link in way}
            first = (way[-1].name, way[-1].rate) if way else (flow.src, network.host(flow.src).rate)
            feeds.setdefault(flow.dst, {})[first[0]] = first[1]
    for name, rates in feeds.items():
        host = network.host(name)
        limit = host.port.buffer
        if limit is None or host.port.pool is not None or host.port.aqm is not None:
            continue
        room = limit.in_bytes(network.mtu)
        is_faster = sum(rates.values()) > host.rate
        if room < frame or (is_faster and room < _LEAST_FRAMES * frame):
            arrives = f", and they can arrive with {RATE.format(sum(rates.values()))}" if is_faster else ""
            text = (
                f"the switch's port to {name} has room for {_frames(room, frame)}{arrives}, "
                f"while the cable takes {RATE.format(host.rate)}"
            )
            usual = Port.model_fields["buffer"].default
            cure = f"Set it to {usual.packets} packets, the default, or more"
            yield Caution(f"network.hosts.{name}.port.buffer", text, cure)
    for link in taken.values():
        if link.buffer is not None and link.buffer_bytes(network.mtu) < frame:
            text = f"a buffer of {SIZE.format(link.buffer_bytes(network.mtu))} holds no full frame of {frame} B"
            cure = f"Set it to {SIZE.format(_LEAST_FRAMES * frame)} or more"
            yield Caution(f"network.links.{link.name}.buffer", text, cure)


def _frames(room: int, frame: int) -> str:
    count = room // frame
    return "no full packet" if count == 0 else f"{count} full packet{'s' * (count != 1)}"


# Detours -------------------------------------------------------------------------------------------------------------


def _detours(scenario: Scenario) -> Iterator[Caution]:
    """Find paths that name links or switches which join only by a detour that the path does not name."""
    graph = scenario.network.graph
    if not scenario.network.switches:
        return
    for flow in scenario.flows:
        for field, back in (("path", False), ("back", True)):
            if scenario.schedule(flow, back=back) is not None:
                continue
            path = flow.back if back else flow.path
            targets = [path] if isinstance(path, str) else [slot.link for slot in path]
            route = forwarding.route_of(scenario, flow, back=back)
            for target, way in zip(targets, route.ways, strict=False):
                if target in (DARK, BYPASS, ECMP, SAME) or way is None:
                    continue
                via = target.split("+")
                between = [hop for hop in way if hop.link in graph.links]
                inserted = _inserted(scenario, between, via, route.last)
                cost = sum(graph.weights[hop.link] for hop in between)
                if not inserted or cost <= (graph.distance(route.first, route.last) or 0):
                    continue
                passed = " - ".join([*(hop.switch for hop in between), route.last])
                shorter = graph.way(route.first, route.last, (), lambda _, links: links[0])
                text = (
                    f"'{target}' is a detour of {len(between)} links, {passed}, where {len(shorter)} would do: "
                    f"the path does not name {', '.join(inserted)}"
                )
                way_words = "+".join(hop.link for hop in shorter)
                cure = f"Name every link of the way if it is meant; a short way is {way_words}"
                yield Caution(f"flows.{flow.name}.{field}", text, cure)


def _inserted(scenario: Scenario, way: list[Hop], via: list[str], last: str) -> list[str]:
    """Return the links of a way that lead to a switch which the path does not name, not even by one of its links."""
    graph = scenario.network.graph
    named = {*via, last, *(end for name in via if name in graph.links for end in graph.links[name])}
    return [hop.link for hop in way if hop.link not in via and graph.other(hop.link, hop.switch) not in named]


# Ways ----------------------------------------------------------------------------------------------------------------


def _ways(scenario: Scenario, flow: Flow, *, back: bool = False) -> list[list[Link]]:
    """Return the links of a flow's way in each slot; a way that bypasses all links is empty, and dark is no way."""
    network = scenario.network
    if network.switches:
        route = forwarding.route_of(scenario, flow, back=back)
        return [[network.link(hop.link) for hop in way] for way in dict.fromkeys(route.ways) if way is not None]
    slots, first, _ = scenario.timetable(flow, back=back)
    targets = dict.fromkeys([slot.link for slot in slots] or [first])
    return [[] if name == BYPASS else [network.link(name)] for name in targets if name != DARK]


def _links(scenario: Scenario, flow: Flow) -> list[Link]:
    """Return the links that a flow's data can take."""
    return list({link.name: link for way in _ways(scenario, flow) for link in way}.values())
