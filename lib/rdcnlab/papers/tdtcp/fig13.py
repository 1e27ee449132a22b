# SPDX-License-Identifier: Apache-2.0
"""Figure 13: the queue under CUBIC and MPTCP. Sec. A.3."""

from __future__ import annotations

from typing import ClassVar

from rdcnlab.analysis import weeks
from rdcnlab.fields.units import NS_PER_US
from rdcnlab.papers.claims import Measured
from rdcnlab.papers.tdtcp.graphs import Occupancy, Variants, above
from rdcnlab.papers.tdtcp.space import CIRCUIT, STEADY
from rdcnlab.runs.frame import Runs


class Fig13(Occupancy):
    """Queues of CUBIC and MPTCP."""

    id: ClassVar[str] = "fig13"

    variants: Variants = ("cubic", "mptcp")

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure CUBIC's queue in packet days and in the circuit's, and MPTCP's dip, as shares of the limit."""
        limit = weeks.schedule(self.first).queue
        room = float(limit.packets or 1) if limit is not None else 1.0
        lengths = self.lengths(runs)
        measured = {}
        if "cubic" in lengths:
            # an RTT after the circuit the queue is that of packet days
            into = lengths["cubic"]["t_us"] % (weeks.schedule(self.first).cycle / NS_PER_US)
            settled = lengths["cubic"].loc[(into >= 2 * self.rtt_us("packet")) & (into < STEADY[1]), "mean"]
            measured["cubic-stable"] = Measured.one(float((settled - settled.mean()).abs().max()) / room)
            measured["cubic-empty"] = Measured.one(self.means(runs, CIRCUIT)["mean"].to_dict()["cubic"] / room)
        steady, after = self.means(runs, STEADY), self.means(runs, (0, 100))
        measured["mptcp-dip"] = above(steady[steady.index == "mptcp"], after[after.index == "mptcp"])
        return measured
