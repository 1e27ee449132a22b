# SPDX-License-Identifier: Apache-2.0
"""Draw the circuits of an optical network: for each uplink of each rack, the rack that it leads to, over slots."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING

from matplotlib.patches import Rectangle

from rdcnlab.analysis.drawing import Drawing
from rdcnlab.analysis.show.bars import unit_of
from rdcnlab.analysis.show.paint import (
    FAINT,
    INK,
    NAME,
    SMALL,
    WIDTH,
    fitting,
    ink_on,
    ordered_colors,
    shorten,
    write,
)
from rdcnlab.engines.network.circuits import Circuits, uplinks
from rdcnlab.scenario import Network

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Inches: the column of labels, a row, the title above, ticks and label below, the margin at the right.
_LABELS, _ROW, _TITLE, _AXIS, _RIGHT = 1.0, 0.13, 0.3, 0.4, 0.22
#: Slots and rows that are drawn, at most.
_SLOTS, _ROWS = 40, 64


def height(network: Network) -> float:
    """Return the height in inches of the circuits of a network; 0 if it has none."""
    if network.optics is None:
        return 0.0
    return _TITLE + _ROW * len(_rows(network)) + _AXIS


def draw(figure: Drawing, network: Network, top: float, total: float) -> Axes:
    """Draw the circuits.

    Parameters
    ----------
    figure : Drawing
        Figure to draw on.
    network : Network
        A network with circuits.
    top, total : float
        Distance below the figure's upper edge, and height of the figure, in inches.
    """
    optics = network.optics
    assert optics is not None
    circuits, rows = Circuits.of(network), _rows(network)
    count = min(len(circuits.durations), _SLOTS)
    length = sum(circuits.durations[:count])
    unit, scale = unit_of(length)
    high = _ROW * len(rows)
    ax = figure.add_axes((
        _LABELS / WIDTH, (total - top - _TITLE - high) / total, (WIDTH - _LABELS - _RIGHT) / WIDTH, high / total
    ))  # fmt: skip
    colors = ordered_colors(circuits.racks)
    numbers = {rack: str(number) for number, rack in enumerate(circuits.racks, 1)}
    inch = (WIDTH - _LABELS - _RIGHT) / length
    for index, (rack, link) in enumerate(rows):
        for begin, end, peer in _spans(circuits, rack, link, count):
            color = colors[peer]
            ax.add_patch(Rectangle((begin / scale, index), (end - begin) / scale, 0.92, facecolor=color, linewidth=0))
            size = fitting(numbers[peer], (end - begin) * inch - 0.02, 6.5, 5.0)
            if size is not None:
                write(ax, (begin + end) / 2 / scale, index + 0.46, numbers[peer], size, color=ink_on(color))
    if optics.demand is not None and not circuits.lit():
        write(ax, length / scale / 2, len(rows) / 2, "none before the first decision", SMALL, ha="center", color=INK)
    ax.set(xlim=(0, length / scale), ylim=(len(rows), 0), xlabel=f"time [{unit}]")
    several = len(rows) > len(circuits.racks)
    ax.set_yticks([index + 0.46 for index in range(len(rows))])
    ax.set_yticklabels([f"{rack} {link}" if several else rack for rack, link in rows], fontsize=5.5)
    ax.tick_params(axis="y", length=0, pad=2)
    ax.tick_params(axis="x", labelsize=SMALL)
    if len(optics.slots) == 1:
        ax.set_xticks([])
        ax.set_xlabel("")
    else:
        ax.set_xlabel(f"time [{unit}]", fontsize=SMALL)
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    ax.set_facecolor(FAINT)
    lit = f"{100 * circuits.lit():.0f} % of the time lit"
    still = "they never change" if optics.demand is None else f"on demand, {optics.demand.summary}"
    cycle = still if len(optics.slots) == 1 else f"cycle {optics.cycle / scale:g} {unit}, {lit}"
    left_out = [
        f"{len(circuits.durations) - count} more slots" if count < len(circuits.durations) else "",
        f"{_count(network) - len(rows)} more uplinks" if _count(network) > len(rows) else "",
    ]
    more = ", ".join(text for text in left_out if text)
    title = f"circuits: the rack that each uplink leads to; {cycle}; routing {optics.summary}"
    y = 1 - (top + 0.16) / total
    figure.text(0.15 / WIDTH, y, shorten(title, WIDTH - 0.3, NAME), fontsize=NAME, weight="bold", color=INK)
    if more:
        figure.text(1 - _RIGHT / WIDTH, 1 - (top + height(network) - 0.1) / total, more, fontsize=6.5, ha="right")
    return ax


def _spans(circuits: Circuits, rack: str, link: str, count: int) -> Iterator[tuple[int, int, str]]:
    """Yield begin and end (ns) and the other rack of each circuit of an uplink; equal neighbours are joined."""
    ends = list(itertools.accumulate(circuits.durations[:count]))
    peers = [(slot[rack].get(link), end) for slot, end in zip(circuits.neighbours[:count], ends, strict=True)]
    begin = 0
    for peer, group in itertools.groupby(peers, key=lambda pair: pair[0]):
        end = [last for _, last in group][-1]
        if peer is not None:
            yield begin, end, peer
        begin = end


def _rows(network: Network) -> list[tuple[str, str]]:
    return [(rack, link) for rack, links in uplinks(network).items() for link in links][:_ROWS]


def _count(network: Network) -> int:
    return sum(map(len, uplinks(network).values()))
