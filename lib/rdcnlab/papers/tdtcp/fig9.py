# SPDX-License-Identifier: Apache-2.0
"""Figures 9 and 14: all variants where the two networks differ in latency only. Sec. 5.2, A.4."""

from __future__ import annotations

from typing import ClassVar

from rdcnlab.analysis import weeks
from rdcnlab.papers.claims import Measured
from rdcnlab.papers.item import Cause
from rdcnlab.papers.tdtcp.graphs import Occupancy, Throughput, above, lowest, over
from rdcnlab.papers.tdtcp.space import AHEAD, BEFORE, CROSSING, Difference
from rdcnlab.runs.frame import Runs

#: Five times as many packets as in the other figures. Seeds hardly differ once the first hundred weeks are over, and a
#: quarter of the paper's 2 s has 257 weeks more.
_RUNS, _LASTS = {"quick": 1, "paper": 3}, {"quick": "300 ms", "paper": "500 ms"}


class Fig9(Throughput):
    """Sequence graphs at 100 Gb/s in both networks."""

    id: ClassVar[str] = "fig9"
    difference: ClassVar[Difference] = "latency"
    runs_of_profile: ClassVar[dict[str, int]] = _RUNS
    of_profile: ClassVar[dict[str, str]] = _LASTS

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure TDTCP and DCTCP against CUBIC, and packet only against optimal."""
        goodput = self.goodput(runs)
        first = self.first
        return {
            "tdtcp-as-cubic": over(goodput, "tdtcp", "cubic"),
            "dctcp-below": above(goodput[goodput.index == "cubic"], goodput[goodput.index == "dctcp"]),
            "mptcp-last": lowest(goodput, "mptcp"),
            "packet-only-above": Measured.one(
                100 * (weeks.bound_gbps(first, only="packet") / weeks.bound_gbps(first) - 1), "of the timetable alone"
            ),
        }

    def causes(self) -> list[Cause]:
        """Return what MPTCP's isolation has to do with its place."""
        return [
            Cause(
                "mptcp-last",
                "It is last in the mean, by less than runs differ. It depends on what of a subflow waits for its "
                "network (see figure 7a). If nothing does",
                Fig9(variants=("cubic", "mptcp", "retcp"), seeds=self.few, changes=CROSSING),
            )
        ]


class Fig14(Occupancy):
    """Queues."""

    id: ClassVar[str] = "fig14"
    difference: ClassVar[Difference] = "latency"
    runs_of_profile: ClassVar[dict[str, int]] = _RUNS
    of_profile: ClassVar[dict[str, str]] = _LASTS

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure TDTCP's mean against those of CUBIC and DCTCP, and what reTCPdyn builds ahead of the circuit."""
        means = self.means(runs)["mean"].to_dict()
        ahead, before = self.means(runs, AHEAD), self.means(runs, BEFORE)
        others = [name for name in ("cubic", "dctcp", "mptcp") if {name, "tdtcp"} <= set(means)]
        return {
            "tdtcp-in-line": Measured({name: means["tdtcp"] - means[name] for name in others}),
            "retcpdyn-ahead": above(ahead[ahead.index == "retcpdyn"], before[before.index == "retcpdyn"]),
        }
