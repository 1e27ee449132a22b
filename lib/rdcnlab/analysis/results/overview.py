# SPDX-License-Identifier: Apache-2.0
"""The picture of one run over time: its timetables and programs, the rates and windows of its flows, the queues."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from rdcnlab.analysis import figures, palettes, tables
from rdcnlab.analysis.results import programs
from rdcnlab.analysis.results.lanes import name_rows
from rdcnlab.analysis.results.reduce import envelope, extremes
from rdcnlab.analysis.results.series import Queue, Series, Slot, queue_name, total
from rdcnlab.analysis.show.paint import ink_on
from rdcnlab.fields.errors import InputError
from rdcnlab.runs.run import Run
from rdcnlab.scenario import DARK

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rdcnlab.analysis.drawing import Drawing

Floats = npt.NDArray[np.float64]

#: Size in inches: the width, and the height of a panel and of a row of a timetable.
WIDTH, PANEL, ROW = 7.4, 1.45, 0.17
#: Most flows that have a line each, most timetables, and most queues.
MOST_FLOWS, MOST_TIMETABLES, MOST_QUEUES = 8, 6, 4
#: Most groups of bins in the picture, and most points of a window: more than it has pixels of ink.
_BINS, _POINTS = 450, 4000
#: A span narrower than this share of the picture is not shaded, because it would not be seen.
_NARROWEST = 1 / 400


def overview(run: Run, *, span_ms: tuple[float, float] | None = None, sequence: bool = False) -> Drawing:
    """Draw a run over time; see `rdcnlab.runs.run.Run.plot`."""
    series = Series(run)
    series.check_traffic()
    begin, end = _span(span_ms, series)
    rows = dict(list(series.timetables.items())[:MOST_TIMETABLES])
    quantities = [_delivered if sequence else _rates, _windows, _queues]
    has = [bool(series.rates), bool(series.windows), bool(series.queues)]
    drawn = [draw for draw, exists in zip(quantities, has, strict=True) if exists]
    more = len(series.timetables) - len(rows)
    ran = series.programs
    counts = [len(rows) + bool(more), min(len(ran), programs.MOST + 1)]
    lanes = [ROW * count + 0.08 for count in counts if count]
    heights = lanes + [PANEL * (1.25 if not index else 1) for index in range(len(drawn))]
    with figures.style():
        figure = figures.drawing(WIDTH, sum(heights) + 0.95)
        panels = list(figure.subplots(len(heights), 1, sharex=True, height_ratios=heights, squeeze=False).ravel())
        if rows:
            _timetables(panels[0], rows, series, (begin, end), more)
        if ran:
            programs.draw(panels[len(lanes) - 1], ran, (begin, end), WIDTH - 1.2)
        for ax, draw in zip(panels[len(lanes) :], drawn, strict=True):
            draw(ax, series, (begin, end))
            _shade(ax, series, end - begin)
            ax.set_ylim(bottom=0)
        panels[-1].set_xlabel("time [ms]" if series.fold_s is None else "time within the folded span [ms]")
        panels[-1].set_xlim(begin * 1e3, end * 1e3)
        if not figures.in_column():
            panels[0].set_title(_title(series), fontsize=8, loc="left")
        if series.rates:
            figures.legend(figure, panels[len(lanes)], columns=6)
        figure.align_ylabels(panels)
    return figure


def _span(span_ms: tuple[float, float] | None, series: Series) -> tuple[float, float]:
    if span_ms is None:
        return 0.0, series.end_s
    begin, end = (float(value) / 1e3 for value in span_ms)
    if not 0 <= begin < end or begin >= series.end_s:
        raise InputError.of(
            "span_ms", span_ms, f"two rising times in ms, the first before the end at {series.end_s * 1e3:.6g} ms"
        )
    return begin, end


def _title(series: Series) -> str:
    scenario, run = series.scenario, series.run
    title = f"{scenario.network.name}, seed {scenario.seed}, run {run.id[:12]}"
    if series.fold_s is not None:
        title += f"\neach bin is the mean over all spans of {series.fold_s * 1e3:g} ms"
    if series.missing:
        title += f"\nthe shipped run has no table {', '.join(series.missing)}"
    return title


def _timetables(ax: Axes, rows: Mapping[str, list[Slot]], series: Series, span: tuple[float, float], more: int) -> None:
    """Draw one row for each flow or schedule that changes; a bar is the time on one link, in either direction.

    A row without bars says how many timetables are not drawn. Triangles are the decisions of a controller.
    """
    lanes = {
        name: [replace(slot, target=slot.target.partition("@")[0]) for slot in slots] for name, slots in rows.items()
    }
    colors = series.link_colors | {DARK: palettes.NIGHT}
    length = span[1] - span[0]
    named: set[str] = set()
    for index, slots in enumerate(lanes.values()):
        seen = [slot for slot in slots if slot.end_s > span[0] and slot.begin_s < span[1]]
        for target in dict.fromkeys(slot.target for slot in seen):
            spans = [(slot.begin_s * 1e3, (slot.end_s - slot.begin_s) * 1e3) for slot in seen if slot.target == target]
            color = colors.get(target, figures.REFERENCE)
            label = None if target in named else target
            named.add(target)
            ax.broken_barh(spans, (index - 0.4, 0.8), facecolor=color, edgecolor="none", label=label)
        for slot in seen:
            begin, end = max(slot.begin_s, span[0]), min(slot.end_s, span[1])
            # about 0.075 in for each letter
            if (end - begin) / length * (WIDTH - 1.2) > 0.075 * len(slot.target) and slot.target != DARK:
                ink = ink_on(colors.get(slot.target, figures.REFERENCE))
                ax.text((begin + end) * 500, index, slot.target, ha="center", va="center", fontsize=6, color=ink)
    decided = series.decisions_s[(series.decisions_s >= span[0]) & (series.decisions_s <= span[1])]
    if len(decided):
        above: dict[str, Any] = {"transform": ax.get_xaxis_transform(), "clip_on": False}
        ax.plot(decided * 1e3, np.ones(len(decided)), "v", color="#333333", markersize=3.5, label="decision", **above)
    name_rows(ax, rows, more)
    links = ax.get_legend_handles_labels()[0]
    if len(links) > 1:
        figures.legend_above(ax, right=True)


def _shade(ax: Axes, series: Series, length: float) -> None:
    """Shade nights; without nights, every other span of the first timetable, if spans are wide enough to be seen."""
    nights = [span for span in series.nights if span[1] - span[0] > length * _NARROWEST]
    if nights:
        _spans(ax, nights, 0.25)
        return
    for slots in series.timetables.values():
        usual = (slots[0].target, DARK)
        moved = [(slot.begin_s, slot.end_s) for slot in slots if slot.target not in usual]
        if moved and min(end - begin for begin, end in moved) > length * _NARROWEST:
            _spans(ax, moved, 0.13)
        return


def _spans(ax: Axes, spans: list[tuple[float, float]], alpha: float) -> None:
    for begin, end in spans:
        ax.axvspan(begin * 1e3, end * 1e3, color=figures.REFERENCE, alpha=alpha, linewidth=0, zorder=0)


def _lines(values: Mapping[str, Floats], colors: Mapping[str, str]) -> dict[str, tuple[Floats, str]]:
    """Return the values of each flow with its colour, or of groups of flows if there are too many."""
    if len(values) <= MOST_FLOWS:
        return {flow: (series, colors[flow]) for flow, series in values.items()}
    groups: dict[str, list[Floats]] = {}
    for flow, series in values.items():
        groups.setdefault(tables.role(flow), []).append(series)
    if len(groups) > MOST_FLOWS:
        groups = {"all flows": [series for group in groups.values() for series in group]}
    palette = list(dict.fromkeys(colors.values()))
    return {
        f"{name} ({len(group)} flows)": (total(group), palette[index % len(palette)])
        for index, (name, group) in enumerate(groups.items())
    }


def _curve(ax: Axes, values: Floats, series: Series, span: tuple[float, float], look: Mapping[str, Any]) -> None:
    """Draw a value of each bin; if several bins are joined, their mean, and a band from the least to the largest."""
    first, last = int(span[0] / series.bin_s), min(len(values), int(np.ceil(span[1] / series.bin_s)) + 1)
    joined = envelope(values[first:last], series.bin_s * 1e3, _BINS)
    edges = joined.t + first * series.bin_s * 1e3
    ax.stairs(joined.mean, edges, baseline=None, linewidth=1.0, **look)
    if not joined.exact:
        color = look["color"]
        ax.fill_between(
            edges, np.append(joined.low, joined.low[-1:]), np.append(joined.high, joined.high[-1:]), step="post",
            color=color, alpha=0.2, linewidth=0,
        )  # fmt: skip


def _rates(ax: Axes, series: Series, span: tuple[float, float]) -> None:
    for name, (values, color) in _lines(series.rates, series.colors).items():
        _curve(ax, values, series, span, {"color": color, "label": name})
    ax.set_ylabel(f"{series.rate_name}\n[Gb/s]")


def _delivered(ax: Axes, series: Series, span: tuple[float, float]) -> None:
    name, flows = series.delivered
    for label, (values, color) in _lines(flows, series.colors).items():
        t_ms = np.arange(1, len(values) + 1) * series.bin_s * 1e3
        inside = (t_ms >= span[0] * 1e3) & (t_ms <= span[1] * 1e3)
        ax.plot(t_ms[inside], values[inside] / 1e6, color=color, label=label, linewidth=1.0)
    ax.set_ylabel(name.replace(", ", ",\n") + "\n[MB]")


def _windows(ax: Axes, series: Series, span: tuple[float, float]) -> None:
    many = len(series.windows) > MOST_FLOWS
    for flow, (t_s, window) in series.windows.items():
        # one more on each side, so that the line reaches the edges
        first, last = np.searchsorted(t_s, span)
        inside = np.arange(max(first - 1, 0), min(last + 1, len(t_s)))
        kept = inside[extremes(window[inside], _POINTS)]
        color = figures.REFERENCE if many else series.colors[flow]
        ax.step(t_s[kept] * 1e3, window[kept] / 1e3, where="post", color=color, linewidth=0.5 if many else 0.9)
    ax.set_ylabel("congestion\nwindow [kB]" + (f"\n({len(series.windows)} flows)" if many else ""))


def _queues(ax: Axes, series: Series, span: tuple[float, float]) -> None:
    """Draw the fullest queues, and one line for the others: the largest of them in each bin."""
    filled = [link for link in series.fullest if series.queues[link].max_B.any()] or series.fullest[:1]
    used = [link for link in filled if series.queues[link].max_B.max() > 0.05 * _peak(series)][:MOST_QUEUES] or filled
    others = [link for link in filled if link not in used]
    if len(others) == 1 and len(used) < MOST_QUEUES:
        used, others = filled, []
    dashes = iter(("--", ":", "-.", "-"))
    if others:
        name = f"the fullest of {len(others)} others" if len(others) > 1 else queue_name(others[0])
        look = {"color": figures.REFERENCE, "label": name}
        _queue(ax, series, _largest([series.queues[link] for link in others]), span, look)
    for link in sorted(used):
        color = series.link_colors.get(link.partition("@")[0])
        look = {"color": "#333333", "linestyle": next(dashes)} if color is None else {"color": color}
        _queue(ax, series, series.queues[link], span, look | {"label": queue_name(link)})
    limits = {series.limits_B.get(link) for link in used}
    limit = limits.pop() if len(limits) == 1 else None
    if limit is not None and _peak(series) > 0.5 * limit:
        figures.reference(ax, limit / 1e3, "limit of the queue")
    _rugs(ax, series, span)
    ax.set_ylabel("queue [kB]")
    figures.legend_above(ax)


def _largest(queues: list[Queue]) -> Queue:
    """Return a queue that is as long as the longest of some queues in each bin."""
    return Queue(*(np.max([getattr(queue, field.name) for queue in queues], axis=0) for field in fields(Queue)))


def _peak(series: Series) -> float:
    return max(float(queue.max_B.max()) for queue in series.queues.values())


def _queue(ax: Axes, series: Series, queue: Queue, span: tuple[float, float], look: Mapping[str, Any]) -> None:
    """Draw the mean length of a queue, and a band up to its largest length."""
    first, last = int(span[0] / series.bin_s), min(len(queue.max_B), int(np.ceil(span[1] / series.bin_s)) + 1)
    mean = envelope(queue.mean_B[first:last] / 1e3, series.bin_s * 1e3, _BINS)
    most = envelope(queue.max_B[first:last] / 1e3, series.bin_s * 1e3, _BINS)
    edges = mean.t + first * series.bin_s * 1e3
    ax.stairs(mean.mean, edges, baseline=None, linewidth=1.0, **look)
    ax.fill_between(
        edges, 0, np.append(most.high, most.high[-1:]), step="post", color=look["color"], alpha=0.12, linewidth=0
    )


def _rugs(ax: Axes, series: Series, span: tuple[float, float]) -> None:
    """Draw a tick at each loss above the queue, and below it one in each bin that marked packets."""
    lost = series.losses["t_ns"].to_numpy(np.float64) / 1e9
    marked = np.zeros(1)
    for queue in series.queues.values():
        size = max(len(marked), len(queue.marks))
        marked = np.pad(marked, (0, size - len(marked))) + np.pad(queue.marks, (0, size - len(queue.marks)))
    rugs = {
        "losses": (lost, palettes.LOST, 0.93),
        "bins with ECN marks": (np.flatnonzero(marked) * series.bin_s, palettes.MARKED, 0.84),
    }
    for name, (t_s, color, height) in rugs.items():
        inside = np.unique(np.round(t_s[(t_s >= span[0]) & (t_s <= span[1])] / (span[1] - span[0]) * 4000))
        if len(inside):
            at = inside / 4000 * (span[1] - span[0]) * 1e3
            ax.plot(
                at, np.full(len(at), height), "|", color=color, markersize=5, markeredgewidth=0.6, label=name,
                transform=ax.get_xaxis_transform(),
            )  # fmt: skip
