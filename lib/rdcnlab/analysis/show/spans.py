# SPDX-License-Identifier: Apache-2.0
"""Timetables over one cycle, as rows of bars. `chart` draws them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from rdcnlab.analysis.show import rows as captions
from rdcnlab.analysis.show.bars import PROGRAM, Bar, Label, Panel, Row, unit_of
from rdcnlab.analysis.show.names import group_by, readable
from rdcnlab.analysis.show.ways import Shown, Step, Way, ways_of
from rdcnlab.fields.units import DURATION
from rdcnlab.scenario import BYPASS, DARK, Queue

#: Largest number of rows of a panel; `rdcnlab show --json` has all of them.
MOST_ROWS = 16
#: Ways share an axis if their common cycle is at most this many times the shortest of their cycles.
_MOST_REPEATS = 8
#: Share of a cycle below which a switch's delay is too short to be seen. The change then gets a panel of its own.
_INVISIBLE = 0.03
#: Share of a panel below which a span would be thinner than a line.
_THINNEST = 0.004


def panels(shown: Shown) -> list[Panel]:
    """Return all panels: the cycles of flows and schedules, the switch to which each line leads, changes in detail.

    Parameters
    ----------
    shown : Shown
        The scenario to show.
    """
    ways = ways_of(shown)
    if shown.own_programs:
        return [_by_program(shown, ways)] if ways else []
    turns = _turns(shown, ways)
    if turns:
        ways = tuple(way for way in ways if way.flows)
    changing = [way for way in ways if any(not step.static for step in way.steps)]
    static = [way for way in ways if way not in changing and not way.back]
    parts = []
    for group in _by_cycle(changing):
        parts.append(_cycle(shown, [way for way in ways if way in group or way in static]))
        static = []
    if static:
        parts.append(_static_panel(shown, static))
    details = _detail_panels(shown, changing or [way for way in ways_of(shown) if way.cycle])
    return [*parts, *turns, *details]


def spans(step: Step, begin: int, length: int) -> Iterator[tuple[int, int, int]]:
    """Yield begin, end and index of each slot within a span of time. Times count from the begin of the span.

    Parameters
    ----------
    step : Step
        Slots of a switch.
    begin, length : int
        Begin of the span, in ns after the scenario's start, and its length in ns.
    """
    if len(step.targets) == 1:
        yield 0, length, 0
        return
    period = sum(step.durations)
    start = step.phase + (begin - step.phase) // period * period
    if begin < step.phase:  # before its begin, the first slot is already in force
        yield 0, min(step.phase - begin, length), 0
        start = step.phase
    while start < begin + length:
        for index, duration in enumerate(step.durations):
            first, last = max(start, begin), min(start + duration, begin + length)
            if first < last:
                yield first - begin, last - begin, index
            start += duration


def _by_cycle(ways: Sequence[Way]) -> list[list[Way]]:
    groups: list[list[Way]] = []
    for way in sorted(ways, key=lambda way: -way.cycle):
        for group in groups:
            cycles = [member.cycle for member in (*group, way)]
            if math.lcm(*cycles) <= _MOST_REPEATS * min(cycles):
                group.append(way)
                break
        else:
            groups.append([way])
    # restore the order of the network
    return [[way for way in ways if way in group] for group in groups]


def _begin(shown: Shown, ways: Sequence[Way], length: int) -> int:
    """Return the begin of a cycle at which all ways have begun, if this is before the scenario's limit."""
    common = min(way.route.phase - (way.schedule.phase if way.schedule else 0) for way in ways)
    latest = max(step.phase for way in ways for step in way.steps)
    cycles = max(0, -(-(latest - common) // length))
    if any(step.jitter for way in ways for step in way.steps):  # random instants are drawn only up to the limit
        cycles = min(cycles, max(0, (shown.scenario.limit - common) // length - 1))
    return common + cycles * length


def _cycle(shown: Shown, ways: list[Way]) -> Panel:
    """Return a panel of ways that change, whose cycles share an axis, and of ways that never change."""
    changing = [way for way in ways if any(not step.static for step in way.steps)]
    length = math.lcm(*(way.cycle for way in changing))
    begin = _begin(shown, changing, length)
    rows = []
    for way in ways:
        rows += list(_rows(shown, way, begin, length)) if way in changing else [_static_row(shown, way, length)]
    rows = _merged(rows)
    visible = tuple(rows[:MOST_ROWS])
    late = [way for way in changing if max(map(_delay, way.steps)) >= _THINNEST * length]
    marks = sorted({instant for way in late for instant, _ in _starts(way, begin, length)})
    return Panel(
        f"One cycle of {readable(DURATION, length)}", begin, length, visible, len(rows) - len(visible), tuple(marks)
    )


def _delay(step: Step) -> int:
    """Return the longest time in ns by which a switch can act later than others."""
    return step.late + step.jitter + step.guard


def _starts(way: Way, begin: int, length: int) -> Iterator[tuple[int, int]]:
    """Yield begin and index of each slot that begins within a span. Times count from the begin of the span."""
    start = way.route.phase + (begin - way.route.phase) // way.cycle * way.cycle
    while start < begin + length:
        for index, duration in enumerate(way.route.durations):
            if begin <= start < begin + length:
                yield start - begin, index
            start += duration


def _rows(shown: Shown, way: Way, begin: int, length: int) -> Iterator[Row]:
    """Yield a row for each switch at which a way changes."""
    for step in way.steps:
        if step.static:
            continue
        bars = tuple(_bar(way, step, length, *span) for span in spans(step, begin, length))
        windows = []
        if step.jitter >= _THINNEST * length:
            changes = _changing(step)
            before = step.late + step.jitter  # a change that is due this long before the panel can still happen in it
            for instant, index in _starts(way, begin - before, length + before):
                first = instant - before + step.late
                if index in changes:
                    windows.append((max(first, 0), min(first + step.jitter, length)))
        strip = tuple(_strip(way, begin, length)) if step.switch == way.first else ()
        inside = tuple((first, last) for first, last in windows if first < last)
        yield Row(_label(shown, way, step), bars, strip, inside, _group(way))


def _group(way: Way) -> tuple[bool, ...]:
    return way.back, way.schedule is not None


def _bar(way: Way, step: Step, length: int, begin: int, end: int, index: int) -> Bar:
    slot, target = step.indices[index], step.targets[index]
    tdn = ""
    if way.schedule is not None and way.schedule.tdns != (0,) and step.switch == way.first:
        tdn = f"\nTDN {way.schedule.slots[slot].tdn}"
    following = step.targets[(index + 1) % len(step.targets)]
    ends = end < length and target != DARK and following == DARK  # it may continue after the panel
    guard = min(step.guard, end - begin) if ends else 0
    first, *further = _links_from(way, step, target, slot)
    return Bar(begin, end, first, f"{first}{tdn}", slot, guard, tuple(further))


def _links_from(way: Way, step: Step, target: str, slot: int) -> list[str]:
    """Return the links that a row shows for a slot of its switch.

    They are those from this switch to the next one with a row of its own. The first row also has those before it.
    """
    hops = way.route.ways[slot] or ()
    indices = [index for index, hop in enumerate(hops) if (hop.switch, hop.link) == (step.switch, target)]
    if not indices:
        return [target]
    with_rows = [other.switch for other in way.steps if not other.static]
    begin = 0 if step.switch == with_rows[0] else indices[0]
    end = next((index for index in range(indices[0] + 1, len(hops)) if hops[index].switch in with_rows), len(hops))
    return [hop.link for hop in hops[begin:end]]


def _label(shown: Shown, way: Way, step: Step | None) -> Label:
    """Return the label of a way at one of its switches; without a step, the label of the whole way."""
    flows = shown.flows_of(way)
    names = way.flows if way.schedule is None else (way.schedule.name,)
    senders, receivers = tuple(flow.src for flow in flows), tuple(flow.dst for flow in flows)
    if way.back:
        senders, receivers = receivers, senders
    if not flows and not way.alone:
        senders, receivers = (way.first,), (way.last,)
    suffix = ", back" if way.back and way.schedule is None else ""
    if way.schedule is None and any(captions.has_more_subflows(shown, flow) for flow in flows):
        suffix = f", first subflow{suffix}"
    if step is None or way.alone:
        return Label(names, suffix, senders, receivers)
    acts = captions.acts(shown.scenario.network.node(step.switch))
    suffix += f" at {step.switch}"
    # only the row of the first switch names senders and receivers
    return (
        Label(names, suffix, senders, receivers, acts) if step.switch == way.first else Label(names, suffix, acts=acts)
    )


def _strip(way: Way, begin: int, length: int) -> Iterator[Bar]:
    """Yield the settings of the schedule's queue, if slots change them."""
    schedule = way.schedule
    if schedule is None or not any(slot.queue or slot.ecn_threshold for slot in schedule.slots):
        return
    step = way.steps[0]
    for field, word in (("queue", "queue"), ("ecn_threshold", "marks above")):
        values: list[Queue | None] = [getattr(slot, field) for slot in schedule.slots]
        if not any(values):
            continue
        first = next(value for value in reversed(values) if value is not None)  # from the cycle before
        merged: list[Bar] = []
        for start, end, index in spans(replace(step, durations=way.route.durations, targets=way.named), begin, length):
            settings = [value for value in values[: index + 1] if value is not None]
            text = f"{word} {captions.length(settings[-1] if settings else first)}"
            if merged and merged[-1].label == text:
                merged[-1] = replace(merged[-1], end=end)
            else:
                merged.append(Bar(start, end, field, text, index))
        yield from merged


def _static_row(shown: Shown, way: Way, length: int) -> Row:
    target = way.steps[0].targets[0] if way.steps else ""
    links = tuple(hop.link for hop in way.route.ways[0] or ())
    label = links[0] if links else captions.passed_links(way, 0)
    return Row(_label(shown, way, None), (Bar(0, length, target, label, further=links[1:]),), group=_group(way))


def _static_panel(shown: Shown, ways: list[Way]) -> Panel:
    rows = _merged([_static_row(shown, way, 1) for way in ways])
    visible = tuple(rows[:MOST_ROWS])
    lit = shown.scenario.network.optics is not None
    title = "Ways; each is one of those that the circuits above give" if lit else "Ways; nothing ever changes"
    return Panel(title, 0, 0, visible, len(rows) - len(visible))


def _by_program(shown: Shown, ways: Sequence[Way]) -> Panel:
    forward = [way for way in ways if not way.back]
    words = captions.in_words(shown, forward[0])
    rows = _merged([Row(_label(shown, way, None), (Bar(0, 1, PROGRAM, words),)) for way in forward])
    return Panel("Ways", 0, 0, tuple(rows[:MOST_ROWS]), max(0, len(rows) - MOST_ROWS))


def _merged(rows: list[Row]) -> list[Row]:
    """Join rows that differ only in their labels."""
    merged = []
    for alike in group_by(rows, lambda row: (replace(row, label=Label(())), row.label.suffix, row.label.acts)):
        names, senders, receivers = (
            tuple(name for row in alike for name in getattr(row.label, field))
            for field in ("names", "senders", "receivers")
        )
        label = replace(alike[0].label, names=names, senders=senders, receivers=receivers)
        merged.append(replace(alike[0], label=label))
    return merged


def _turns(shown: Shown, ways: Sequence[Way]) -> list[Panel]:
    """Return a panel of the switch to which each line leads, for schedules of pairs of switches.

    There is no panel if two schedules use a line at the same time.
    """
    pairs = [way for way in ways if way.schedule is not None and way.schedule.pair is not None and way.cycle]
    if len(pairs) < 3 or len({way.cycle for way in pairs}) > 1:
        return []
    length = pairs[0].cycle
    begin = _begin(shown, pairs, length)
    lines: dict[tuple[str, str], list[Bar]] = {}
    for way in pairs:
        step = way.steps[0]
        for first, last, index in spans(step, begin, length):
            target = step.targets[index]
            if target not in (DARK, BYPASS):
                bar = Bar(first, last, way.last, way.last, step.indices[index])
                lines.setdefault((step.switch, target), []).append(bar)
    rows = []
    order = {node.name: index for index, node in enumerate(shown.scenario.network.switches)}
    links = [link.name for link in shown.scenario.network.links]
    for (switch, link), bars in sorted(lines.items(), key=lambda item: (order[item[0][0]], links.index(item[0][1]))):
        bars.sort(key=lambda bar: bar.begin)
        if any(bar.end > following.begin for bar, following in itertools.pairwise(bars)):
            return []
        rows.append(Row(Label((f"{switch} by {link}",)), tuple(_with_dark(bars, length))))
    visible = tuple(rows[:MOST_ROWS])
    ends = tuple(name for name in order if name in {way.last for way in pairs})
    title = f"To which switch each line leads in a cycle of {readable(DURATION, length)}"
    return [Panel(title, begin, length, visible, len(rows) - len(visible), ordered=ends)]


def _with_dark(bars: Sequence[Bar], length: int) -> Iterator[Bar]:
    """Yield the bars, and dark bars for the times between them."""
    end = 0
    for bar in [*bars, Bar(length, length, DARK, "")]:
        if bar.begin > end:
            yield Bar(end, bar.begin, DARK, DARK)
        if bar.end > bar.begin:
            yield bar
        end = bar.end


def _detail_panels(shown: Shown, ways: Sequence[Way]) -> list[Panel]:
    """Return panels with the first two changes of a way in detail.

    They are needed if the instants at which switches change differ by too little to be seen in a whole cycle.
    """
    for way in ways:
        changing = [step for step in way.steps if not step.static]
        delay = max(map(_delay, changing), default=0)
        if len(changing) < 2 or not 0 < delay < _INVISIBLE * way.cycle:
            continue
        begin = _begin(shown, [way], way.cycle)
        changed = {index for step in changing if _delay(step) for index in _changing(step)}
        instants = [start for start, index in _starts(way, begin, way.cycle) if index in changed]
        margin = min(delay, min(way.route.durations))
        details: list[Panel] = []
        for instant in instants[:2]:
            start = begin + instant - margin + way.cycle  # one cycle later, so that a cycle precedes it
            rows = tuple(row for row in _rows(shown, way, start, 3 * margin))
            unit, factor = unit_of(way.cycle)
            when = f"{instant / factor:g} {unit}"
            title = f"and at {when}" if details else f"From near: the changes at {when} of the cycle"
            details.append(Panel(title, start, 3 * margin, rows, marks=(margin,), near=True))
        return details
    return []


def _changing(step: Step) -> set[int]:
    """Return the indices of those slots of the way that begin with a change of the switch."""
    first: dict[int, str] = {}  # with jitter a step has many cycles, all with the same targets
    for index, target in zip(step.indices, step.targets, strict=True):
        first.setdefault(index, target)
    targets = list(first.values())
    return {index for number, index in enumerate(first) if targets[number] != targets[number - 1]}
