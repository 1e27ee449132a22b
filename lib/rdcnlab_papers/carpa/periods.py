# SPDX-License-Identifier: Apache-2.0
"""Common parts of figures 8 to 11: a single flow that is rerouted periodically, by RTT and period. Sec. IV-D."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, ClassVar, Self

import pandas as pd

from rdcnlab.analysis import figures
from rdcnlab.analysis.intervals import Estimate
from rdcnlab.runs.frame import Runs
from rdcnlab.scenario import Scenario
from rdcnlab_papers.analysis import rerouting
from rdcnlab_papers.analysis.measured import means
from rdcnlab_papers.carpa.space import (
    CALIBRATED,
    CALIBRATED_EXTRA_MS,
    CALIBRATED_RTT_MS,
    EXTRA_MS,
    QUICK_VOLUME,
    VOLUME,
    Milliseconds,
    Periods,
    Rtts,
    single,
)
from rdcnlab_papers.items.item import Item

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Periods in s by profile: from 0.1 to 15 s, with those that the text names.
_PERIODS = {
    "quick": (0.1, 0.6, 2.0, 8.0, 15.0),
    "paper": (0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0, 12.0, 14.0, 15.0),
}
#: Sec. IV-D: the baseline is the mean of 20 experiments.
_BASELINES = {"quick": 2, "paper": 20}


class Periodic(Item):
    """The throughput of a single flow by period and RTT.

    Parameters
    ----------
    rtts_ms : tuple of int or None
        RTTs of the shorter path; None: those of the figure, in its column.
    periods_s : tuple of float or None
        Times between moves; None: those of the profile.
    extra_ms : int or None
        RTT of the longer path minus that of the shorter path; None: that of the column.
    """

    runs_of_profile: ClassVar[dict[str, int]] = {"quick": 1, "paper": 5}

    #: Periods in s of the claims that state a share of the throughput without rerouting.
    stated_ratios: ClassVar[dict[str, float]] = {}

    rtts_ms: Rtts | None = None
    periods_s: Periods | None = None
    extra_ms: Milliseconds | None = None

    @property
    def rtts(self) -> tuple[int, ...]:
        """RTTs of the shorter path in ms."""
        return (CALIBRATED_RTT_MS,) if self.rtts_ms is None else self.rtts_ms

    @property
    def periods(self) -> tuple[float, ...]:
        """Times between moves in s."""
        return _PERIODS[self.profile] if self.periods_s is None else self.periods_s

    @property
    def baselines(self) -> int:
        """Number of runs without rerouting."""
        return _BASELINES[self.profile] if self.seeds is None else self.seeds

    def point(self, rtt_ms: int, period_s: float | None, seed: int, **changes: Any) -> Scenario:
        """Return one scenario."""
        size = VOLUME if self.profile == "paper" else QUICK_VOLUME
        extra = EXTRA_MS if self.extra_ms is None else self.extra_ms
        # nothing passes the longer path without rerouting, so all columns share these runs
        if self.extra_ms is None and self.column == CALIBRATED and period_s is not None:
            extra = CALIBRATED_EXTRA_MS
        return single(rtt_ms, period_s, seed=seed, extra_ms=extra, size=size, **changes)

    def as_older(self, **parameters: Any) -> Self:
        """Return the experiment of the calibrated column: the same as Linux 4.4."""
        return self.with_parameters(profile=self.profile, column="4.4", extra_ms=CALIBRATED_EXTRA_MS, **parameters)

    def points(self) -> list[Scenario]:
        """Return all periods and the baseline, at every RTT."""
        moved = [self.point(r, p, seed) for r in self.rtts for p in self.periods for seed in range(self.count)]
        return moved + [self.point(rtt, None, seed) for rtt in self.rtts for seed in range(self.baselines)]

    def of_rtt(self, runs: Runs, rtt_ms: int) -> Runs:
        """Return the runs with an RTT."""
        delay = rtt_ms * 500_000
        return runs.select(lambda scenario: scenario.network.link("access1").delay == delay)

    def moved(self, runs: Runs, rtt_ms: int) -> dict[float, Runs]:
        """Return the runs with an RTT by period in s."""
        rtt_runs = self.of_rtt(runs, rtt_ms)
        return {period: rtt_runs.select(functools.partial(_has_period, period)) for period in self.periods}

    def still(self, runs: Runs, rtt_ms: int) -> Runs:
        """Return the runs with an RTT and without rerouting."""
        return self.of_rtt(runs, rtt_ms).select(lambda scenario: not scenario.flows[0].slots)

    def throughput(self, runs: Runs, rtt_ms: int) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Return the throughput by period, and that without rerouting; see `rerouting.throughput`."""
        rerouting.rates_of_flows(runs)  # of all runs at once; those of a case are selected from them
        moved = {period: period_runs for period, period_runs in self.moved(runs, rtt_ms).items() if len(period_runs)}
        return rerouting.throughput(moved, "period_s"), rerouting.throughput(
            {0.0: self.still(runs, rtt_ms)}, "period_s"
        )

    def ratios(self, runs: Runs, rtt_ms: int) -> dict[float, Estimate]:
        """Return the mean throughput by period over that without rerouting."""
        return rerouting.ratios(*self.throughput(runs, rtt_ms), "period_s")  # type: ignore[return-value]

    def plot(self, runs: Runs) -> Figure:
        """Draw the throughput over the period, a panel for each RTT: means, and the smallest and largest run."""
        with figures.style():
            figure, axes = figures.panels(1, len(self.rtts), width=3.2, height=2.8)
            for ax, rtt in zip(axes[0], self.rtts, strict=True):
                rates, static = self.throughput(runs, rtt)
                grouped = rates.groupby("period_s")["mbps"]
                mean = grouped.mean()
                error = [mean - grouped.min(), grouped.max() - mean]
                look = figures.look("cubic")
                label = "rerouted (mean, least, most)"
                ax.errorbar(
                    mean.index, mean, yerr=error, marker=look.marker, markersize=3, color=look.color, label=label
                )
                figures.reference(ax, float(means(static, "period_s", "mbps")["mean"].iloc[0]), "not rerouted")
                for claim, period in self.stated_ratios.items():
                    words = "paper: share of not rerouted" if period == min(self.stated_ratios.values()) else None
                    rate = self.stated(claim) * float(means(static, "period_s", "mbps")["mean"].iloc[0])
                    ax.plot(period, rate, "D", color="#333333", markerfacecolor="none", markersize=5, label=words)
                ax.set(title=f"RTT {rtt} ms", xlabel="time between moves [s]", xscale="log", ylim=(0, 100))
            axes[0, 0].set(ylabel="throughput [Mb/s]")
            figures.legend(figure, axes[0, 0])
        return figure


def _has_period(period_s: float, scenario: Scenario) -> bool:
    return scenario.flows[0].period == round(period_s * 1e9)
