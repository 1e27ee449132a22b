# SPDX-License-Identifier: Apache-2.0
"""Figure 13: the queue under CUBIC and MPTCP. Sec. A.3."""

from __future__ import annotations

from typing import ClassVar

from rdcnlab import weeks
from rdcnlab.claims import Measured
from rdcnlab.papers.tdtcp.graphs import Occupancy, Variants
from rdcnlab.runs import Runs


class Fig13(Occupancy):
    """Queues of CUBIC; MPTCP's comes with its scheduler."""

    id: ClassVar[str] = "fig13"

    variants: Variants = ("cubic",)

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure CUBIC's queue in packet days and in the circuit's, and MPTCP's dip, as shares of the limit."""
        limit = weeks.schedule(self.first).queue
        room = float(limit.packets or 1) if limit is not None else 1.0
        lengths = self.lengths(runs)
        measured = {}
        if "cubic" in lengths:
            # an RTT after the circuit the queue is that of packet days
            into = lengths["cubic"]["t_us"] % 1400
            steady = lengths["cubic"].loc[(into >= 2 * self.rtt_us("packet")) & (into < 1180), "mean"]
            measured["cubic-stable"] = Measured.one(float((steady - steady.mean()).abs().max()) / room)
            measured["cubic-empty"] = Measured.one(self.means(runs, 1220, 1380)["cubic"] / room)
        if "mptcp" in lengths:
            dip = self.means(runs, 0, 100)["mptcp"] - self.means(runs, 300, 1180)["mptcp"]
            measured["mptcp-dip"] = Measured.one(dip / room)
        return measured
