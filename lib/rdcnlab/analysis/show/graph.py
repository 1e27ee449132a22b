# SPDX-License-Identifier: Apache-2.0
"""Draw a network of several switches: boxes, hosts, and links, with a queue at each end that has one."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from rdcnlab.analysis.show import rows as captions
from rdcnlab.analysis.show.layout import CAPTIONS, Layout, Place, Symbol
from rdcnlab.analysis.show.names import compress, group_by, readable
from rdcnlab.analysis.show.paint import INK, NAME, PALE, SMALL, box, fitting, line, queue, shorten, width, write
from rdcnlab.analysis.show.ways import Shown
from rdcnlab.fields.units import DURATION
from rdcnlab.scenario import Host, Link, Network

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Largest number of links that are drawn between the same two switches, and of link ends with a drawn queue.
_MOST_PARALLEL, _MOST_QUEUES = 6, 48
#: Width in inches that the text below a column of hosts may have.
CABLES = 1.6
#: If there are more links than this, they are drawn thinner.
_MANY = 24
#: Widths in points: of the slowest link, the addition for a tenfold rate, and the largest width.
_THIN, _TENFOLD, _THICK = 1.1, 1.1, 4.0


def wide(rate: int, slowest: int) -> float:
    """Return the width in points of a link's line. It depends on the ratio of the rates (bit/s)."""
    return min(_THICK, _THIN + _TENFOLD * math.log10(rate / slowest))


def draw(ax: Axes, shown: Shown, plan: Layout, colors: Mapping[str, str]) -> None:
    """Draw a network.

    Parameters
    ----------
    ax : Axes
        A sheet of the layout's height.
    shown : Shown
        The scenario to show.
    plan : Layout
        Positions of switches and hosts.
    colors : mapping of str to str
        Colours of links; links without an entry are black.
    """
    network = shown.scenario.network
    links = [link for alike in _parallel(network, plan) for link in alike[:_MOST_PARALLEL]]
    ports = _ports(plan, links)
    slowest = min((link.rate for link in network.links), default=1)
    names = _names(links, plan, ports)
    for link in links:
        first, second = link.between or ("", "")
        ends = (ports[link.name, first], ports[link.name, second])
        points, color = wide(link.rate, slowest), colors.get(link.name, INK)
        if len(links) > _MANY and color == INK:
            points, color = points / 2, "#777777"
        line(ax, [end[0] for end in ends], [end[1] for end in ends], color, points, name=link.name)
        if link.has_queue and 2 * len(links) <= _MOST_QUEUES:
            for switch, end, far in ((first, *ends), (second, *ends[::-1])):
                if not network.node(switch).optical:
                    _queue_at(ax, plan, end, far)
        if link.name in names:
            x, y, text = names[link.name]
            write(ax, x, y, text, SMALL if plan.shape == "row" else 6.5, halo=plan.shape != "row")
    _left_out(ax, network, plan)
    for name, place in plan.switches.items():
        _switch(ax, shown, name, place)
    for symbol in plan.symbols:
        _hosts(ax, plan, symbol)
    for x, y, count in plan.gaps:
        write(ax, x, y, f"...\n{count} more", SMALL)
    _captions(ax, network, plan)


def _parallel(network: Network, plan: Layout) -> list[list[Link]]:
    """Return the links between drawn switches, grouped by their pair of switches."""
    links = [link for link in network.links if link.between and all(end in plan.switches for end in link.between)]
    return group_by(links, lambda link: frozenset(link.between or ()))


def _ports(plan: Layout, links: list[Link]) -> dict[tuple[str, str], tuple[float, float]]:
    """Return the point at which each link leaves each of its switches.

    The points have the order of the links' other ends, so that few lines cross.
    """
    ports: dict[tuple[str, str], tuple[float, float]] = {}
    for name, place in plan.switches.items():
        sides: dict[str, list[tuple[float, str]]] = {}
        for number, link in enumerate(links):
            if link.between is None or name not in link.between:
                continue
            opposite = plan.switches[link.between[1] if link.between[0] == name else link.between[0]]
            side = _side(plan, place, opposite)
            order = (number / len(links)) * (1 if side in ("top", "bottom") else -1)
            coordinate = opposite.x if side in ("top", "bottom") else opposite.y
            sides.setdefault(side, []).append((coordinate + order * 1e-6, link.name))
        for side, ends in sides.items():
            for rank, (_, link_name) in enumerate(sorted(ends)):
                ports[link_name, name] = _port(place, side, (rank + 0.5) / len(ends) - 0.5)
    return ports


def _side(plan: Layout, near: Place, far: Place) -> str:
    if plan.shape == "ring":
        return "middle"
    if plan.shape == "row":
        return "right" if far.x > near.x else "left"
    return "top" if far.y > near.y else "bottom"


def _port(place: Place, side: str, share: float) -> tuple[float, float]:
    if side == "middle":
        return place.x + share * 0.3, place.y
    if side in ("left", "right"):
        return place.x + (place.width / 2) * (1 if side == "right" else -1), place.y + share * place.height
    return place.x + share * place.width * 0.85, place.y + (place.height / 2) * (1 if side == "top" else -1)


