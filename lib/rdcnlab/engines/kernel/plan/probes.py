# SPDX-License-Identifier: Apache-2.0
"""Trace buffers: which kernel events are recorded, and the size of their buffers."""

from __future__ import annotations

from typing import Any

from rdcnlab.engines.kernel.switches import demand
from rdcnlab.engines.kernel.switches.switch_set import Switches
from rdcnlab.engines.kernel.trace import attribution, fields
from rdcnlab.engines.network import Network
from rdcnlab.engines.network.flows import payload
from rdcnlab.engines.network.numbers import DATE_NS, FIRST_PORT, PORTS, START_NS, TARGET
from rdcnlab.scenario import BYPASS, DARK, Flow, Link, Port, Scenario, application

#: Trace filter for events in the queue of a class, which a link serves, or no link in the dark.
IN_CLASS = f"(link <= 1023 || link == {TARGET[DARK]})"
#: Trace filter that no packet passes.
NOTHING = "dport == 1 && dport == 2"
#: Subsystem of an event, if its name does not begin with it.
SUBSYSTEM = {"kfree_skb": "skb"}
#: With `Probes.count`: ns after which records are read and removed from their buffer, the fields that this takes, the
#: events that are counted, and the room for lost packets and for retransmissions. A run that has more ends with an
#: error.
COUNT_EVERY_NS, TALLIED, MOST_LOST = 250_000_000, ("link", "dport", "len"), 1_000_000
COUNTED_EVENTS = ("ocs_dequeue", "ocs_mark")
#: Room of a capture in packets where programs send, and nobody knows how much. A run that has more ends with an error.
MOST_CAPTURED = 400_000
#: Size of every buffer in addition to its expected records, so that no buffer is empty.
SPARE_KB = 256

#: Racks that a packet passes over circuits, with room to spare.
PASSED = 8


