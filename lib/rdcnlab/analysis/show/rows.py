# SPDX-License-Identifier: Apache-2.0
"""The parts of a network with their rates, as rows for tables. Parts with equal settings share a row."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from rdcnlab.analysis.show.names import compress, group_by, readable
from rdcnlab.analysis.show.ways import Shown, Way, ways_of
from rdcnlab.fields.units import DURATION, RATE, SHARE, SIZE
from rdcnlab.scenario import BYPASS, DARK, Flow, Host, Link, Network, Node, Port, Queue, Red, Scenario, Schedule
from rdcnlab.scenario.line import Faulty
from rdcnlab.scenario.queueing import Marking

Row = dict[str, str]

#: The switch of a network that names none, in words.
SWITCH = "switch"
#: Largest number of rows that a table prints.
MOST = 24


def switches(shown: Shown) -> list[Row]:
    """Return rows of switches: ``switches``, ``kind``, and ``acts``, which says how late a switch acts."""
    scenario = shown.scenario
    nodes = scenario.network.switches or (Node(name=SWITCH),)
    return [
        {
            "switches": compress(node.name for node in alike),
            "kind": kind(scenario, alike[0]),
            "acts": acts(alike[0]) or "in time",
        }
        for alike in group_by(nodes, lambda node: node.model_copy(update={"name": SWITCH, "entries": ()}))
    ]


def kind(scenario: Scenario, node: Node) -> str:
    """Return the kind of a switch, such as ``ocs``, or ``bmv2 with mine.json``."""
    if node.optical:
        return "optical"
    name = node.kind or scenario.switch.kind
    if name == "ovs":
        return ", ".join(_controlled(scenario))
    if name != "bmv2":
        return name
    program = node.program or scenario.switch.program
    if program is not None:
        return f"{name} with {Path(program.path).name}"
    return f"{name}, timetables in its control plane" if scenario.switch.control == "control-plane" else name


def _controlled(scenario: Scenario) -> list[str]:
    settings = scenario.switch
    controller = settings.controller
    words = ["ovs" if controller is None else f"ovs with {controller.label}"]
    times = {"delay": settings.delay, "jitter": settings.jitter}
    words += [f"{name} {readable(DURATION, time)}" for name, time in times.items() if time]
    return words if settings.table_size is None else [*words, f"{settings.table_size} entries"]


def acts(node: Node) -> str:
    """Return how late a switch acts, such as ``late 1 us, guard 7 us``; empty if it acts in time."""
    times = {"late": node.late, "jitter": node.jitter, "guard": node.guard}
    return ", ".join(f"{name} {readable(DURATION, time)}" for name, time in times.items() if time)


def links(shown: Shown) -> list[Row]:
    """Return rows of links: ``links``, ``between``, ``rate``, ``delay`` and ``queue``."""
    network = shown.scenario.network
    return [
        {
            "links": compress(link.name for link in alike),
            "between": _ends_of(network, alike),
            "rate": _rate_of(alike[0]),
            "delay": readable(DURATION, alike[0].delay) + _faults_of(alike[0]),
            "queue": _queue_of(shown.scenario, alike[0]),
        }
        for alike in alike_links(network)
    ]


def short_rate(line: Link | Host) -> str:
    """Return the rate of a line in a few words; if it changes, its largest rate."""
    return ("up to " if isinstance(line, Link) and line.changes else "") + readable(RATE, line.rate)


def _rate_of(link: Link) -> str:
    """Return the rate of a link in words, also if it changes."""
    if link.opportunities:
        span = link.opportunities[-1] * 10**6
        mean = len(link.opportunities) * link.opportunity * 8 * 10**9 // span
        return f"trace of {readable(DURATION, span)}, mean {readable(RATE, mean)}"
    if link.steps:
        least, most = min(step.rate for step in link.steps), max(step.rate for step in link.steps)
        span = sum(step.duration for step in link.steps)
        words = f"{readable(RATE, least)} to {readable(RATE, most)}, {len(link.steps)} steps"
        return f"{words} in {readable(DURATION, span)}" if link.repeat else f"{words}, once"
    down = sum(last - first for first, last in link.down)
    return readable(RATE, link.rate) + (f", down for {readable(DURATION, down)}" if down else "")


def _percent(share: int) -> str:
    return f"{share / 10_000:g} %"


def _faults_of(line: Faulty) -> str:
    """Return the faults of a line in words, with a comma before each."""
    bursts = line.bursts
    words = {
        "jitter": readable(DURATION, line.jitter) + (" that reorders" if line.reorder else "") if line.jitter else "",
        "loss": _percent(line.loss) if line.loss else "in bursts" if bursts is not None else "",
        "duplicates": _percent(line.duplicate) if line.duplicate else "",
        "corrupts": _percent(line.corrupt) if line.corrupt else "",
    }
    return "".join(f", {name} {word}" for name, word in words.items() if word)


def alike_links(network: Network) -> list[list[Link]]:
    """Return links in groups with equal settings; within a group only the names and the ends may differ."""
    return group_by(
        network.links,
        lambda link: link.model_copy(update={"name": "link", "between": None}),
    )


def _ends_of(network: Network, alike: list[Link]) -> str:
    if not network.switches:
        return "inside"
    ends = [link.between or ("", "") for link in alike]
    weight = f", weight {alike[0].weight}" if alike[0].weight != 1 else ""
    return " - ".join(compress(column) for column in zip(*ends, strict=True)) + weight


def _queue_of(scenario: Scenario, link: Link) -> str:
    if link.aqm is not None:
        return link.aqm.tc
    if link.buffer is not None:
        words = [length(link.buffer) + (" at each end" if link.between else "")]
    elif link.pool is not None:
        size = next(pool.size for pool in scenario.network.pools if pool.name == link.pool)
        words = [f"shares {readable(SIZE, size)} ({link.pool})"]
    else:
        optics = scenario.network.optics
        if optics is None:
            return "none; waits in schedules"
        marks = [] if optics.ecn_threshold is None else [f"marks above {length(optics.ecn_threshold)}"]
        return ", ".join([f"in a rack, for each other rack: {length(optics.queue)}", *marks])
    # a threshold of the switch replaces the thresholds of links
    threshold = link.ecn_threshold if scenario.switch.ecn_threshold is None else scenario.switch.ecn_threshold
    return ", ".join(words + _marks_and_drops(threshold, link.red, link.marking))


def _queue_of_port(scenario: Scenario, port: Port) -> str:
    """Return the queue of a switch's port to a host in words."""
    if port.aqm is not None:
        return port.aqm.tc
    words = ["unlimited" if port.buffer is None else length(port.buffer)]
    if port.pool is not None:
        size = next(pool.size for pool in scenario.network.pools if pool.name == port.pool)
        words = words if port.buffer is not None else []
        words.append(f"shares {readable(SIZE, size)} ({port.pool})")
    return ", ".join(words + _marks_and_drops(port.ecn_threshold, port.red, port.marking))


