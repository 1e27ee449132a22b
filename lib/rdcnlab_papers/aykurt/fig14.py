# SPDX-License-Identifier: Apache-2.0
"""Figure 14: the same as figure 13 with a move every 25 ms. Sec. V-I."""

from __future__ import annotations

from typing import ClassVar

from rdcnlab.analysis.intervals import estimates
from rdcnlab.fields.units import NS_PER_MS
from rdcnlab.runs.frame import Runs
from rdcnlab.scenario import Scenario
from rdcnlab_papers.analysis import rivals
from rdcnlab_papers.analysis.measured import Measured, margins, means
from rdcnlab_papers.aykurt.fig13 import FAR, LOSS_BASED, Fig13
from rdcnlab_papers.aykurt.space import Period
from rdcnlab_papers.items.causes import Cause


class Fig14(Fig13):
    """A TCP flow that moves every 25 ms onto a QUIC flow's link, compared with 50 ms. Parameters are as in `Fig13`."""

    period_ms: ClassVar[Period] = 25

    def points(self) -> list[Scenario]:
        """Return one scenario for each variant and seed at both periods."""
        return self.at_period(25) + self.at_period(50)

    def needs(self, scenario: Scenario) -> tuple[str, ...]:
        """Return completion times, and at 25 ms the throughput."""
        return ("flows", "throughput") if scenario.flows[-1].period == 25 * NS_PER_MS else ("flows",)

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure how completion times change from 50 to 25 ms."""
        times = [rivals.times(self.runs_by_variant(runs, period), "cc") for period in (25, 50)]
        at_25, at_50 = (means(rows, "cc", "migrated_s") for rows in times)
        loss_based = [cc for cc in self.cc if cc in LOSS_BASED]
        others = [cc for cc in self.cc if cc not in LOSS_BASED]
        return {
            "suffer-more": Measured(margins(at_25, at_50, loss_based)),
            "others-stay": Measured({cc: estimates(at_25)[cc] / estimates(at_50)[cc] for cc in others}),
        }

    def causes(self) -> list[Cause]:
        """Return an experiment with a longer RTT, in which the bound on the QUIC flow's window is wider."""
        return [Cause("suffer-more", self.with_parameters(cc=LOSS_BASED, size=self.size, changes=FAR))]
