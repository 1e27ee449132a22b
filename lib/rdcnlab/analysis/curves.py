# SPDX-License-Identifier: Apache-2.0
"""Draw the throughput of main and migrated flows over time; `rdcnlab.analysis.competition` computes it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from rdcnlab.analysis import figures, tables
from rdcnlab.analysis.competition import mean_curves
from rdcnlab.analysis.rivals import BURSTS, FLOWS
from rdcnlab.fields.units import NS_PER_MS
from rdcnlab.runs.frame import Runs

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def bin_ms(period_ms: int) -> int:
    """Return the width in ms of the bins of a drawn curve.

    It is 5 ms. If a slot is shorter than ten such bins, it is one cycle, and at least 20 ms. A curve that oscillates
    faster than a panel can show would look like a filled area.
    """
    return 5 if period_ms >= 50 else max(20, 2 * period_ms)


def plot(cases: Mapping[str, tuple[Runs, int]], *, columns: int | None = None, width: float = 2.8) -> Figure:
    """Draw the mean throughput of the flows over time with its interval, and half the rate of a link.

    Parameters
    ----------
    cases : dict of str to (Runs, int)
        Runs of one scenario and the width of a bin in ms, by the title of the panel.
    columns : int, optional
        Panels in a row; by default there is one row.
    width : float
        Width of a panel, inch.
    """

    def draw_panel(ax: Axes, title: str) -> None:
        runs, width_ms = cases[title]
        stats = mean_curves(runs, width_ms * NS_PER_MS)
        for flow in (*FLOWS, BURSTS):
            if (stats["flow"] == flow).any():
                figures.band(ax, stats[stats["flow"] == flow], "t_s", flow, scale=1e-9)
        rate = runs[0].scenario.network.links[0].rate / 1e9
        figures.reference(ax, rate / 2, "half the line rate")
        ax.set_ylim(0, 1.08 * rate)

    return panels(list(cases), draw_panel, columns=columns, width=width)


def plot_groups(cases: Mapping[str, tuple[Runs, int]], *, columns: int, width: float) -> Figure:
    """Draw each flow's mean throughput over time, and in bold the mean of each group's flows.

    The dotted line is one flow's share of a link if the groups are on different links.

    Parameters
    ----------
    cases : dict of str to (Runs, int)
        Runs of one scenario and the width of a bin in ms, by the title of the panel.
    columns : int
        Panels in a row.
    width : float
        Width of a panel, inch.
    """

    def draw_panel(ax: Axes, title: str) -> None:
        runs, width_ms = cases[title]
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

    return panels(list(cases), draw_panel, columns=columns, width=width)


def panels(
    titles: Sequence[str], draw: Callable[[Axes, str], None], *, columns: int | None = None, width: float = 2.8
) -> Figure:
    """Draw throughput over time, one panel for each title, row by row.

    Parameters
    ----------
    titles : sequence of str
        Titles of the panels.
    draw : callable
        Draws the panel of a title.
    columns : int, optional
        Panels in a row; by default there is one row.
    width : float
        Width of a panel, inch.
    """
    columns = min(columns or len(titles), len(titles))
    with figures.style():
        figure, axes = figures.panels(-(-len(titles) // columns), columns, width=width)
        for ax, title in itertools.zip_longest([ax for row in axes for ax in row], titles):
            if title is None:
                ax.set_axis_off()  # the last row of the grid may have free places
                continue
            draw(ax, title)
            ax.set_title(title)
        for ax in axes[-1]:
            ax.set_xlabel("time [s]")
        for ax in axes[:, 0]:
            ax.set_ylabel("throughput [Gb/s]")
        figures.legend(figure, axes[0, 0])
    return figure