def _marks_and_drops(threshold: int | None, red: Red | None, marking: Marking | None) -> list[str]:
    words = [] if threshold is None else [f"marks above {readable(SIZE, threshold)}"]
    if marking is not None:
        span = f"{readable(SIZE, marking.min)} to {readable(SIZE, marking.max)}"
        words = [f"marks {span}, {readable(SHARE, marking.probability)}"]
    if red is not None and red.min == red.max:
        words.append(
            f"drops {'packets without ECN' if threshold is None else 'others'} above {readable(SIZE, red.max)}"
        )
    elif red is not None:
        words.append(f"RED {readable(SIZE, red.min)} to {readable(SIZE, red.max)}, {readable(SHARE, red.probability)}")
    return words


def hosts(shown: Shown) -> list[Row]:
    """Return rows of hosts: ``hosts``, ``at``, ``rate``, ``delay``, their own ``queue``, and the switch's ``port``."""
    return [
        {
            "hosts": compress(host.name for host in alike),
            "at": compress(host.at or SWITCH for host in alike) + _belonging(alike),
            "rate": readable(RATE, alike[0].rate),
            "delay": readable(DURATION, alike[0].delay) + _faults_of(alike[0]),
            "queue": length(alike[0].queue)
            + (f", card {readable(SIZE, alike[0].nic_buffer)}" if alike[0].nic_buffer else ""),
            "port": _queue_of_port(shown.scenario, alike[0].port),
        }
        for alike in alike_hosts(shown.scenario.network.hosts)
    ]


def alike_hosts(hosts: Iterable[Host]) -> list[list[Host]]:
    """Return hosts in groups with equal settings; within a group only the names and the switches differ.

    Further lines of hosts are in groups of their own, whichever hosts they belong to.
    """
    same = {"name": "host", "at": None}
    return group_by(hosts, lambda host: host.model_copy(update={**same, "of": host.of and "host"}))


def belonging(lines: Iterable[Host]) -> str:
    """Return the hosts to which further lines belong, such as ``of phone``; empty for hosts."""
    owners = [line.of for line in lines if line.of is not None]
    return f"of {compress(owners)}" if owners else ""


def _belonging(alike: list[Host]) -> str:
    words = belonging(alike)
    return f", {'a line' if len(alike) == 1 else 'lines'} {words}" if words else ""


def schedules(shown: Shown) -> list[Row]:
    """Return rows of schedules: ``schedules``, ``queue``, ``dark`` and the ``cycle``."""
    return [
        {
            "schedules": compress(schedule.name for schedule in alike),
            "queue": _waiting(shown.scenario, alike[0]),
            "dark": "holds" if alike[0].dark == "hold" else "drops",
            "cycle": readable(DURATION, alike[0].cycle) if len(alike[0].slots) > 1 else "never changes",
        }
        for alike in group_by(
            shown.scenario.network.schedules,
            lambda schedule: (schedule.queue, schedule.ecn_threshold, schedule.dark, schedule.echo, schedule.cycle),
        )
    ]


