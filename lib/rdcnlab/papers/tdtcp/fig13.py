# SPDX-License-Identifier: Apache-2.0
"""Figure 13: the queue under CUBIC and MPTCP. Sec. A.3."""

from __future__ import annotations

from rdcnlab.analysis import folded
from rdcnlab.analysis.measured import Measured
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
            # one RTT after the circuit's day the queue is again as in packet days
            begin = 2 * folded.rtt_us(self.first, "packet")
            into = folded.into_week(lengths["cubic"]["t_us"], self.first)
            settled = lengths["cubic"].loc[(into >= begin) & (into < STEADY[1]), "mean"]
            measured["cubic-stable"] = Measured.one(float((settled - settled.mean()).abs().max()) / room)
            measured["cubic-empty"] = Measured.one(self.waiting(runs, CIRCUIT)["mean"].to_dict()["cubic"] / room)
        return measured
