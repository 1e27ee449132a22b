# SPDX-License-Identifier: Apache-2.0
"""Draw the throughput of main and migrated flows over time; `rdcnlab_papers.analysis.competition` computes it.

A flow that moves every 50 ms makes a saw-tooth whose teeth are narrower than a line if a whole run is drawn. So each
case has two panels: the whole run in means of whole cycles, and below it three cycles in short bins.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from rdcnlab.analysis import binned, figures, tables, timetables
from rdcnlab.fields.units import NS_PER_MS
from rdcnlab.runs.frame import Runs
from rdcnlab.scenario import DARK, Scenario
from rdcnlab_papers.analysis import competition
from rdcnlab_papers.analysis.competition import mean_curves
from rdcnlab_papers.analysis.rivals import BURSTS, FLOWS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Runs of one scenario, and the time between moves in ms, by the title of the panel.
Cases = Mapping[str, tuple[Runs, int]]
#: A rate [Gb/s] that a paper states and its label, by ``apart`` or ``shared``.
Stated = Mapping[str, tuple[float, str]]
#: Cycles of the lower panel; a cycle is two moves.
_CYCLES = 3
#: The lower panel has so many bins in a slot. With fewer than the least, its teeth would have no shape.
_BINS_OF_SLOT, _LEAST_BINS = 25, 4


def cycle_bin_ms(period_ms: int) -> int:
    """Return the width in ms of bins that hide the saw-tooth: one cycle, and at least 20 ms."""
    return max(20, 2 * period_ms)


def _near_bin_ms(period_ms: int) -> int | None:
    """Return the width in ms of bins that show the saw-tooth; None if the counted bins of 1 ms are too wide for it."""
    width = max(1, period_ms // _BINS_OF_SLOT)
    return width if period_ms >= _LEAST_BINS * width else None


def plot(
    cases: Cases, *, width: float = 2.8, stated: Mapping[str, Stated] | None = None,
    labels: Mapping[str, str] | None = None, each_run: bool = False,
) -> Figure:  # fmt: skip
    """Draw the throughput of the flows over time: the whole runs, and below them three cycles of their middle.

    Parameters
    ----------
    cases : dict of str to (Runs, int)
        Runs of one scenario, and the time between moves in ms, by the title of the panel.
    width : float
        Width of a panel, inch.
    stated : dict of str to (dict of str to (float, str)), optional
        What the paper states, by title and by ``apart`` or ``shared`` (slots with the flows on two links or on one):
        a rate [Gb/s] and its label in the legend.
    labels : dict of str to str, optional
        Names of flows in the legend, if they are not those of `figures.LOOKS`.
    each_run : bool
        Draw one line for each run, because a mean would hide kinds of runs. Otherwise the mean with its interval.
    """
    names = {flow: (labels or {}).get(flow, figures.look(flow).label) for flow in (*FLOWS, BURSTS)}
    line_rate = next(iter(cases.values()))[0][0].scenario.network.links[0].rate / 1e9
    highest = 0.0
    with figures.style():
        figure = figures.drawing(width * len(cases), 4.4)
        grid = figure.subplots(2, len(cases), sharex=False, sharey="row", squeeze=False)
        for (title, (runs, period_ms)), whole, near in zip(cases.items(), *grid, strict=True):
            stats = _curves(runs, cycle_bin_ms(period_ms), each_run=each_run)
            _draw(whole, stats, names)
            figures.reference(whole, line_rate / 2, "half the line rate")
            whole.set(title=title, xlabel="time [s]", xlim=(0, 1.02 * float(stats["t_s"].max())))
            near.set_label(f"{title}, three cycles")
            highest = max(highest, _draw_near(near, runs, period_ms, names, (stated or {}).get(title, {}), each_run))
        for ax, words in zip(grid[:, 0], ("mean of a cycle", "three cycles"), strict=True):
            tops = [panel.dataLim.ymax for panel in ax.get_shared_y_axes().get_siblings(ax)]
            # a flow can be faster than a link for some ms, and then the axis is higher, so that nothing is clipped
            highest_drawn = max(filter(math.isfinite, tops), default=line_rate)
            ax.set(ylabel=f"throughput,\n{words} [Gb/s]", ylim=(0, max(1.08 * line_rate, 1.03 * highest_drawn)))
        figures.legend_of_all(figure, grid.flat)
        if highest > 1.01 * line_rate:
            figures.note(
                figure,
                f"Above {line_rate:g} Gb/s: after a move the queue of the old link empties while the new link is "
                "already in use.",
            )
    return figure


def _curves(runs: Runs, width_ms: int, *, each_run: bool) -> pd.DataFrame:
    """Return rates in the middle of bins: ``flow``, ``t_s``, ``mean``, ``low``, ``high``, and ``run`` for each run."""
    if each_run:
        rates = binned.rates(runs.throughput, competition.counted_bin(runs), width_ms * NS_PER_MS)
        rates = rates.assign(mean=rates["rate_bps"], low=rates["rate_bps"], high=rates["rate_bps"])
    else:
        rates = mean_curves(runs, width_ms * NS_PER_MS).assign(run=0)
    return rates.assign(t_s=rates["t_s"] + width_ms / 2e3)


def _draw(ax: Axes, stats: pd.DataFrame, names: Mapping[str, str], time: str = "t_s") -> None:
    """Draw the rates of the flows in Gb/s: a line with a band, or a thin line for each run."""
    for flow, label in names.items():
        of_flow = stats[stats["flow"] == flow]
        several = of_flow["run"].min() < of_flow["run"].max()
        for number, (_, of_run) in enumerate(tables.groups(of_flow, ["run"])):
            figures.band(
                ax, of_run, time, flow, scale=1e-9, width=0.6 if several else 1.0, alpha=0.4 if several else 1.0,
                label="" if number else label,
            )  # fmt: skip


def _draw_near(ax: Axes, runs: Runs, period_ms: int, names: Mapping[str, str], stated: Stated, each_run: bool) -> float:
    """Draw three cycles from the middle of the time in which both flows run; return the highest rate in Gb/s."""
    width_ms, cycle_ms = _near_bin_ms(period_ms), 2 * period_ms
    if width_ms is None:
        message = f"bins of 1 ms are too wide\nfor slots of {period_ms} ms"
        ax.text(0.5, 0.5, message, ha="center", va="center", transform=ax.transAxes, color="#555555")
        ax.set_axis_off()
        return 0.0
    ends = runs.flows[runs.flows["flow"].isin(FLOWS)].groupby("run")["end_s"].min()
    middle_ms = 500 * float(ends.min()) if ends.notna().any() else runs[0].scenario.limit / 2e6
    begin = max(0, int(middle_ms) // cycle_ms - 1) * cycle_ms
    end = begin + _CYCLES * cycle_ms
    for state, first, last in _states(runs[0].scenario, begin, end):
        if state in ("shared", "dark"):
            look: dict[str, Any] = {"facecolor": figures.REFERENCE, "edgecolor": "none", "alpha": 0.2}
            if state == "dark":
                look = {"facecolor": "none", "edgecolor": figures.REFERENCE, "alpha": 0.4, "hatch": "////"}
            label = {"shared": "both on one link", "dark": "migrated flow dark"}[state]
            ax.axvspan(first, last, **look, linewidth=0, label=label)
        if state in stated:
            rate, label = stated[state]
            ax.plot([first, last], [rate] * 2, color="black", linewidth=1.2, linestyle="--", label=label, zorder=4)
    stats = _curves(runs, width_ms, each_run=each_run)
    stats = stats.assign(t_ms=stats["t_s"] * 1e3)
    stats = stats[stats["t_ms"].between(begin, end)]
    _draw(ax, stats, names, "t_ms")
    ax.set(xlabel="time [ms]", xlim=(begin, end), xticks=np.linspace(begin, end, _CYCLES, endpoint=False))
    return float(stats["mean"].max()) / 1e9


def _states(scenario: Scenario, begin_ms: int, end_ms: int) -> list[tuple[str, float, float]]:
    """Return the spans of ``shared``, ``apart`` and ``dark`` in a part of a run, with begin and end in ms."""
    begin, end = begin_ms * NS_PER_MS, end_ms * NS_PER_MS
    edges = np.union1d([begin], [t for flow in FLOWS for t in timetables.changes(scenario, flow, begin, end)])
    dark = timetables.targets(scenario, "migrated", edges) == DARK
    states = np.where(dark, "dark", np.where(timetables.together(scenario, *FLOWS, edges), "shared", "apart"))
    firsts = np.flatnonzero(np.r_[True, states[1:] != states[:-1]])
    instants = np.append(edges[firsts], end) / NS_PER_MS
    return [
        (str(states[index]), float(first), float(last))
        for index, first, last in zip(firsts, instants[:-1], instants[1:], strict=True)
    ]


def plot_groups(cases: Cases, *, columns: int, width: float) -> Figure:
    """Draw each flow's mean throughput over time, and in bold the mean of each group's flows.

    The dotted line is one flow's share of a link if the groups are on different links.

    Parameters
    ----------
    cases : dict of str to (Runs, int)
        Runs of one scenario and the time between moves in ms, by the title of the panel.
    columns : int
        Panels in a row.
    width : float
        Width of a panel, inch.
    """
    with figures.style():
        figure, axes = figures.panels(-(-len(cases) // columns), columns, width=width)
        every = [ax for row in axes for ax in row]
        for ax in every[len(cases) :]:
            ax.set_axis_off()  # the last row of the grid may have free places
        for ax, (title, (runs, period_ms)) in zip(every, cases.items(), strict=False):
            # 5 ms show single slots of 50 ms; shorter ones would make a solid block
            width_ms = 5 if period_ms >= 50 else cycle_bin_ms(period_ms)
            stats = mean_curves(runs, width_ms * NS_PER_MS)
            for (group,), of_group in tables.groups(stats.assign(group=stats["flow"].map(tables.role)), ["group"]):
                color = figures.look(group).color
                for _, of_flow in tables.groups(of_group, ["flow"]):
                    ax.plot(of_flow["t_s"], of_flow["mean"] / 1e9, color=color, alpha=0.25, linewidth=0.6)
                mean = of_group.groupby("t_s")["mean"].mean() / 1e9
                ax.plot(mean.index, mean, color=color, label=f"{group} flows, mean")
            scenario = runs[0].scenario
            line_rate = scenario.network.links[0].rate / 1e9
            figures.reference(ax, 2 * line_rate / len(scenario.flows), "share of a link, apart")
            ax.set_title(title)
        for ax in axes[-1]:
            ax.set_xlabel("time [s]")
        for ax in axes[:, 0]:
            ax.set_ylabel("throughput [Gb/s]")
        figures.legend(figure, axes[0, 0])
    return figure
