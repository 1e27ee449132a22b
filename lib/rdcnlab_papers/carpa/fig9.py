# SPDX-License-Identifier: Apache-2.0
"""Figure 9: throughput of a flow that is rerouted periodically, high RTT. Sec. IV-D."""

from __future__ import annotations

from rdcnlab.runs.frame import Runs
from rdcnlab.scenario import Scenario
from rdcnlab_papers.analysis.measured import Measured, lowest, means
from rdcnlab_papers.carpa.fig11 import Fig11
from rdcnlab_papers.carpa.periods import Periodic
from rdcnlab_papers.carpa.space import CALIBRATED, CALIBRATED_EXTRA_MS, Milliseconds, Rtts
from rdcnlab_papers.items.causes import Cause

#: Periods in s up to which rerouting is frequent.
_FREQUENT_S = 1.0
#: The period in s that is the worst case in Sec. IV-D.
_WORST_S = 14.0


class Fig9(Periodic):
    """Throughput of a single flow over the period, at high RTTs.

    Parameters
    ----------
    low_ms : int
        Low RTT for comparison, one of those of figure 8.
    """

    rtts_ms: Rtts | None = (170, 480)
    low_ms: Milliseconds = 10

    def points(self) -> list[Scenario]:
        """Return all periods and baselines at the high RTTs, and those of figure 8 at the low one."""
        low = self.model_copy(update={"rtts_ms": (self.low_ms,)})
        return [*super().points(), *super(Fig9, low).points()]

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Compare rerouting with none at an RTT of 170 ms, and RTTs of 480 ms with the low one."""
        measured = {}
        if 170 in self.rtts:
            ratio = self.ratios(runs, 170).get(0.6)
            measured["beats-at-0.6"] = Measured() if ratio is None else Measured.one(ratio)
        if 480 in self.rtts:
            high, low = self.ratios(runs, 480), self.ratios(runs, self.low_ms)
            frequent = [period for period in high if period <= _FREQUENT_S and period in low]
            measured["hurts-less"] = Measured.by_case({p: high[p] - low[p] for p in frequent}, "{:g} s")
            by_period = means(self.throughput(runs, 480)[0], "period_s", "mbps")
            if _WORST_S in by_period.index:
                measured["worst-at-14"] = lowest(by_period, _WORST_S)
        return measured

    def causes(self) -> list[Cause]:
        """Return experiments with the difference of the two paths of Sec. IV-C; in its column, as Linux 4.4."""
        if self.column == CALIBRATED:
            return [
                Cause("beats-at-0.6", self.as_older(rtts_ms=(170,), periods_s=(0.6,))),
                Cause("worst-at-14", Fig11(profile=self.profile, column="4.4").wider()),
            ]
        wider = self.with_parameters(
            rtts_ms=(170,), periods_s=(0.6,), extra_ms=CALIBRATED_EXTRA_MS, profile=self.profile
        )
        return [
            Cause("beats-at-0.6", wider),
            Cause("worst-at-14", Fig11(profile=self.profile, column=self.column).wider()),
        ]
