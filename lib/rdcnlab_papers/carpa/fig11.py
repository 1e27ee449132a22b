# SPDX-License-Identifier: Apache-2.0
"""Figure 11: the window with and without rerouting at an RTT of 480 ms. Sec. IV-D."""

from __future__ import annotations

import pandas as pd

from rdcnlab.analysis import tables
from rdcnlab.analysis.intervals import over_seeds
from rdcnlab.runs.frame import Runs
from rdcnlab_papers.analysis.measured import Measured, lowest, means
from rdcnlab_papers.carpa.curves import Traces
from rdcnlab_papers.carpa.space import CALIBRATED, CALIBRATED_EXTRA_MS, Periods, Rtts
from rdcnlab_papers.items.causes import Cause

#: The part of a flow's time that counts as settled.
_SETTLED = 2 / 3
#: Windows ten times as far apart; otherwise the shipped runs of the causes are as large as those of the figure.
_COARSE = {"probes.bin": "100 ms"}


class Fig11(Traces):
    """Windows of a flow at an RTT of 480 ms: rerouted every 0.6, 14 and 15 s, and not rerouted."""

    rtts_ms: Rtts | None = (480,)
    periods_s: Periods | None = (0.6, 6.0, 14.0, 15.0)

    def settled_windows(self, runs: Runs) -> pd.DataFrame:
        """Return the windows in the last third of each flow's time: ``seed``, ``least``, ``mean``, ``most``."""
        starts, ends = runs.flows.set_index("run")["start_s"], runs.flows.set_index("run")["end_s"]
        t_s = runs.tcp["t_ns"] / 1e9
        begin = runs.tcp["run"].map(starts + _SETTLED * (ends - starts)).astype(float)
        last = runs.tcp[t_s >= begin]
        stats = last.groupby("run")["cwnd"].agg(least="min", mean="mean", most="max").reset_index()
        return tables.with_seeds(stats, runs.scenarios)

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure the window without rerouting, and compare throughput and windows with rerouting."""
        (rtt,) = self.rtts
        static = self.settled_windows(self.still(runs, rtt))
        rates, _ = self.throughput(runs, rtt)
        measured = {
            "constant": Measured.one(over_seeds(100 * (static["most"] - static["least"]) / static["mean"])),
            "limited": Measured.one(over_seeds(static["mean"])),
        }
        if 14.0 in self.periods:
            by_period = means(rates, "period_s", "mbps")
            measured["worst-at-14"] = lowest(by_period, 14.0)
        if 15.0 in self.periods:
            moved = self.settled_windows(self.moved(runs, rtt)[15.0])
            measured["converges-at-15"] = Measured.one(over_seeds(moved["most"]) / over_seeds(static["most"]))
        return measured

    def wider(self) -> Fig11:
        """Return this item with the difference of the two paths of Sec. IV-C."""
        return self.with_parameters(extra_ms=CALIBRATED_EXTRA_MS, changes=_COARSE, profile=self.profile)

    def causes(self) -> list[Cause]:
        """Return experiments with the difference of the two paths of Sec. IV-C, and with Linux 4.4's receive window."""
        # the calibrated column has this difference itself
        column = "4.4" if self.column == CALIBRATED else self.column
        causes = [Cause("worst-at-14", Fig11(profile=self.profile, column=column).wider())]
        if self.column != "4.4":
            half = self.with_parameters(
                changes={"transport.half_rcvbuf": 1, **_COARSE},
                periods_s=(15.0,),
                profile=self.profile,
                column="6.12",
            )
            causes += [Cause("constant", half), Cause("limited", half)]
        return causes
