# SPDX-License-Identifier: Apache-2.0
"""Draw a network of one switch: hosts on both sides, and the links of the switch as lanes inside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rdcnlab.analysis.show import rows as captions
from rdcnlab.analysis.show.graph import cables, wide
from rdcnlab.analysis.show.graph import hosts as draw_hosts
from rdcnlab.analysis.show.layout import SINGLE, Place, spacing_of
from rdcnlab.analysis.show.names import readable
from rdcnlab.analysis.show.paint import INK, NAME, SMALL, WIDTH, box, line, queue, width, write
from rdcnlab.analysis.show.ways import Shown, Way, ways_of
from rdcnlab.fields.units import DURATION, SIZE
from rdcnlab.scenario import BYPASS, DARK, Host, Link, Node, Schedule

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_DIGITS = "0123456789"
#: Largest number of lanes, and of schedules, that are drawn. The table below a picture has all.
_MOST = 8
#: Distance between lanes in inches.
_LANE = 0.42
_LEFT, _RIGHT = 1.85, WIDTH - 1.85
_LANES = (3.1, WIDTH - 3.1)


def height(shown: Shown) -> float:
    """Return the height of the drawing in inches."""
    column = max(len(side) * spacing_of(side) for side in _sides(shown))
    return max(_lanes(shown) * _LANE + 0.45, column + 0.5, 1.2)


def _lanes(shown: Shown) -> int:
    links = len(shown.scenario.network.links)
    return max(1, min(links, _MOST) + (links > _MOST) + _bypassed(shown), len(_queues(shown)))


def _bypassed(shown: Shown) -> bool:
    if not shown.scenario.network.links:
        return True
    return not shown.own_programs and any(BYPASS in way.named for way in ways_of(shown))


def _queues(shown: Shown) -> list[Schedule]:
    return [schedule for schedule in shown.scenario.network.schedules if schedule.queues][:_MOST]


def draw(ax: Axes, shown: Shown, colors: Mapping[str, str]) -> None:
    """Draw a network of one switch.

    Parameters
    ----------
    ax : Axes
        A sheet of `height`.
    shown : Shown
        The scenario to show.
    colors : mapping of str to str
        Colours of links; links without an entry are black.
    """
    network = shown.scenario.network
    high = ax.get_ylim()[1]
    inside = _lanes(shown) * _LANE + 0.35
    middle = high / 2
    box(ax, WIDTH / 2, middle, _RIGHT - _LEFT, inside)
    kind = captions.kind(shown.scenario, Node(name=captions.SWITCH))
    write(ax, WIDTH / 2, middle + inside / 2 - 0.13, f"switch: {kind}", NAME, bold=True)
    _columns(ax, shown, middle, inside)
    ways = ways_of(shown)
    top = middle + inside / 2 - 0.35
    slowest = min((link.rate for link in network.links), default=1)
    lanes: dict[str, float] = {}
    for index, link in enumerate(network.links[:_MOST]):
        lanes[link.name] = top - (index + 0.5) * _LANE
        _lane(ax, link, lanes[link.name], colors.get(link.name, INK), wide(link.rate, slowest), ways)
    y = top - (len(lanes) + 0.5) * _LANE
    if len(network.links) > _MOST:
        write(ax, WIDTH / 2, y, f"... {len(network.links) - _MOST} more, see below")
        y -= _LANE
    if _bypassed(shown):
        _bypass(ax, y, ways)
    _pools(ax, shown, lanes)
    _waiting(ax, shown, lanes, top, ways)


def _sides(shown: Shown) -> tuple[list[tuple[Host, ...]], list[tuple[Host, ...]]]:
    """Return the groups of hosts on the left, which send, and on the right, which only receive."""
    hosts = shown.scenario.network.hosts
    senders = {flow.src for flow in shown.flows}
    receivers = {flow.dst for flow in shown.flows} - senders
    if not senders:
        receivers = {host.name for host in hosts[(len(hosts) + 1) // 2 :]}
    # a host without a flow goes to hosts whose names differ from its name only in the number, otherwise to free space
    sides = {name.rstrip(_DIGITS): side for side in (senders, receivers) for name in side}
    for host in hosts:
        if host.name not in senders | receivers:
            fewer = receivers if len(receivers) < len(senders) else senders
            sides.get(host.name.rstrip(_DIGITS), fewer).add(host.name)
    columns: list[list[tuple[Host, ...]]] = []
    for right in (False, True):
        side = [host for host in hosts if (host.name in receivers) == right]
        alike: list[tuple[Host, ...]] = [(host,) for host in side]
        if len(side) > SINGLE:
            alike = [tuple(group) for group in captions.alike_hosts(side)]
        columns.append(alike[:6])
    return columns[0], columns[1]


def _columns(ax: Axes, shown: Shown, middle: float, inside: float) -> None:
    for x, edge, symbols in zip((0.75, WIDTH - 0.75), (_LEFT, _RIGHT), _sides(shown), strict=True):
        spacing = spacing_of(symbols)
        for index, group in enumerate(symbols):
            y = middle + ((len(symbols) - 1) / 2 - index) * spacing + 0.1
            port_y = min(max(y, middle - inside / 2 + 0.1), middle + inside / 2 - 0.1)
            line(ax, (edge, x), (port_y, y), color="#888888", wide=0.8)
            draw_hosts(ax, group, Place(x, y, 0.75, 0.24))
        if not symbols:
            continue
        all_hosts = [host for group in symbols for host in group]
        lowest = middle - (len(symbols) - 1) / 2 * spacing + 0.1 - 0.12 - (0.14 if len(symbols[-1]) > 1 else 0)
        write(ax, x, lowest - 0.07, cables(all_hosts), 6.5, va="top", color="#555555")


def _lane(ax: Axes, link: Link, y: float, color: str, points: float, ways: Sequence[Way]) -> None:
    """Draw a link from its queue at the left to its end, with a description above it."""
    begin, end = _LANES
    line(ax, (begin, end), (y, y), color=color, wide=points, name=link.name, above=True)
    used = {way.back for way in ways if link.name in way.named}
    _arrow(ax, end, y, color, right=True)
    if used == {True, False}:
        _arrow(ax, begin, y, color, right=False)
    text = f"{link.name}: {captions.short_rate(link)}, {readable(DURATION, link.delay)}"
    write(ax, (begin + end) / 2, y + 0.03 + points / 144, text, SMALL, va="bottom")
    if link.has_queue:
        queue(ax, begin - 0.12, y, size=0.15)
    if link.aqm is not None:
        write(ax, begin - 0.24, y, link.aqm.kind, 6.5, ha="right")
    elif link.buffer is not None:
        write(ax, begin - 0.24, y, captions.length(link.buffer), 6.5, ha="right")


def _arrow(ax: Axes, x: float, y: float, color: str, *, right: bool) -> None:
    ax.plot([x], [y], marker=">" if right else "<", markersize=5, color=color, zorder=3.6)


def _bypass(ax: Axes, y: float, ways: Sequence[Way]) -> None:
    begin, end = _LANES
    line(ax, (begin, end), (y, y), color="#888888", wide=1.0, style="--", above=True)
    used = {way.back for way in ways if BYPASS in way.named}
    if True in used:
        _arrow(ax, begin, y, "#888888", right=False)
    if False in used or not used:
        _arrow(ax, end, y, "#888888", right=True)
    text = "bypass: straight to the port" + (" (ways back)" if used == {True} else "")
    write(ax, (begin + end) / 2, y + 0.03, text, 6.5, va="bottom", color="#555555")


def _pools(ax: Axes, shown: Shown, lanes: Mapping[str, float]) -> None:
    """Draw a frame around the queues that share a buffer."""
    network = shown.scenario.network
    for pool in network.pools:
        levels = [lanes[link.name] for link in network.links if link.pool == pool.name and link.name in lanes]
        if not levels:
            continue
        x, (low, high) = _LANES[0] - 0.12, (min(levels), max(levels))
        box(ax, x, (low + high) / 2, 0.26, high - low + 0.28, fill="white")
        for y in levels:
            queue(ax, x, y, size=0.15)
        write(ax, x - 0.2, (low + high) / 2, f"{pool.name}\n{readable(SIZE, pool.size)}", 6.5, ha="right")


def _waiting(ax: Axes, shown: Shown, lanes: Mapping[str, float], top: float, ways: Sequence[Way]) -> None:
    """Draw the queues of schedules at the side where their packets enter: left, or right for a way back."""
    drawn_schedules = _queues(shown)
    sides: dict[bool, list[Schedule]] = {False: [], True: []}
    for number, schedule in enumerate(drawn_schedules):
        way = next((way for way in ways if way.schedule is schedule), None)
        followed = way is not None and way.flows
        sides[way.back if way is not None and followed else number % 2 == 1].append(schedule)
    for back, schedules in sides.items():
        for index, schedule in enumerate(schedules):
            x = _RIGHT - 0.3 if back else _LEFT + 0.3
            y = top - (index + 0.5) * max(_LANE, (max(1, len(lanes)) * _LANE) / len(schedules))
            for name in dict.fromkeys(slot.link for slot in schedule.slots):
                if name in lanes and name != DARK:
                    lane_end = _LANES[1] + 0.07 if back else _LANES[0] - 0.07
                    line(ax, (x, lane_end), (y, lanes[name]), color="#AAAAAA", wide=0.7, above=True)
            queue(ax, x, y, size=0.19)
            waits = captions.length(schedule.queue) if schedule.queue is not None else "endless"
            for text, shift, size in ((schedule.name, 0.17, 6.5), (waits, -0.17, 6.5)):
                half = width(text, size) / 2
                text_x = min(max(x, _LEFT + half + 0.05), _RIGHT - half - 0.05)
                write(ax, text_x, y + shift, text, size)
