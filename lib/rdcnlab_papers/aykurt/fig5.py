# SPDX-License-Identifier: Apache-2.0
"""Figure 5: congestion windows of the two CUBIC flows. Sec. V-B."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

import pandas as pd

from rdcnlab.analysis import figures, tables
from rdcnlab.analysis.intervals import estimates, over_seeds
from rdcnlab.fields.units import NS_PER_MS
from rdcnlab.runs.frame import Runs
from rdcnlab.runs.parts import Part
from rdcnlab.scenario import Scenario
from rdcnlab_papers.analysis import rivals, windows
from rdcnlab_papers.analysis.measured import Measured, means
from rdcnlab_papers.aykurt.space import Periods, Variant, Volume, grid
from rdcnlab_papers.items.causes import Cause
from rdcnlab_papers.items.item import Item

if TYPE_CHECKING:
    from matplotlib.figure import Figure


#: Longest period in ms at which the paper's migrated flow ends later than the main flow (Sec. V-B).
_BEHIND_MS = 25
#: Further seeds of the pair at 50 ms in a column whose ten left open where its peaks are (docs/decisions/audit.md).
_FURTHER = {"4.15": 60}


class Fig5(Item):
    """Windows of main and migrated flow at every period, and the window of a single flow.

    Parameters
    ----------
    cc : str
        Variant of all flows.
    periods_ms : tuple of int
        Periods.
    size, single_size : str
        Volume of each of the two flows, and of the single flow.
    """

    reads: ClassVar[tuple[str, ...]] = ("flows", "tcp")
    parts: ClassVar[dict[str, Part]] = {"tcp": Part(("t_ns", "flow", "cwnd_B"), tick=1000)}

    cc: Variant = "cubic"
    periods_ms: Periods = (50, 25, 10, 1)
    size: Volume = "2 GB"
    single_size: Volume = "4 GB"

    def points(self) -> list[Scenario]:
        """Return the single flow, and the pair at every period, for each seed."""
        single = grid(cc=self.cc, flows=1, size=self.single_size, seed=range(self.count))
        pairs = grid(cc=self.cc, period_ms=self.periods_ms, size=self.size, seed=range(self.count))
        further = range(self.count, self.count + self._further)
        return single + pairs + grid(cc=self.cc, period_ms=50, size=self.size, seed=further)

    @property
    def _further(self) -> int:
        asked = self.profile == "paper" and self.seeds is None and 50 in self.periods_ms
        return _FURTHER.get(self.column, 0) if asked else 0

    def plot(self, runs: Runs) -> Figure:
        """Draw the mean windows over time, with the single flow's behind the pair's, one panel for each period."""
        samples = windows.sample(runs, 5 * NS_PER_MS)
        stats = tables.mean_ci(samples, ["period_ms", "flow", "t_s"], "cwnd_B")
        with figures.style():
            figure, axes = figures.panels(1, len(self.periods_ms), width=2.8)
            for ax, period in zip(axes[0], self.periods_ms, strict=True):
                figures.band(ax, stats[stats["flow"] == "single"], "t_s", "single", scale=1e-3)
                for flow in rivals.FLOWS:
                    chosen = stats[(stats["period_ms"] == period) & (stats["flow"] == flow)]
                    figures.band(ax, chosen, "t_s", flow, scale=1e-3)
                figures.reference(ax, self.stated("largest-window"), "paper: single flow")
                ax.set(title=f"period {period} ms", xlabel="time [s]")
            # the intervals of few runs reach far below zero and above the size of the buffer
            top = 1.2 * float(stats["mean"].max()) / 1e3
            axes[0, 0].set(ylabel="congestion window [kB]", ylim=(0, top))
            if float(stats["high"].max()) / 1e3 > top:
                figures.note(figure, "Intervals of the mean that are wider than the panel end at its edge.")
            figures.legend(figure, axes[0, 0])
        return figure

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure peaks, falls and growth of the windows. Further seeds say only where the peaks are."""
        every, runs = runs, runs.select(lambda scenario: scenario.seed < self.count)
        samples = windows.sample(runs)
        single = over_seeds(windows.largest_of_runs(samples)["cwnd_B"])
        inside = windows.together(samples, runs)
        teeth = windows.teeth(inside)
        of_runs = teeth.groupby(["period_ms", "flow", "run"])[["height", "peak"]].mean().reset_index()
        heights = estimates(means(of_runs[of_runs["flow"] == "migrated"], "period_ms", "height"))
        steps = pairwise(sorted(heights, reverse=True))
        ended = tables.with_seeds(windows.ends(runs).reset_index(), runs.scenarios)
        pairs = tables.with_seeds(samples[samples["flow"] != "single"], runs.scenarios)
        growth = windows.mean_growth(pairs, ended)
        measured = {
            "largest-window": Measured.one(single / 1e3),
            "teeth-shrink": Measured({f"{b:g} over {a:g} ms": heights[b] / heights[a] for a, b in steps}),
            "growth-after-main": Measured.by_case(
                {period: ratio for period, ratio in growth.items() if period <= _BEHIND_MS}, "{:g} ms"
            ),
            "growth-after-main was 2": Measured.by_case(windows.growth(samples, runs), "{:g} ms"),
            "growth-after-main was": Measured.by_case(growth, "{:g} ms"),
            "main-finishes": Measured.one(over_seeds(ended.groupby("seed")["main"].mean()), _ends(ended)),
            "main-finishes was": Measured.by_case(means(ended, "period_ms", "main"), "{:g} ms"),
        }
        if 50 in self.periods_ms:
            peaks = estimates(means(of_runs[of_runs["period_ms"] == 50], "flow", "peak"))
            measured["peaks-at-50"] = Measured({flow: peak / single for flow, peak in peaks.items()})
            falls = windows.falls(runs, inside[inside["period_ms"] == 50])
            share = over_seeds(windows.following_share(falls)["percent"])
            measured["falls-follow-moves"] = Measured.one(share, f"{len(falls)} falls")
            peaks_near = _peaks_near(every)
            note = f"{len(peaks_near)} peaks"
            measured["peaks-before-moves"] = Measured.one(
                over_seeds(100 * peaks_near.groupby("run")["near"].mean()), note
            )
        return measured

    def causes(self) -> list[Cause]:
        """Return a look at the windows that the paper draws, which are averages over runs."""
        return [Cause("peaks-before-moves", self, _peaks_of_means)]


def _peaks_near(runs: Runs) -> pd.DataFrame:
    """Return the peaks of the windows at 50 ms, and whether they are near a move."""
    inside = windows.together(windows.sample(runs), runs)
    return windows.peaks_near_moves(inside[inside["period_ms"] == 50])


def _ends(ended: pd.DataFrame) -> str:
    return tables.list_estimates(means(ended, "period_ms", "main"), "s", "{:g} ms")


def _peaks_of_means(runs: Runs) -> Measured:
    """Measure the share of the peaks of the mean windows at 50 ms that are near a move, in %, for each flow."""
    inside = windows.together(windows.sample(runs), runs)
    inside = inside[inside["period_ms"] == 50]
    mean = inside.groupby(["flow", "period_ms", inside["t_s"].round(6)], observed=True)["cwnd_B"].mean().reset_index()
    peaks = windows.peaks_near_moves(mean.assign(run=0))
    return Measured.by_case(100 * peaks.groupby("flow", observed=True)["near"].mean())
