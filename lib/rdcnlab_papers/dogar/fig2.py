# SPDX-License-Identifier: Apache-2.0
"""Figure 2: the performance that consistent updates cost, by their frequency. Sec. 2.2."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, ClassVar

import pandas as pd
from pydantic import Field

from rdcnlab.analysis import figures, tables
from rdcnlab.fields.quantities import Listed
from rdcnlab.runs.frame import Runs
from rdcnlab.scenario import Scenario
from rdcnlab_papers.analysis import updates
from rdcnlab_papers.analysis.measured import Measured, means, trend
from rdcnlab_papers.dogar import space, testbeds
from rdcnlab_papers.dogar.updates import Experiment
from rdcnlab_papers.items.causes import Cause

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Statements of the text: the loss is larger than this, in %, by the interval between updates in s.
STATED = {10.0: 2.0, 5.0: 5.0, 3.0: 10.0, 1.0: 30.0}
#: Length in s of a run without updates, and number of updates in the quick profile.
_STILL, _QUICK_UPDATES = 2, 2


class Fig2(Experiment):
    """Throughput of all flows under consistent updates, compared with that without updates.

    Parameters
    ----------
    intervals_s : tuple of float
        Times between updates.
    """

    runs_of_profile: ClassVar[dict[str, int]] = {"quick": 1, "paper": 3}
    reads: ClassVar[tuple[str, ...]] = ("throughput",)

    intervals_s: Annotated[tuple[Annotated[float, Field(ge=0.01, le=600)], ...], Field(min_length=1), Listed] = (
        10.0,
        5.0,
        3.0,
        1.0,
    )

    @property
    def times(self) -> float:
        """Factor on all times of updates: smaller than that of other figures in the quick profile."""
        return super().times / 2 if self.scale is None and self.profile == "quick" else super().times

    def update_count(self, interval_s: float = 1.0) -> int:
        """Return the number of updates in a run. Runs with an update every second are also those of figure 5."""
        usual = testbeds.updates(self.column, interval_s) if self.profile == "paper" else _QUICK_UPDATES
        return usual if self.updates is None else self.updates

    def at_interval(self, cc: str, interval_s: float | None, seed: int) -> Scenario:
        """Return the scenario of a variant and an interval; None: without updates."""
        count = _STILL if interval_s is None else self.update_count(interval_s)
        return space.updates(
            cc,  # type: ignore[arg-type]
            seed=seed,
            interval_s=interval_s,
            count=count,
            inputs=self.inputs,
            scale=self.times,
        )

    def points(self) -> list[Scenario]:
        """Return all intervals and the runs without updates."""
        return [
            self.at_interval(cc, interval, seed)
            for cc in self.variants
            for interval in (None, *self.intervals_s)
            for seed in self.seed_range
        ]

    def lost(self, runs: Runs) -> pd.DataFrame:
        """Return the throughput that updates cost, in %: ``cc``, ``seed``, ``interval_s`` and ``value``."""
        rates = updates.throughput(runs, self.width_ns, self.from_ns)
        total = rates.groupby(["run", "interval"])["value"].sum().groupby("run").mean()
        mean_gbps = total.reindex(range(len(runs)))
        rows = []
        for cc in self.variants:
            for seed in sorted({run.scenario.seed for run in runs}):
                static = mean_gbps[self.index_of(runs, self.at_interval(cc, None, seed))]
                for interval in self.intervals_s:
                    moved = mean_gbps[self.index_of(runs, self.at_interval(cc, interval, seed))]
                    row = {"cc": cc, "seed": seed, "interval_s": interval}
                    rows.append({**row, "value": 100 * (1 - moved / static) if static else math.nan})
        return pd.DataFrame(rows)

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure the losses at the intervals of the text, and how they grow with the frequency."""
        lost = self.lost(runs)
        losses = {
            f"at-{interval:g}": Measured.by_case(means(lost[lost["interval_s"] == interval], "cc", "value"))
            for interval in STATED
        }
        trends = {cc: trend(rows, "interval_s", "value") for (cc,), rows in tables.groups(lost, ["cc"])}
        return {**losses, "grows": Measured.by_case(trends)}

    def causes(self) -> list[Cause]:
        """Return an experiment in which both groups swap their links at one instant."""
        if self.column == testbeds.CALIBRATED:
            return []
        at_once = self.with_parameters(profile=self.profile, change_ms=0, intervals_s=(1.0,))
        return [Cause("at-1", at_once)]

    def plot(self, runs: Runs) -> Figure:
        """Draw bars by the interval, a colour for each variant, and the bounds that the text states."""
        lost = self.lost(runs)
        order = sorted(self.intervals_s, reverse=True)
        stats = {
            figures.look(cc).label: means(lost[lost["cc"] == cc], "interval_s", "value")
            .reset_index()
            .assign(place=lambda frame: -frame["interval_s"])
            for cc in self.variants
        }
        with figures.single(5.2, 3.0) as (figure, ax):
            colors = [figures.look(cc).color for cc in self.variants]
            figures.bars(ax, stats, "place", [f"{interval:g}" for interval in order], colors)
            stated = [STATED.get(interval) for interval in order]
            for number, bound in enumerate(stated):
                if bound is not None:
                    label = "paper: more than" if number == 0 else None
                    ax.plot([number - 0.4, number + 0.4], [bound, bound], color=figures.REFERENCE, label=label)
            scaled = "" if self.times == 1 else f", times {self.times:g}"
            ax.set(xlabel=f"time between updates [s]{scaled}", ylabel="throughput lost [%]")
        return figure
