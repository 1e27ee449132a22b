# SPDX-License-Identifier: Apache-2.0
"""Figure 8: throughput of a flow that is rerouted periodically, low RTT. Sec. IV-D."""

from __future__ import annotations

from typing import ClassVar

import pandas as pd

from rdcnlab.analysis import cubic
from rdcnlab.runs.frame import Runs
from rdcnlab_papers.analysis.measured import Measured, trend
from rdcnlab_papers.carpa.periods import Periodic
from rdcnlab_papers.carpa.space import CALIBRATED, CALIBRATED_EXTRA_MS
from rdcnlab_papers.carpa.tab1 import RATE
from rdcnlab_papers.items.causes import Cause

#: Periods in s from which all are beyond the recovery time of Table I at the low RTTs.
_LONG_S = 6.0
#: Two RTTs of Table I, and one of a machine room.
_LOW_MS = (1, 10, 50)


class Fig8(Periodic):
    """Throughput of a single flow over the period, at low RTTs.

    The paper does not say which RTT is low.
    """

    stated_ratios: ClassVar[dict[str, float]] = {"at-0.1": 0.1, "at-2": 2.0}

    @property
    def rtts(self) -> tuple[int, ...]:
        """RTTs of the shorter path in ms: low ones, or the one that was calibrated."""
        return _LOW_MS if self.rtts_ms is None and self.column != CALIBRATED else super().rtts

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure the throughput at two periods over that without rerouting, and how it grows."""
        ratios = {rtt: self.ratios(runs, rtt) for rtt in self.rtts}
        by_period = {
            claim: Measured.by_case(
                {rtt: values[period] for rtt, values in ratios.items() if period in values}, "{} ms"
            )
            for claim, period in self.stated_ratios.items()
        }
        grows = {rtt: self.beyond(runs, rtt) for rtt in self.rtts}
        return {
            **by_period,
            "grows-beyond": Measured.by_case(
                {rtt: trend(rows, "period_s", "mbps") for rtt, rows in grows.items() if rows["period_s"].nunique() > 2},
                "{} ms",
            ),
        }

    def beyond(self, runs: Runs, rtt_ms: int) -> pd.DataFrame:
        """Return the throughput of runs whose period is longer than the recovery time of Table I."""
        rates, _ = self.throughput(runs, rtt_ms)
        return rates[rates["period_s"] > cubic.recovery_time(cubic.full_window(RATE, rtt_ms / 1e3))]

    def causes(self) -> list[Cause]:
        """Return experiments with the difference of the two paths of Sec. IV-C."""
        if self.column == CALIBRATED:
            return []
        wider = self.with_parameters(
            rtts_ms=self.rtts, periods_s=(0.1, 2.0), extra_ms=CALIBRATED_EXTRA_MS, profile=self.profile
        )
        # at 50 ms, where moves of 10 ms meet the same phase of the window at some periods
        long = tuple(period for period in self.periods if period >= _LONG_S)
        beyond = self.with_parameters(rtts_ms=(50,), periods_s=long, extra_ms=CALIBRATED_EXTRA_MS, profile=self.profile)
        return [Cause("at-0.1", wider), Cause("at-2", wider), Cause("grows-beyond", beyond)]