def _queue_at(ax: Axes, plan: Layout, end: tuple[float, float], far: tuple[float, float]) -> None:
    """Draw a queue on the line of a link, near the point where the link leaves a switch."""
    if plan.shape == "layers":
        share = 0.09 / abs(far[1] - end[1])
    else:
        share = (0.13 if plan.shape == "row" else 0.5) / math.dist(end, far)
    x, y = end[0] + (far[0] - end[0]) * share, end[1] + (far[1] - end[1]) * share
    queue(ax, x, y, upright=plan.shape == "layers", size=0.13)


def _names(
    links: list[Link], plan: Layout, ports: Mapping[tuple[str, str], tuple[float, float]]
) -> dict[str, tuple[float, float, str]]:
    """Return positions and texts of link names.

    It is empty if the texts have no space, or if all names are made of the names of the links' ends.
    """
    if all(link.name == "-".join(link.between or ()) for link in links):
        return {}
    ends = {link.name: sorted((ports[link.name, end] for end in link.between or ()), key=_upwards) for link in links}
    if plan.shape == "row":
        positions = {}
        for link in links:
            (x1, y1), (x2, y2) = ends[link.name]
            rate, delay = captions.short_rate(link), readable(DURATION, link.delay)
            texts = (f"{link.name}: {rate}, {delay}", f"{link.name}: {rate}", link.name)
            text = next((text for text in texts if width(text, SMALL) < abs(x2 - x1) - 0.1), link.name)
            positions[link.name] = ((x1 + x2) / 2, (y1 + y2) / 2 + 0.14, text)
        return positions
    for shift in (0.14, 0.28, 0.4, 0.55) if plan.shape == "layers" else (0.5,):
        positions = {}
        for link in links:
            (x1, y1), (x2, y2) = ends[link.name]
            share = shift / (y2 - y1) if plan.shape == "layers" else shift
            positions[link.name] = (x1 + (x2 - x1) * share, y1 + (y2 - y1) * share, link.name)
        queued = plan.shape == "layers" and shift < 0.28 and any(link.has_queue for link in links)
        if not queued and not _overlapping(list(positions.values())):
            return positions
    return {}


def _upwards(end: tuple[float, float]) -> float:
    return end[1]


def _overlapping(texts: list[tuple[float, float, str]]) -> bool:
    """Return whether two of the texts overlap; each is given by x, y and text."""
    boxes = [(x, y, width(text, 6.5) / 2 + 0.03) for x, y, text in texts]
    return any(
        abs(x1 - x2) < half1 + half2 and abs(y1 - y2) < 0.14
        for (x1, y1, half1), (x2, y2, half2) in itertools.combinations(boxes, 2)
    )


def _left_out(ax: Axes, network: Network, plan: Layout) -> None:
    for alike in _parallel(network, plan):
        if len(alike) > _MOST_PARALLEL:
            first, second = (plan.switches[name] for name in alike[0].between or ())
            text = f"and {len(alike) - _MOST_PARALLEL} more, see below"
            write(ax, (first.x + second.x) / 2, min(first.y, second.y) - first.height / 2 - 0.08, text, 6.5)


def _switch(ax: Axes, shown: Shown, name: str, place: Place) -> None:
    node = shown.scenario.network.node(name)
    box(ax, place.x, place.y, place.width, place.height, fill="white" if node.optical else PALE)
    size = fitting(name, place.width - 0.06, NAME, SMALL, 6.0, 5.0) or 4.5
    lines = _kind(shown, name)[: 1 if place.height < 0.6 else 3]
    y = place.y + 0.075 * len(lines)
    write(ax, place.x, y, name, size, bold=True)
    for text in lines:
        y -= 0.155
        smaller = fitting(text, place.width - 0.06, 6.5, 6.0, 5.5, 5.0)
        write(ax, place.x, y, text if smaller else shorten(text, place.width - 0.06, 5.0), smaller or 5.0)


def _kind(shown: Shown, name: str) -> list[str]:
    """Return the lines below a switch's name: how late it acts, or how many pairs have queues in it, or its kind."""
    node = shown.scenario.network.node(name)
    acts = captions.acts(node)
    if acts:
        return acts.split(", ")
    waiting = [
        schedule
        for schedule in shown.scenario.network.schedules
        if schedule.queues and (schedule.pair or ("",))[0] == name
    ]
    if waiting:
        return [f"{len(waiting)} queue{'s' if len(waiting) > 1 else ''}"]
    return captions.kind(shown.scenario, node).split(", ")[:1]


