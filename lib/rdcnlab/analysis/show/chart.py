# SPDX-License-Identifier: Apache-2.0
"""Draw timetables: a row of bars for each flow or schedule at each switch, over an axis of time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle

from rdcnlab.analysis.drawing import Drawing
from rdcnlab.analysis.show.bars import PROGRAM, Bar, Panel, Row, unit_of
from rdcnlab.analysis.show.paint import (
    FAINT,
    INK,
    NAME,
    REFERENCE,
    SMALL,
    WIDTH,
    fitting,
    ink_on,
    ordered_colors,
    shorten,
    width,
)
from rdcnlab.scenario import DARK

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

#: Inches: the column of labels, the margin at the right, a bar, the space between rows, a strip below a bar.
LABELS, RIGHT = 1.95, 0.22
_BAR, _GAP, _STRIP = 0.26, 0.09, 0.15
#: Inches: one link of a way that passes several, which are drawn below each other.
_LANE = 0.17
#: Inches above the rows (title and legend) and below them (ticks and label of the axis; less without an axis).
_TITLE, _LEGEND, _AXIS, _NO_AXIS = 0.27, 0.2, 0.42, 0.08
_DARK: Any = {"facecolor": "#EEEEEE", "edgecolor": "#999999", "hatch": "////", "linewidth": 0.0}


def height(panel: Panel) -> float:
    """Return the height of a panel in inches, including title and axis."""
    bottom = _AXIS if panel.length else _NO_AXIS
    return _header_height(panel) + sum(_row_height(row) for row in panel.rows) + bottom


def _header_height(panel: Panel) -> float:
    """Return the inches above the rows. The legend gets its own line if it has too little space beside the title."""
    inch = (WIDTH - RIGHT - LABELS) / (panel.length or 1)
    handles = _handles(panel, {}, inch)
    wide = sum(width(str(handle.get_label()), SMALL) + 0.45 for handle in handles)
    free = WIDTH - 0.6 - width(panel.title, NAME, bold=True)
    return _TITLE + (_LEGEND if panel.near or wide > free else 0)


def _row_height(row: Row) -> float:
    return _bar_height(row) + _GAP + (_STRIP if row.strip or row.drawn else 0)


def _bar_height(row: Row) -> float:
    return _BAR if row.lanes == 1 else _LANE * row.lanes


def draw(
    figure: Drawing, panel: Panel, colors: Mapping[str, str], top: float, total: float, *,
    left: float = LABELS, right: float = WIDTH - RIGHT, labels: bool = True, legend: bool = True,
) -> Axes:  # fmt: skip
    """Draw a panel.

    Parameters
    ----------
    figure : Drawing
        Figure to draw on.
    panel : Panel
        Panel to draw.
    colors : mapping of str to str
        Colours of links.
    top, total : float
        Distance from the figure's upper edge to the panel's upper edge, and the figure's height, in inches.
    left, right : float
        Distance from the figure's left edge to the left and right end of the axis, in inches.
    labels, legend : bool
        Whether the rows have labels at the left, and whether the panel has a legend. If two panels are side by side,
        the second one has neither.
    """
    rows = sum(_row_height(row) for row in panel.rows)
    bottom = total - top - _header_height(panel) - rows
    origin = panel.marks[0] if panel.near else 0
    ax = figure.add_axes((left / WIDTH, bottom / total, (right - left) / WIDTH, rows / total))
    name, factor = unit_of(panel.length)
    length = panel.length or 1
    ax.set(xlim=(-origin / factor, (length - origin) / factor), ylim=(rows, 0), yticks=[])
    ax.grid(False)
    for side in ("left", "right", "top"):
        ax.spines[side].set_visible(False)
    inch = (right - left) / (length / factor)
    colors = ordered_colors(panel.ordered) if panel.ordered else colors
    y = 0.0
    for row in panel.rows:
        row = _moved(row, -origin)
        for bar in row.bars:
            _bar(ax, bar, colors, (y, _bar_height(row), row.lanes), factor, inch)
        _draw_strip(ax, row, y + _bar_height(row), factor, inch)
        if labels:
            _label(ax, row, y, left)
        y += _row_height(row)
    for mark in panel.marks:
        ax.axvline((mark - origin) / factor, color=INK, linewidth=0.8, linestyle=":", zorder=4)
    title_y = (total - top - 0.5 * _TITLE) / total
    figure.text((0.15 if labels else left) / WIDTH, title_y, panel.title, fontsize=NAME, weight="bold", va="center")
    if panel.length:
        ax.set_xlabel(f"time {'after the change' if panel.near else 'in the cycle'} [{name}]", fontsize=SMALL)
        ax.tick_params(labelsize=SMALL)
    else:
        ax.set_xticks([])
        ax.spines["bottom"].set_visible(False)
    if legend:
        handles = _handles(panel, colors, inch / factor)
        if handles:
            ax.legend(
                handles=handles, loc="lower right", bbox_to_anchor=(1, 1), borderaxespad=0.1, fontsize=SMALL,
                ncols=len(handles), handlelength=1.4, handleheight=0.8, columnspacing=1.2, handletextpad=0.5,
            )  # fmt: skip
    return ax


def _moved(row: Row, shift_ns: int) -> Row:
    """Return a row that is `by` ns later."""
    bars, strip = (
        tuple(replace(bar, begin=bar.begin + shift_ns, end=bar.end + shift_ns) for bar in part)
        for part in (row.bars, row.strip)
    )
    return replace(
        row, bars=bars, strip=strip, drawn=tuple((first + shift_ns, last + shift_ns) for first, last in row.drawn)
    )


def _bar(
    ax: Axes, bar: Bar, colors: Mapping[str, str], rows: tuple[float, float, int], factor: int, inch: float
) -> None:
    """Draw a bar: one lane for each link of a way that passes several; `rows` has top, height and number of lanes."""
    top, height, lanes = rows
    begin, wide = bar.begin / factor, (bar.end - bar.begin) / factor
    if bar.further:
        height /= lanes
    for lane, target in enumerate((bar.target, *bar.further)):
        y = top + lane * height
        patch = Rectangle((begin, y), wide, height, zorder=2, gid="hop" if lane else "slot")
        if target == DARK:
            patch.set(**_DARK)
        elif target == PROGRAM:
            patch.set(facecolor="white", edgecolor=INK, linewidth=0.6)
        else:
            patch.set(facecolor=colors.get(target, FAINT), edgecolor="white", linewidth=0.6)
        ax.add_patch(patch)
        if bar.guard:
            start = (bar.end - bar.guard) / factor
            hatch = Rectangle((start, y), bar.guard / factor, height, zorder=3, gid="guard")
            hatch.set(facecolor="none", edgecolor="white", hatch="....", linewidth=0.0)
            ax.add_patch(hatch)
        text = bar.label if lane == 0 else target
        if bar.further and lane == 0:
            text = " ".join(text.splitlines())  # a lane has room for one line
        space = (wide - bar.guard / factor) * inch - 0.06
        middle = (begin + (wide - bar.guard / factor) / 2, y + height / 2)
        _bar_text(ax, middle, text, space, colors.get(target, "#DDDDDD") if target not in (DARK, PROGRAM) else target)


def _bar_text(ax: Axes, middle: tuple[float, float], label: str, space: float, background: str) -> None:
    """Write the label of a bar, or its first line, if it fits; the background is a colour, `DARK` or `PROGRAM`."""
    color = {DARK: "#EEEEEE", PROGRAM: "white"}.get(background, background)
    for text in dict.fromkeys((label, *label.splitlines()[:1])):
        size = fitting(text, space, SMALL, 6.0, 5.5)
        if size is not None:
            size = min(size, 6.0) if "\n" in text else size
            box = {"facecolor": color, "edgecolor": "none", "pad": 0.8} if background == DARK else None
            ax.text(
                *middle, text, fontsize=size, ha="center", va="center_baseline",
                color=ink_on(color), bbox=box, zorder=5, linespacing=1.0, clip_on=True,
            )  # fmt: skip
            break


def _draw_strip(ax: Axes, row: Row, y: float, factor: int, inch: float) -> None:
    """Draw the strip below the bars: the settings of a queue, or the spans in which an update can take effect."""
    for part in row.strip:
        begin, wide = part.begin / factor, (part.end - part.begin) / factor
        frame = Rectangle((begin, y + 0.015), wide, _STRIP - 0.03, zorder=2, gid="strip")
        frame.set(facecolor="white", edgecolor=REFERENCE, linewidth=0.5)
        ax.add_patch(frame)
        size = fitting(part.label, wide * inch - 0.06, 6.0, 5.5)
        if size is not None:
            ax.text(begin + wide / 2, y + _STRIP / 2, part.label, fontsize=size, ha="center", va="center", zorder=5)
    for first, last in row.drawn:
        span = Rectangle((first / factor, y + 0.03), (last - first) / factor, _STRIP - 0.08, zorder=2, gid="drawn")
        span.set(facecolor=REFERENCE, edgecolor="none")
        ax.add_patch(span)


def _label(ax: Axes, row: Row, y: float, left: float) -> None:
    """Write the two lines of a row's label at the left of its bar."""
    space = left - 0.2
    transform = ax.get_yaxis_transform()
    x = -0.08 / (ax.get_position().width * WIDTH)
    middle = y + _bar_height(row) / 2
    name = shorten(row.label.name, space, SMALL)
    if not row.label.about:
        ax.text(x, middle, name, fontsize=SMALL, ha="right", va="center", transform=transform)
        return
    ax.text(x, middle - 0.065, name, fontsize=SMALL, ha="right", va="center", transform=transform)
    about = shorten(row.label.about, space, 6.0)
    ax.text(x, middle + 0.075, about, fontsize=6.0, ha="right", va="center", transform=transform, color="#666666")


