# SPDX-License-Identifier: Apache-2.0
"""Figure 4: two CUBIC flows of 2 GB, throughput over time. Sec. V-B."""

from __future__ import annotations

from itertools import product
from typing import Annotated, ClassVar

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from pydantic import Field

from rdcnlab import figures, tables
from rdcnlab.claims import Measured
from rdcnlab.items import Item
from rdcnlab.papers.aykurt.space import Period, Point, Variant, Volume
from rdcnlab.runs import Runs
from rdcnlab.scenario import Scenario
from rdcnlab.scenario.fields import Listed

_MS = 1_000_000
#: Bins in which intervals are compared: a whole number of cycles of every period of the figure but one.
_COMPARE = 100 * _MS


class Fig4(Item):
    """Main and migrated flow at every period, and the same for pairs of other variants.

    Parameters
    ----------
    cc : str
        The variant drawn.
    others : tuple of str
        Variants that are run for their completion times only.
    periods_ms : tuple of int
        Periods.
    size : str
        Volume of each flow.
    """

    paper: ClassVar[str] = "aykurt"
    id: ClassVar[str] = "fig4"

    cc: Variant = "cubic"
    others: Annotated[tuple[Variant, ...], Listed] = ("bbr", "reno", "westwood")
    periods_ms: Annotated[tuple[Period, ...], Field(min_length=1), Listed] = (50, 25, 10, 5, 1)
    size: Volume = "2 GB"

    def scenarios(self) -> list[Scenario]:
        """Return variants times periods times seeds; one seed for the others in the quick profile."""
        others = self.count if self.profile == "paper" else 1
        counts = {self.cc: self.count, **dict.fromkeys((cc for cc in self.others if cc != self.cc), others)}
        return [
            Point(cc=cc, period_ms=period, size=self.size, seed=seed).scenario(
                **({} if cc == self.cc else {"probes.tcp": "none"})
            )
            for cc, period in product(counts, self.periods_ms)
            for seed in range(counts[cc])
        ]

    def plot(self, runs: Runs) -> Figure:
        """Draw the mean throughput of both flows over time with its interval, one panel a period."""
        stats = self._curves(runs, 5 * _MS)
        with figures.style():
            figure, axes = figures.panels(1, len(self.periods_ms), width=2.6)
            for ax, period in zip(axes[0], self.periods_ms, strict=True):
                for flow in ("main", "migrated"):
                    chosen = stats[(stats["period_ms"] == period) & (stats["flow"] == flow)]
                    figures.band(ax, chosen, "t_s", flow, scale=1e-9)
                ax.axhline(5, color=figures.REFERENCE, linewidth=0.8, linestyle=":")
                ax.set(title=f"{period} ms", xlabel="time [s]", ylim=(0, 10.8))
            axes[0, 0].set_ylabel("throughput [Gb/s]")
            figures.legend(figure, axes[0, 0])
        return figure

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure completion times, the saw-tooth, and how far the two flows are apart."""
        drawn = runs.scenarios.loc[runs.scenarios["cc"] == self.cc, "run"]
        pairs = tables.completion(runs.flows[runs.flows["run"].isin(drawn)])
        measured = {
            "prolongation": Measured.one(_trend(pairs)),
            "other-variants": Measured(
                {cc: _trend(tables.completion(of)) for (cc,), of in tables.groups(runs.flows, ["cc"]) if cc != self.cc}
            ),
        }
        if 50 in self.periods_ms:
            of_50 = pairs[pairs["period_ms"] == 50][["main_s", "migrated_s"]].mean()
            tooth = self._saw_tooth(runs, 50)
            measured["equal-at-50"] = Measured.one(100 * abs(of_50["migrated_s"] / of_50["main_s"] - 1))
            measured["saw-tooth-peak"] = Measured(tables.cases(tooth["peak"]))
            measured["saw-tooth-valley"] = Measured(tables.cases(tooth["shared"]))
            measured["fair-at-50"] = Measured.one(tables.jain(tooth["shared"]))
        if 25 in self.periods_ms:
            behind = tables.mean_ci(pairs[pairs["period_ms"] == 25], ["period_ms"], "prolongation_s").iloc[0]
            measured["behind-at-25"] = Measured({"mean": behind["mean"], "95 % from": behind["low"]})
        if any(period <= 10 for period in self.periods_ms):
            curves = self._together(self._curves(runs, _COMPARE), pairs, _COMPARE)
            measured["apart-below-10"] = Measured(
                {f"{period} ms": _apart(curves, period) for period in self.periods_ms if period <= 10}
            )
        if 1 in self.periods_ms:
            curves = self._together(self._curves(runs, 10 * _MS), pairs, 10 * _MS)
            means = curves[curves["period_ms"] == 1].pivot_table(index="t_s", columns="flow", values="mean")
            measured["below-at-1"] = Measured.one(100 * float((means["migrated"] < means["main"]).mean()))
        return measured

    def _curves(self, runs: Runs, bin_ns: int) -> pd.DataFrame:
        """Average the rate over the runs of the drawn variant: `tables.mean_ci` by period, flow and time."""
        drawn = runs.scenarios.loc[runs.scenarios["cc"] == self.cc, "run"]
        counted = runs.throughput[runs.throughput["run"].isin(drawn)]
        rates = tables.with_fields(tables.rates(counted, _MS, bin_ns), runs.scenarios)
        return tables.mean_ci(rates, ["period_ms", "flow", "t_s"], "rate_bps")

    @staticmethod
    def _together(curves: pd.DataFrame, pairs: pd.DataFrame, bin_ns: int) -> pd.DataFrame:
        """Keep the bins in which both flows run in every run of the period."""
        until = curves["period_ms"].map(pairs.groupby("period_ms")["both_s"].min())
        return curves[curves["t_s"] + bin_ns / 1e9 <= until]

    def _saw_tooth(self, runs: Runs, period: int) -> pd.DataFrame:
        """Return for each flow the ``peak`` of the slots apart and the mean of the slots ``shared``, in Gb/s.

        Taken from the mean curve of 1 ms bins while both flows run, without the first cycle, in which they start.
        """
        chosen = next(run.scenario for run in runs if _is(run.scenario, self.cc, period))
        pairs = tables.completion(runs.flows[(runs.flows["cc"] == self.cc) & (runs.flows["period_ms"] == period)])
        curve = self._together(self._curves(runs, _MS), pairs, _MS)
        curve = curve[(curve["period_ms"] == period) & (curve["t_s"] >= 2 * period / 1000)]
        t_ns = np.rint(curve["t_s"].to_numpy() * 1e9).astype(np.int64)
        shared = tables.together(chosen, "main", "migrated", t_ns)
        slots = curve.assign(slot=t_ns // (period * _MS), shared=shared, gbps=curve["mean"] / 1e9)
        grouped = (
            slots.groupby(["flow", "shared", "slot"])["gbps"].agg(["max", "mean"]).groupby(["flow", "shared"]).mean()
        )
        return pd.DataFrame(
            {"peak": grouped["max"].xs(False, level="shared"), "shared": grouped["mean"].xs(True, level="shared")}
        )


def _trend(pairs: pd.DataFrame) -> float:
    """Spearman's coefficient of mean prolongation over the period."""
    means = pairs.groupby("period_ms")["prolongation_s"].mean()
    return tables.spearman(means.index, means)


def _apart(curves: pd.DataFrame, period: int) -> float:
    """Percentage of bins in which the intervals of the two flows do not overlap."""
    of_period = curves[curves["period_ms"] == period]
    main, migrated = (of_period[of_period["flow"] == flow].sort_values("t_s") for flow in ("main", "migrated"))
    return 100 * float(1 - tables.overlap(main, migrated).mean()) if len(main) else float("nan")


def _is(scenario: Scenario, cc: str, period: int) -> bool:
    return all(flow.cc == cc for flow in scenario.flows) and scenario.flows[-1].period == period * _MS