def probes(network: Network, switches: Switches) -> list[dict[str, Any]]:
    """Return the trace buffers: which events to record, with room for as many as the flows can cause.

    A flow of `size` bytes has ``size / mss`` packets; half as many are added for retransmissions. An event in the ring
    buffer takes its fields, 8 bytes common to all events, and a header of 4 bytes.
    """
    scenario = network.scenario
    packets = _packets(network)
    # the lines on a flow's way, and the line to the receiver
    places = _lines(network) + 1
    first, last = FIRST_PORT, FIRST_PORT + min(len(scenario.flows), PORTS) - 1
    flow_filter = f"dport >= {first} && dport <= {last}" if scenario.flows else NOTHING
    of_programs = attribution.condition(network)
    conditions = [flow_filter] * bool(scenario.flows) + [of_programs] * bool(of_programs)
    packet_filter = f"({' || '.join(conditions)})" if len(conditions) > 1 else (conditions or [NOTHING])[0]
    queued = sorted(network.classes.queued)
    # packets that wait in the queue of a class, including ACKs
    waiting_filter = f"class >= {queued[0]} && class <= {queued[-1]} && {IN_CLASS}" if queued else ""
    passing_filter = f"{packet_filter} && {switches.places}"
    dequeue_filter = f"({passing_filter}) || ({waiting_filter})" if waiting_filter else passing_filter
    # in a queue of a few packets, BBR retransmits every fourth packet
    lossy = packets // 2 + 20_000
    counts = bool(scenario.probes.count)
    if counts:
        dequeue_filter = f"{packet_filter} && ({_counted(network)})"
        # a run that counts packets has no buffer with room for every packet
        lossy = min(lossy, MOST_LOST)
    if scenario.programs:
        # nobody knows what programs send, so records are read while the run goes on
        packets = _in_interval(network, everywhere=True)
        lossy = min(lossy, packets)
    circuits = scenario.network.optics is not None
    # halves: a packet, half of it again, and where ACKs wait with data, one of them
    each = 5 if circuits else 3
    marked = packets * 3 // 4 * places if _marks(network) else 0
    # event: bytes per record, number of records, filter
    events: dict[str, tuple[int, int, str]] = {
        "tcp_retransmit_skb": (88, lossy, flow_filter),
        "ocs_dequeue": (36, _in_interval(network) if counts else packets * each // 2 * places, dequeue_filter),
        "ocs_drop": (40, lossy, packet_filter),
        "ocs_mark": (
            36,
            min(marked, _in_interval(network)) if counts else marked,
            dequeue_filter if counts else packet_filter,
        ),
        "ocs_slot": (36, _slot_changes(network), _turned(network)),
    }
    if scenario.probes.packets:
        events["ocs_enqueue"] = (36, packets * 3 // 2 * places, dequeue_filter)
    elif waiting_filter:
        # over circuits packets wait in each rack
        racks = _lines(network) if circuits else 1
        events["ocs_enqueue"] = (36, packets * (5 if _queues_acks(network) else 3) // 2 * racks, waiting_filter)
    if scenario.probes.discards:
        events["kfree_skb"] = (24, lossy, "reason == {TCP_RFC7323_PAWS}")
    if scenario.probes.tcp != "none":
        # data_len == 0: the packet that arrives is an ACK
        # packets out of order, which circuits cause, are acknowledged one by one
        arriving = _acks_in_interval(network) if _thinned(scenario) else packets * (10 if circuits else 5) // 4
        events["tcp_probe"] = (132, arriving, f"data_len == 0 && {flow_filter}")
    return [
        {
            "name": name,
            "event": f"{SUBSYSTEM.get(name) or name.partition('_')[0]}/{name}",
            "filter": event_filter,
            "fields": list(TALLIED) if counts and name in COUNTED_EVENTS else fields(scenario, name),
            **({"tally": _tally(scenario, name)} if counts and name in COUNTED_EVENTS else {}),
            **({"record": _times(scenario)} if scenario.programs and not counts and name != "ocs_slot" else {}),
            **({"latest": _times(scenario)} if name == "tcp_probe" and _thinned(scenario) else {}),
            "buffer_kB": SPARE_KB + size * count // 1000,
        }
        for name, (size, count, event_filter) in events.items()
        if not name.startswith("ocs_") or name in switches.events
    ]


def captures(network: Network) -> list[dict[str, Any]]:
    """Return the captures at hosts, with room for as many packets as the flows can cause there."""
    shared = {"packets": _captured(network), "epoch_ns": START_NS, "date_ns": DATE_NS}
    captured = [network.stations[name] for name in network.scenario.probes.capture]
    return [
        {
            "host": station.name,
            **({} if station.host.of is None else {"in": station.host.of}),
            "interface": f"{station.label}-eth0",
            **shared,
        }
        for station in captured
    ]


def captures_kB(network: Network) -> int:  # noqa: N802  (unit)
    """Return the memory of the captures in kB: each packet has a frame of 256 B."""
    return len(network.scenario.probes.capture) * (_captured(network) * 256 // 1000)


def _captured(network: Network) -> int:
    """Return the packets of one capture: data, half of it again, and an ACK for each."""
    most = _packets(network) * 5 // 2 + 20_000
    return min(most, MOST_CAPTURED) if network.scenario.programs else most


def _counted(network: Network) -> str:
    """Return the trace filter for both directions of the links whose packets are counted."""
    numbers = [line.number for line in network.lines if line.link.name in network.scenario.probes.count]
    return " || ".join(f"link == {number}" for number in numbers)


def _in_interval(network: Network, *, everywhere: bool = False) -> int:
    """Return an upper bound of data packets between two counts, or two readings; half are added for short ones.

    They are the packets on the counted links, or those that all hosts send, wherever they are.
    """
    counted = network.scenario.probes.count
    if everywhere:
        return int(_sent_rate(network) * COUNT_EVERY_NS / (8e9 * (network.mtu + network.overhead)) * 1.5) + 1000
    rate = min(sum(network.links[name].rate for name in counted), _sent_rate(network) * len(counted))
    return int(rate * COUNT_EVERY_NS / (8e9 * (network.mtu + network.overhead)) * 1.5) + 1000


def _sent_rate(network: Network) -> int:
    """Return the sum of the rates of all senders in bit/s."""
    return sum(network.rate_of(name) for name in {flow.src for flow in network.scenario.traffic})


def _thinned(scenario: Scenario) -> bool:
    """Return whether the guest keeps only the last ACK of each flow in each bin.

    A run that counts packets may be long; its ACKs alone would take 0.1 GB of memory for each second at 10 Gb/s.
    """
    return bool(scenario.probes.count) and scenario.probes.tcp == "bin" and not scenario.probes.acks


def _acks_in_interval(network: Network) -> int:
    """Return an upper bound of the ACKs between two readings; half are added for short ones."""
    frame = min(payload(flow, network.mtu) for flow in network.scenario.traffic) + network.overhead
    return int(_sent_rate(network) * COUNT_EVERY_NS / (8e9 * frame) * 1.5) + 1000


def _tally(scenario: Scenario, event: str) -> dict[str, Any]:
    return _times(scenario) | ({"instants": scenario.snapshots()} if event == "ocs_dequeue" else {})


def _times(scenario: Scenario) -> dict[str, Any]:
    return {"start_ns": START_NS, "bin_ns": scenario.probes.bin, "every_ns": COUNT_EVERY_NS}


def _queues_acks(network: Network) -> bool:
    """Return whether ACKs wait in a queue with data, as between racks that send to each other."""
    if network.waiting:
        return True
    return any(way.queues_data(way.route.first) and any(back for _, back in way.flows) for way in network.ways)


def _lines(network: Network) -> int:
    """Return the largest number of lines inside the network that a packet passes, at least 1.

    Over circuits a packet that misses its slot is routed anew, so no bound holds for all; most pass fewer.
    """
    optics = network.scenario.network.optics
    if optics is not None:
        if optics.demand is not None:
            return 2  # by a circuit, or by the switch beside circuits
        return {"direct": 1, "vlb": 2}.get(optics.routing, PASSED)
    return max([1, *(len(hops) for way in network.ways for hops in way.route.ways if hops is not None)])


def _packets(network: Network) -> int:
    """Return an upper bound of data packets until the limit, from flow sizes, host rates and schedules."""
    scenario = network.scenario
    wire = 8e9 * (network.mtu + network.overhead)
    counts: dict[str, int] = {}
    for (name, sender), flows in _sharing(scenario).items():
        sizes = [payload(flow, network.mtu) for flow in flows]
        # flows of one host share its line
        frame = min(sizes) + network.overhead
        line = int(network.rate_of(sender) * scenario.limit * 1.1 / 8e9 / frame)
        bound = sum(
            min(application.packets(scenario, flow, size), line) for flow, size in zip(flows, sizes, strict=True)
        )
        counts[name] = counts.get(name, 0) + min(bound, line) + 64 * len(flows)
    for name, bits in _carried(network).items():
        if name in counts:
            bound = int(bits * scenario.limit / wire * 1.1) + 64 * len(scenario.traffic)
            counts[name] = min(counts[name], bound)
    return sum(counts.values())


def _sharing(scenario: Scenario) -> dict[tuple[str, str], list[Flow]]:
    """Return the flows by the names of their schedule, which is empty without a schedule, and of their sender."""
    sharing: dict[tuple[str, str], list[Flow]] = {}
    for flow in scenario.traffic:
        schedule = scenario.schedule(flow)
        sharing.setdefault(("" if schedule is None else schedule.name, flow.src), []).append(flow)
    return sharing


def _carried(network: Network) -> dict[str, float]:
    """Return the mean rate that each schedule can carry in bit/s, by its name."""
    fastest = max(station.host.rate for station in network.stations.values())
    rates = {name: link.rate for name, link in network.links.items()} | {DARK: 0, BYPASS: fastest}
    found = {}
    for way in network.ways:
        if way.schedule is None:
            continue
        links = [DARK if hops is None else hops[0].link if hops else BYPASS for hops in way.route.ways]
        bits = sum(duration * rates[link] for duration, link in zip(way.route.durations, links, strict=True))
        found[way.schedule.name] = bits / sum(way.route.durations)
    return found


def _marks(network: Network) -> bool:
    """Return whether any queue marks packets."""
    schedules = network.scenario.network.schedules
    queues: list[Link | Port] = [*network.links.values(), *(station.host.port for station in network.stations.values())]
    return (
        network.scenario.switch.ecn_threshold is not None
        or any(queue.ecn_threshold is not None or queue.red is not None for queue in queues)
        or any(queue.marking is not None or queue.aqm is not None for queue in queues)
        or any(schedule.ecn_threshold is not None for schedule in schedules)
        or any(slot.ecn_threshold is not None for schedule in schedules for slot in schedule.slots)
    )


def _turned(network: Network) -> str:
    """Return the trace filter that leaves out changes within a slot; see `Network.turning`."""
    unseen = network.turning
    return f"class < {unseen[0]} || class > {unseen[-1]}" if unseen else ""


def _slot_changes(network: Network) -> int:
    """Return an upper bound of slot changes until the limit."""
    unseen = {network.classes.schedules[number].name for number in network.turning}
    ways = [
        step.durations
        for way in network.ways
        if way.schedule is None or way.schedule.name not in unseen
        for step in way.steps.values()
    ]
    steps = [durations for durations in (*ways, *(one.step.durations for one in network.lights)) if len(durations) > 1]
    by_timetable = sum(len(times) * (network.scenario.limit // sum(times) + 1) for times in steps)
    return min(1000 + demand.most_changes(network) + by_timetable, 4_000_000)
