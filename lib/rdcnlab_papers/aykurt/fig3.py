# SPDX-License-Identifier: Apache-2.0
"""Figure 3: one flow of 4 GB, migrated or not. Sec. V-A."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
import pandas as pd
from pydantic import Field

from rdcnlab.analysis import figures
from rdcnlab.analysis.intervals import estimates
from rdcnlab.analysis.resampling import Means, bootstraps_of_means
from rdcnlab.fields.quantities import Listed
from rdcnlab.fields.units import NS_PER_MS
from rdcnlab.runs.frame import Runs
from rdcnlab.scenario import Scenario
from rdcnlab_papers.analysis import competition
from rdcnlab_papers.analysis.measured import Measured, means, means_of_seeds
from rdcnlab_papers.analysis.moves import drops_of_runs, ramp_up_ms
from rdcnlab_papers.aykurt.space import COMPARED, Period, Variants, Volume, grid
from rdcnlab_papers.items.item import Item

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Fig3(Item):
    """Throughput of a single flow for every variant and period.

    Parameters
    ----------
    cc : tuple of str
        Variants.
    periods_ms : tuple of int or None
        Periods; None for no migration.
    size : str
        Volume of the flow.
    """

    reads: ClassVar[tuple[str, ...]] = ("flows", "throughput", "tcp", "events")
    runs_of_profile: ClassVar[dict[str, int]] = {"quick": 1, "paper": 30}

    cc: Variants = COMPARED
    periods_ms: Annotated[tuple[Period | None, ...], Field(min_length=1), Listed] = (None, 50, 10)
    size: Volume = "4 GB"

    def points(self) -> list[Scenario]:
        """Return one scenario for each variant, period and seed."""
        return grid(cc=self.cc, period_ms=self.periods_ms, flows=1, size=self.size, seed=range(self.count))

    def plot(self, runs: Runs) -> Figure:
        """Draw the mean throughput over time, one panel for each period."""
        stats = competition.mean_curves(runs, 5 * NS_PER_MS, "cc")
        with figures.style():
            figure, axes = figures.panels(1, len(self.periods_ms))
            for ax, period in zip(axes[0], self.periods_ms, strict=True):
                for index, cc in enumerate(self.cc):
                    of_cc = stats[(stats["period_ms"] == (period or 0)) & (stats["cc"] == cc)]
                    # all variants behave equally here and their curves overlap, so later ones are drawn thinner
                    figures.band(ax, of_cc, "t_s", cc, scale=1e-9, width=1.0 + 1.8 * (len(self.cc) - 1 - index))
                figures.reference(ax, self.stated("fct"), "paper: FCT", along="x")
                ax.set(title=f"period {period} ms" if period else "no migration", xlabel="time [s]", ylim=(0, 10.8))
            axes[0, 0].set_ylabel("throughput [Gb/s]")
            figures.legend(figure, axes[0, 0])
        return figure

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure completion time, ramp-up, drops and RTT."""
        flows = runs.flows.fillna({"period_ms": 0})
        fct = means(flows, ["cc", "period_ms"], "fct_s")
        of_runs = runs.tcp.groupby(["cc", "seed", "run"], observed=True)["srtt_us"].mean().reset_index()
        rtt_us = means_of_seeds(of_runs.astype({"cc": str}), "cc", "srtt_us")
        smallest = rtt_us["mean"].idxmin()
        bbr = estimates(rtt_us).get("bbr")
        return {
            "fct": Measured.by_case(
                fct.rename(lambda ms: f"{ms:g} ms" if ms else "static", level="period_ms"), "{}, {}"
            ),
            "ramp-up": Measured.by_case(means_of_seeds(ramp_up_ms(runs), "cc", "ms")),
            "no-effect": Measured.by_case(bootstraps_of_means(flows, ["cc", "period_ms"], ["fct_s"], _spread)),
            "no-drops": Measured.one(drops_of_runs(runs)["drops"].sum()),
            "rtt-bbr": Measured(
                {} if bbr is None else {"": bbr if smallest == "bbr" else np.nan}, f"smallest: {smallest}"
            ),
            "rtt-others": Measured.by_case(rtt_us.drop("bbr", errors="ignore")[["mean", "low", "high"]] / 1000),
        }


def _spread(mean: Means) -> pd.DataFrame:
    """Return by variant how much the longest mean FCT of a period is above the shortest, in %."""
    of_periods = mean["fct_s"].T.groupby("cc")
    return 100 * (of_periods.max() / of_periods.min() - 1).T