def _handles(panel: Panel, colors: Mapping[str, str], inch: float) -> list[Artist]:
    """Return the legend of the colours and hatches whose meaning is not written in the bars."""
    handles: list[Artist] = []
    bars = [bar for row in panel.rows for bar in row.bars]
    if not panel.ordered:
        lanes = [
            (target, label, (bar.end - bar.begin) * inch - 0.06)
            for bar in bars
            for target, label in zip((bar.target, *bar.further), (bar.label, *bar.further), strict=True)
            if target not in (DARK, PROGRAM)
        ]
        silent = list(dict.fromkeys(target for target, label, space in lanes if fitting(label, space, 5.5) is None))
        handles += [Patch(facecolor=colors.get(target, FAINT), label=target) for target in silent[:6]]
    if any(bar.target == DARK for bar in bars):
        handles.append(Patch(label=DARK, **_DARK))
    if any(bar.guard for bar in bars):
        handles.append(Patch(facecolor=REFERENCE, edgecolor="white", hatch="....", linewidth=0.0, label="guard"))
    if any(row.drawn for row in panel.rows):
        handles.append(Patch(facecolor=REFERENCE, label="when an update may take effect"))
    if panel.marks:
        handles.append(Line2D([], [], color=INK, linewidth=0.8, linestyle=":", label="nominal change"))
    return handles
