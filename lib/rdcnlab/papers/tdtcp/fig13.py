# SPDX-License-Identifier: Apache-2.0
"""Figure 13: the queue under CUBIC and MPTCP. Sec. A.3."""

from __future__ import annotations

import pandas as pd

from rdcnlab.analysis import folded
from rdcnlab.analysis.intervals import bootstrap, estimates
from rdcnlab.analysis.measured import Measured
from rdcnlab.papers.item import Cause
from rdcnlab.papers.tdtcp.graphs import Occupancy, Variants
from rdcnlab.papers.tdtcp.space import CIRCUIT, STEADY
from rdcnlab.runs.frame import Runs


class Fig13(Occupancy):
    """Queues of CUBIC and MPTCP."""

    variants: Variants = ("cubic", "mptcp")

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure CUBIC's queue in packet days and in circuit days, as shares of the limit, and MPTCP's dip."""
        room = float(folded.limit(self.first) or 1)
        lengths = self.lengths(runs)
        measured = {"mptcp-dip": self.longer(runs, "mptcp", STEADY, (0, 100))}
        if "cubic" in lengths:
            into = folded.into_week(lengths["cubic"]["t_us"], self.first)
            settled = lengths["cubic"][into < STEADY[1]]
            empty = estimates(self.waiting(runs, CIRCUIT))["cubic"]
            measured["cubic-stable"] = Measured.one(bootstrap(settled, _largest_distance, by="run") / room)
            measured["cubic-empty"] = Measured.one(empty / room)
        return measured

    def causes(self) -> list[Cause]:
        """Return the other testbed, on which MPTCP's queue dips."""
        return [Cause("mptcp-dip", self.as_run)] if self.column == "text" else []


def _largest_distance(lengths: pd.DataFrame) -> float:
    """Return the largest distance in packets of a queue, as a mean over runs, from its mean over time."""
    curve = lengths.groupby("t_us")["mean"].mean()
    return float((curve - curve.mean()).abs().max())
