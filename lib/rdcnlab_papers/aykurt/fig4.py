# SPDX-License-Identifier: Apache-2.0
"""Figure 4: two CUBIC flows of 2 GB, throughput over time. Sec. V-B."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import pandas as pd

from rdcnlab.analysis import tables
from rdcnlab.analysis.intervals import over_seeds
from rdcnlab.analysis.resampling import jackknife
from rdcnlab.fields.quantities import Listed
from rdcnlab.fields.units import NS_PER_MS
from rdcnlab.runs.frame import Runs
from rdcnlab.scenario import Scenario
from rdcnlab_papers.analysis import competition, curves, rivals
from rdcnlab_papers.analysis.measured import Measured, means, trend
from rdcnlab_papers.analysis.rivals import moved_every
from rdcnlab_papers.aykurt.space import NO_ACKS, Periods, Variant, Volume, buffers, grid
from rdcnlab_papers.items.causes import Cause
from rdcnlab_papers.items.item import Item

if TYPE_CHECKING:
    from matplotlib.figure import Figure


#: Longest period in ms at which the paper's migrated flow of CUBIC is behind.
_BEHIND_MS = 25


class Fig4(Item):
    """Main and migrated flow at every period, and the same for pairs of other variants.

    Parameters
    ----------
    cc : str
        The variant that is drawn.
    others : tuple of str
        Variants that are run only for their completion times.
    periods_ms : tuple of int
        Periods.
    size : str
        Volume of each flow.
    """

    cc: Variant = "cubic"
    others: Annotated[tuple[Variant, ...], Listed] = ("bbr", "reno", "westwood")
    periods_ms: Periods = (50, 25, 10, 5, 1)
    size: Volume = "2 GB"

    def points(self) -> list[Scenario]:
        """Return one scenario for each variant, period and seed. In the quick profile the others have one seed."""
        axes: dict[str, Any] = {"period_ms": self.periods_ms, "size": self.size}
        others = tuple(dict.fromkeys(cc for cc in self.others if cc != self.cc))
        drawn = grid(cc=self.cc, **axes, seed=range(self.count))
        return drawn + grid(NO_ACKS, cc=others, **axes, seed=range(self.count_undrawn))

    def needs(self, scenario: Scenario) -> tuple[str, ...]:
        """Return throughput for the drawn variant, and completion times for all variants."""
        return ("flows", "throughput") if self._draws(scenario) else ("flows",)

    def plot(self, runs: Runs) -> Figure:
        """Draw the mean throughput of both flows over time with its interval, one panel for each period."""
        drawn = runs.select(self._draws)
        cases = {f"period {period} ms": (moved_every(drawn, period), period) for period in self.periods_ms}
        claims = {"apart": "saw-tooth-peak", "shared": "saw-tooth-valley"}
        teeth = {state: (self.stated(claim), "paper") for state, claim in claims.items()}
        return curves.plot(cases, width=2.2, stated={"period 50 ms": teeth})

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure completion times, the sawtooth, and the difference between the two flows."""
        drawn = runs.select(self._draws)
        pairs = tables.with_seeds(tables.completion(drawn.flows), drawn.scenarios)
        others = {
            cc: tables.with_seeds(tables.completion(flows), runs.scenarios)
            for (cc,), flows in tables.groups(runs.flows[runs.flows["cc"] != self.cc], ["cc"])
        }
        measured = {
            "prolongation": Measured.one(trend(pairs, "period_ms", "prolongation_s")),
            "other-variants": _behind(others, self.periods_ms),
            "other-variants was": Measured(
                {cc: trend(times, "period_ms", "prolongation_s") for cc, times in others.items()}
            ),
        }
        if 50 in self.periods_ms:
            samples = competition.phases(moved_every(drawn, 50))
            shared = competition.shared_rates(samples)
            measured["equal-at-50"] = Measured.one(jackknife(pairs[pairs["period_ms"] == 50], rivals.unequal))
            measured["saw-tooth-peak"] = Measured.by_case(competition.peaks(samples))
            measured["saw-tooth-valley"] = Measured.by_case(shared)
            measured["fair-at-50"] = Measured.one(competition.fairness(samples))
            measured["fair-at-50 was"] = Measured.one(tables.jain(shared["mean"]))
        if 25 in self.periods_ms:
            prolongations = pairs[pairs["period_ms"] == 25]["prolongation_s"]
            measured["behind-at-25"] = Measured.one(over_seeds(prolongations))
        short = [period for period in self.periods_ms if period <= 10]
        if short:
            # 100 ms is a whole number of cycles for every period of the figure except one
            rates = competition.rates_together(drawn, 100 * NS_PER_MS)
            measured["apart-below-10"] = Measured({f"{p} ms": competition.bins_apart(rates, p) for p in short})
        if 1 in self.periods_ms:
            rates = competition.rates_together(moved_every(drawn, 1), 10 * NS_PER_MS)
            measured["below-at-1"] = Measured.one(competition.bins_below(rates, 1))
        return measured

    def causes(self) -> list[Cause]:
        """Return experiments with a smaller buffer, which slows BBR, and with as few runs as the column has."""
        small = self.with_parameters(cc="bbr", others=(), periods_ms=(50, 10, 1), changes=buffers("250 kB"))
        causes = [Cause("other-variants", small, rivals.prolongations)]
        if self.testbed.most_runs is not None:
            first = self.columns()[0].id
            as_few = self.with_parameters(cc=self.cc, others=self.others, seeds=self.count, column=first)
            causes.append(Cause("apart-below-10", as_few))
        return causes

    def _draws(self, scenario: Scenario) -> bool:
        """Return whether a scenario has the drawn variant."""
        return scenario.flows[0].cc == self.cc


def _behind(times: Mapping[str, pd.DataFrame], periods_ms: Sequence[int]) -> Measured:
    """Measure by variant the mean prolongation over the periods at which CUBIC's flow is behind; the note has each."""
    short = {cc: rows[rows["period_ms"] <= _BEHIND_MS] for cc, rows in times.items()}
    if not any(period <= _BEHIND_MS for period in periods_ms):
        return Measured()
    each = [
        f"{cc} {tables.list_estimates(means(rows, 'period_ms', 'prolongation_s'), 's', '{:g} ms')}"
        for cc, rows in short.items()
    ]
    return Measured(
        {cc: over_seeds(rows.groupby("seed")["prolongation_s"].mean()) for cc, rows in short.items()}, "; ".join(each)
    )
