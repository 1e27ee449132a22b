# SPDX-License-Identifier: Apache-2.0
"""Figure 4: two CUBIC flows of 2 GB, throughput over time. Sec. V-B."""

from __future__ import annotations

from itertools import product
from typing import Annotated, ClassVar

import pandas as pd
from matplotlib.figure import Figure

from rdcnlab.analysis import competition, tables
from rdcnlab.analysis.competition import mean_curves, moved_every
from rdcnlab.fields.quantities import Listed
from rdcnlab.fields.units import NS_PER_MS
from rdcnlab.papers.aykurt.space import Periods, Point, Variant, Volume, buffers
from rdcnlab.papers.claims import Measured
from rdcnlab.papers.item import Cause, Item
from rdcnlab.runs.frame import Runs
from rdcnlab.scenario import Scenario

#: Bins in which intervals are compared: a whole number of cycles of every period of the figure but one.
_COMPARE = 100 * NS_PER_MS
#: Width of the bins drawn by period, where it is not 5 ms.
_DRAWN_MS = {25: 50, 10: 20, 5: 20, 1: 20}


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
    periods_ms: Periods = (50, 25, 10, 5, 1)
    size: Volume = "2 GB"

    def points(self) -> list[Scenario]:
        """Return variants times periods times seeds; one seed for the others in the quick profile."""
        counts = {self.cc: self.count, **dict.fromkeys((cc for cc in self.others if cc != self.cc), self.undrawn)}
        return [
            Point(cc=cc, period_ms=period, size=self.size, seed=seed).scenario(
                **({} if cc == self.cc else {"probes.tcp": "none"})
            )
            for cc, period in product(counts, self.periods_ms)
            for seed in range(counts[cc])
        ]

    def needs(self, scenario: Scenario) -> tuple[str, ...]:
        """Return throughput for the variant drawn, and completion times for all."""
        return ("flows", "throughput") if scenario.flows[0].cc == self.cc else ("flows",)

    def plot(self, runs: Runs) -> Figure:
        """Draw the mean throughput of both flows over time with its interval, one panel a period."""
        drawn = runs.select(self._draws)
        # Teeth of short periods would fill the panel; bins of whole cycles show what is gained and lost.
        cases = {f"{period} ms": (moved_every(drawn, period), _DRAWN_MS.get(period, 5)) for period in self.periods_ms}
        return competition.plot(cases, width=2.6)

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure completion times, the saw-tooth, and how far the two flows are apart."""
        drawn = runs.select(self._draws)
        pairs = tables.completion(drawn.flows)
        measured = {
            "prolongation": Measured.one(_trend(pairs)),
            "other-variants": Measured(
                {cc: _trend(tables.completion(of)) for (cc,), of in tables.groups(runs.flows, ["cc"]) if cc != self.cc}
            ),
        }
        if 50 in self.periods_ms:
            of_50 = pairs[pairs["period_ms"] == 50][["main_s", "migrated_s"]].mean()
            tooth = _saw_tooth(drawn, 50)
            measured["equal-at-50"] = Measured.one(100 * abs(of_50["migrated_s"] / of_50["main_s"] - 1))
            measured["saw-tooth-peak"] = Measured(tables.cases(tooth["peak"]))
            measured["saw-tooth-valley"] = Measured(tables.cases(tooth["shared"]))
            measured["fair-at-50"] = Measured.one(tables.jain(tooth["shared"]))
        if 25 in self.periods_ms:
            behind = tables.mean_ci(pairs[pairs["period_ms"] == 25], ["period_ms"], "prolongation_s").iloc[0]
            measured["behind-at-25"] = Measured({"mean": behind["mean"], "95 % from": behind["low"]})
        if any(period <= 10 for period in self.periods_ms):
            curves = _together(mean_curves(drawn, _COMPARE), pairs, _COMPARE)
            measured["apart-below-10"] = Measured(
                {f"{period} ms": _apart(curves, period) for period in self.periods_ms if period <= 10}
            )
        if 1 in self.periods_ms:
            curves = _together(mean_curves(drawn, 10 * NS_PER_MS), pairs, 10 * NS_PER_MS)
            means = curves[curves["period_ms"] == 1].pivot_table(index="t_s", columns="flow", values="mean")
            measured["below-at-1"] = Measured.one(100 * float((means["migrated"] < means["main"]).mean()))
        return measured

    def causes(self) -> list[Cause]:
        """Return why BBR's migrated flow is not behind."""
        return [
            Cause(
                "other-variants",
                "A pair of BBR loses nothing when it meets: it keeps two of the thirteen bandwidth-delay products that "
                "the buffer holds, and shares at once. In a buffer of about one, the migrated flow falls behind by",
                Fig4(cc="bbr", others=(), periods_ms=(50, 10, 1), seeds=self.few, changes=buffers("250 kB")),
                _prolongations,
            )
        ]

    def _draws(self, scenario: Scenario) -> bool:
        """Say whether a scenario is one of the variant drawn."""
        return scenario.flows[0].cc == self.cc


def _together(curves: pd.DataFrame, pairs: pd.DataFrame, bin_ns: int) -> pd.DataFrame:
    """Keep the bins in which both flows run in every run of the period."""
    until = curves["period_ms"].map(pairs.groupby("period_ms")["both_s"].min())
    return curves[curves["t_s"] + bin_ns / 1e9 <= until]


def _saw_tooth(runs: Runs, period: int) -> pd.DataFrame:
    """Return for each flow the rate at the ``peak``, the end of slots apart, and in slots ``shared``, in Gb/s."""
    seen = competition.phases(moved_every(runs, period))
    both = seen[seen["both_run"]]
    return pd.DataFrame(
        {
            "peak": both[(both["phase"] == "apart") & both["late"]].groupby("flow")["gbps"].mean(),
            "shared": both[both["phase"] == "shared"].groupby("flow")["gbps"].mean(),
        }
    )


def _prolongations(runs: Runs) -> Measured:
    """Mean prolongation by period."""
    means = tables.completion(runs.flows).groupby("period_ms")["prolongation_s"].mean()
    return Measured({f"{period:g} ms": mean for period, mean in means.items()}, "s")


def _trend(pairs: pd.DataFrame) -> float:
    """Spearman's coefficient of mean prolongation over the period."""
    means = pairs.groupby("period_ms")["prolongation_s"].mean()
    return tables.spearman(means.index, means)


def _apart(curves: pd.DataFrame, period: int) -> float:
    """Percentage of bins in which the intervals of the two flows do not overlap."""
    of_period = curves[curves["period_ms"] == period]
    main, migrated = (of_period[of_period["flow"] == flow].sort_values("t_s") for flow in ("main", "migrated"))
    return 100 * float(1 - tables.overlap(main, migrated).mean()) if len(main) else float("nan")
