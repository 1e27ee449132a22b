# SPDX-License-Identifier: Apache-2.0
"""Figures 9 and 14: all variants where the two networks differ in latency only. Sec. 5.2, A.4."""

from __future__ import annotations

from typing import ClassVar

from rdcnlab import weeks
from rdcnlab.claims import Measured
from rdcnlab.papers.tdtcp.graphs import Occupancy, Throughput, lowest, over
from rdcnlab.papers.tdtcp.space import Difference
from rdcnlab.runs import Runs


class Fig9(Throughput):
    """Sequence graphs at 100 Gb/s in both networks."""

    id: ClassVar[str] = "fig9"
    difference: ClassVar[Difference] = "latency"

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure TDTCP and DCTCP against CUBIC, and packet only against optimal."""
        goodput = self.goodput(runs)
        first = self.first
        return {
            "tdtcp-as-cubic": over(goodput, "tdtcp", "cubic"),
            "dctcp-below": over(goodput, "dctcp", "cubic"),
            "mptcp-last": lowest(goodput, "mptcp"),
            "packet-only-above": Measured.one(
                100 * (weeks.bound_gbps(first, only="packet") / weeks.bound_gbps(first) - 1), "of the timetable alone"
            ),
        }


class Fig14(Occupancy):
    """Queues."""

    id: ClassVar[str] = "fig14"
    difference: ClassVar[Difference] = "latency"

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure TDTCP's mean against those of CUBIC and DCTCP, and what reTCPdyn builds ahead of the circuit."""
        means = self.means(runs)
        ahead, before = self.means(runs, 1150, 1200), self.means(runs, 300, 1050)
        others = {name: mean for name, mean in means.items() if name in ("cubic", "dctcp", "mptcp")}
        apart = {name: means["tdtcp"] - mean for name, mean in others.items()} if "tdtcp" in means else {}
        grown = {"": ahead["retcpdyn"] - before["retcpdyn"]} if "retcpdyn" in means else {}
        return {"tdtcp-in-line": Measured(apart), "retcpdyn-ahead": Measured(grown)}
