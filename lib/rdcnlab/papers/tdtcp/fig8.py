# SPDX-License-Identifier: Apache-2.0
"""Figure 8: all variants where the two networks differ in bandwidth only. Sec. 5.2."""

from __future__ import annotations

from typing import ClassVar

from rdcnlab import weeks
from rdcnlab.claims import Measured
from rdcnlab.papers.tdtcp.graphs import Occupancy, Throughput, lowest, over
from rdcnlab.papers.tdtcp.space import Difference
from rdcnlab.runs import Runs


class Fig8a(Throughput):
    """Sequence graphs."""

    id: ClassVar[str] = "fig8a"
    difference: ClassVar[Difference] = "bandwidth"

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure who is how far below TDTCP, and how near to optimal reTCPdyn is."""
        goodput = self.goodput(runs)
        below = {name: over(goodput, name, "tdtcp") for name in ("cubic", "dctcp")}
        optimal = weeks.bound_gbps(self.first)
        near = goodput[goodput.index == "retcpdyn"]["mean"] / optimal
        return {
            "slightly-below": Measured({name: each.cases[""] for name, each in below.items() if each.cases}),
            "mptcp-last": lowest(goodput, "mptcp"),
            "retcpdyn-optimal": Measured.one(float(near.iloc[0])) if len(near) else Measured(),
            "retcp-as-cubic": over(goodput, "retcp", "cubic"),
        }


class Fig8b(Occupancy):
    """Queues."""

    id: ClassVar[str] = "fig8b"
    difference: ClassVar[Difference] = "bandwidth"

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure whether TDTCP's mean is the lowest."""
        return {"tdtcp-lowest": lowest(self.means(runs), "tdtcp")}