def _hosts(ax: Axes, plan: Layout, symbol: Symbol) -> None:
    place, switch = symbol.place, plan.switches[symbol.at]
    if plan.shape == "row" and abs(place.y - switch.y) <= switch.height / 2 + 0.3 and place.x != switch.x:
        edge = switch.x + switch.width / 2 * (1 if place.x > switch.x else -1)
        y = min(max(place.y, switch.y - switch.height / 2 + 0.06), switch.y + switch.height / 2 - 0.06)
        line(ax, (edge, place.x), (y, place.y), color="#888888", wide=0.8)
    elif plan.shape == "ring":
        line(ax, (switch.x, place.x), (switch.y, place.y), color="#888888", wide=0.8)
    else:
        x = min(max(place.x, switch.x - switch.width / 2 + 0.04), switch.x + switch.width / 2 - 0.04)
        line(ax, (x, place.x), (switch.y - switch.height / 2, place.y), color="#888888", wide=0.8)
    hosts(ax, symbol.hosts, place)


def hosts(ax: Axes, group: tuple[Host, ...], place: Place) -> None:
    """Draw one host, or a stack for several hosts, with their names and number; further lines of hosts are dashed."""
    stacked, owners = len(group) > 1, captions.belonging(group)
    style: Literal["-", "--"] = "--" if owners else "-"
    if stacked:
        for step in (0.07, 0.035):
            x, y = place.x + step, place.y + step
            box(ax, x, y, place.width, place.height, round_=False, fill="white", style=style)
    box(ax, place.x, place.y, place.width, place.height, round_=False, fill="white", style=style)
    if owners:
        top = place.y + place.height / 2 + (0.15 if stacked else 0.08)
        write(ax, place.x, top, owners, 6.0, color="#666666", halo=True)
    name, sizes = compress(host.name for host in group), (SMALL, 6.5, 6.0, 5.5, 5.0, 4.5)
    size = fitting(name, place.width - 0.05, *sizes)
    upright = None if size or place.width < 0.08 else fitting(name, place.height - 0.03, *sizes[2:])
    if upright:
        write(ax, place.x, place.y, name, upright, va="center", rotation=90)
    else:
        write(ax, place.x, place.y, name if size else shorten(name, place.width - 0.05, 4.5), size or 4.5)
    if stacked:
        text = f"{len(group)} {'lines' if owners else 'hosts'}"
        write(ax, place.x, place.y - place.height / 2 - 0.1, text, 6.0, color="#666666", halo=True)


def _number(group: Sequence[Link]) -> str:
    return "1 link" if len(group) == 1 else f"{len(group)} links, each"


def _captions(ax: Axes, network: Network, plan: Layout) -> None:
    """Write rates and delays beside the layers, or below the columns of hosts."""
    cables = captions.alike_hosts(network.hosts)
    if plan.shape == "row":
        _below_columns(ax, plan)
        return
    if plan.shape == "ring":  # the table has them
        return
    texts = "\n".join(_caption(compress(host.name for host in alike), alike[0]) for alike in cables[:3])
    lowest = min(place.y for place in plan.switches.values())
    _margin(ax, lowest - 0.55, texts)
    for level in range(max(plan.levels.values())):
        ends = {level, level + 1}
        links = [link for link in network.links if {plan.levels[end] for end in link.between or ()} == ends]
        low, high = (
            next(plan.switches[n].y for n in plan.switches if plan.levels[n] == layer) for layer in sorted(ends)
        )
        alike = group_by(links, lambda link: (link.rate, link.delay))
        text = "\n".join(_caption(_number(group), group[0]) for group in alike[:3])
        _margin(ax, (low + high) / 2, text)


def _caption(name: str, part: Host | Link) -> str:
    """Return rate and delay below a name; without one, beside the name of the part itself."""
    numbers = f"{captions.short_rate(part)}, {readable(DURATION, part.delay)}"
    beside = f"{part.name}: {numbers}"
    if not name and width(beside, 6.5) <= CAPTIONS:
        return beside
    name = name or part.name
    text = f"{name}\n{numbers}"
    return text if width(name, 6.5) <= CAPTIONS else f"{shorten(name, CAPTIONS, 6.5)}{text[len(name) :]}"


def _margin(ax: Axes, y: float, text: str) -> None:
    write(ax, 0.15, y, text, 6.5, ha="left", color="#555555")


def _below_columns(ax: Axes, plan: Layout) -> None:
    for column in group_by(plan.symbols, lambda symbol: symbol.at):
        column_hosts = [host for symbol in column for host in symbol.hosts]
        lowest = min(symbol.place.y - symbol.place.height / 2 for symbol in column)
        if len(column_hosts) > len(column):
            lowest -= 0.14
        middle = sum(symbol.place.x for symbol in column) / len(column)
        write(ax, middle, lowest - 0.07, cables(column_hosts), 6.5, va="top", color="#555555")


def cables(hosts: Sequence[Host]) -> str:
    """Return rate and delay of the cables of hosts in at most two lines, with the hosts' names if they differ."""
    alike = group_by(hosts, lambda host: (host.rate, host.delay))
    texts = [f"{captions.short_rate(group[0])}, {readable(DURATION, group[0].delay)}" for group in alike]
    if len(alike) > 1:
        named = [f"{compress(host.name for host in group)}: {text}" for group, text in zip(alike, texts, strict=True)]
        texts = [long if width(long, 6.5) <= CABLES else text for long, text in zip(named, texts, strict=True)]
    return "\n".join(texts[:2])