def _waiting(scenario: Scenario, schedule: Schedule) -> str:
    words = [length(schedule.queue)] if schedule.queue is not None else []
    if not words:
        words.append("endless" if schedule.queues else "none")
    marks = scenario.switch.ecn_threshold
    if schedule.queue is not None and marks is not None:
        words.append(f"marks above {readable(SIZE, marks)}")
    elif schedule.ecn_threshold is not None:
        words.append(f"marks above {length(schedule.ecn_threshold)}")
    if schedule.echo is not None:
        echo = schedule.echo
        words.append(f"ECE {readable(DURATION, echo.in_advance)} ahead of TDN {echo.tdn} of {echo.of}")
    return ", ".join(words)


def length(queue: Queue) -> str:
    """Return the length of a queue, in the form that scenario files use."""
    return f"{queue.packets} packets" if queue.bytes is None else readable(SIZE, queue.bytes)


def flows(shown: Shown) -> list[Row]:
    """Return rows of flows: ``flows``, ``from``, ``to``, ``sends``, and the ways ``there`` and ``back``.

    Over circuits, a way is one of those that they give in a cycle.
    """
    rows = []
    such = "" if shown.scenario.network.optics is None else "such as "
    for flow in shown.flows:
        forward, backward = (shown.way_of(flow, back=backward) for backward in (False, True))
        first = " (first subflow)" if has_more_subflows(shown, flow) else ""
        rows.append((flow, such + in_words(shown, forward) + first, such + in_words(shown, backward) + first))
    return [
        {
            "flows": compress(flow.name for flow, _, _ in alike),
            "from": compress(flow.src for flow, _, _ in alike),
            "to": compress(flow.dst for flow, _, _ in alike),
            "sends": _sends(alike[0][0]),
            "there": alike[0][1],
            "back": alike[0][2],
        }
        for alike in group_by(rows, lambda row: (_sends(row[0]), row[1], row[2]))
    ]


def has_more_subflows(shown: Shown, flow: Flow) -> bool:
    """Return whether the way of a flow is that of its first subflow only: path managers choose the others."""
    return flow.protocol == "mptcp" and shown.scenario.schedule(flow) is None


def _sends(flow: Flow) -> str:
    variant = flow.protocol if flow.cc is None else flow.cc if flow.protocol == "tcp" else f"{flow.protocol} {flow.cc}"
    if flow.burst is not None and flow.interval is not None:
        variant += f", bursts of {flow.burst} each {readable(DURATION, flow.interval)}"
    if flow.rounds > 1:
        variant += f", {flow.rounds} rounds" + (
            f", {readable(DURATION, flow.think)} between them" if flow.think else ""
        )
    if flow.rate is not None:
        variant += f" at {readable(RATE, flow.rate)}"
    if flow.on is not None and flow.off is not None:
        variant += f", {readable(DURATION, flow.on)} on, {readable(DURATION, flow.off)} off"
    if flow.replay is not None:
        variant += f", {flow.replay.count} packets of {Path(flow.replay.path).name}"
    size = (
        readable(SIZE, flow.replay.payload if flow.replay else flow.size)
        if flow.until is None
        else f"until {readable(DURATION, flow.until)}"
    )
    return f"{size} {variant}" + (f", after {flow.after}" if flow.after else "")


def in_words(shown: Shown, way: Way) -> str:
    """Return a way in words: duration and links of each slot, or the name of its schedule."""
    if shown.own_programs:
        names = [Path(path).name for path in shown.own_programs]
        return f"as {' and '.join(names)} {'decides' if len(names) == 1 else 'decide'}"
    if way.schedule is not None:
        return f"schedule {way.schedule.name}"
    places = [passed_links(way, index) for index in range(len(way.route.ways))]
    if not way.cycle:
        return places[0]
    return ", ".join(
        f"{readable(DURATION, duration)} {index}" for duration, index in zip(way.route.durations, places, strict=True)
    )


def passed_links(way: Way, index: int) -> str:
    """Return the links that packets pass in a slot, joined by ``+``."""
    hops = way.route.ways[index]
    if hops is None:
        return DARK
    if hops:
        return "+".join(hop.link for hop in hops)
    return BYPASS if way.alone else "same switch"


def slots(shown: Shown) -> list[Row]:
    """Return rows of the slots of schedules over one cycle: ``schedule``, ``begins``, ``lasts``, ``goes``, ``sets``."""
    rows = []
    for way in ways_of(shown):
        if not way.cycle or way.schedule is None or shown.own_programs:
            continue
        if way.schedule.pair is not None and not way.flows:  # a fabric has too many of them
            continue
        begin = 0
        for index, slot in enumerate(way.schedule.slots):
            extra = [f"TDN {slot.tdn}"] if way.schedule.tdns != (0,) else []
            extra += [f"queue {length(slot.queue)}"] if slot.queue is not None else []
            extra += [f"marks above {length(slot.ecn_threshold)}"] if slot.ecn_threshold is not None else []
            rows.append(
                {
                    "schedule": way.schedule.name,
                    "begins": readable(DURATION, begin),
                    "lasts": readable(DURATION, slot.duration),
                    "goes": passed_links(way, index),
                    "sets": ", ".join(extra),
                }
            )
            begin += slot.duration
    return rows
