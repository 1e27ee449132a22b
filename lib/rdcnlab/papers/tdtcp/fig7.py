# SPDX-License-Identifier: Apache-2.0
"""Figure 7: all variants where the two networks differ in bandwidth and latency. Sec. 5.2."""

from __future__ import annotations

from typing import ClassVar

from rdcnlab.claims import Measured
from rdcnlab.items import Cause
from rdcnlab.papers.tdtcp.graphs import Occupancy, Throughput, above, lowest, over
from rdcnlab.papers.tdtcp.space import AFTER, AHEAD, BEFORE, STEADY
from rdcnlab.runs import Runs


class Fig7a(Throughput):
    """Sequence graphs."""

    id: ClassVar[str] = "fig7a"

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure how much more TDTCP carries than each of the others."""
        goodput = self.goodput(runs)
        measured = {f"over-{other}": over(goodput, "tdtcp", other) for other in ("cubic", "dctcp", "mptcp", "retcpdyn")}
        return measured | {"retcp-as-cubic": over(goodput, "retcp", "cubic")}

    def causes(self) -> list[Cause]:
        """Return what the burst of a window that was kept costs."""
        return [
            Cause(
                "over-dctcp",
                "The window of a network that comes back leaves at once and overflows the queue of 16 packets: the "
                "initial burst of Sec. 5.2. Paced, segment by segment, TDTCP carries more",
                Fig7a(variants=("tdtcp", "cubic", "dctcp"), seeds=self.few, changes={"transport.tdtcp_pace": True}),
            ),
            Cause(
                "over-mptcp",
                "It depends on what of a subflow waits for its network. ACKs do here, as the paper has it. It was not "
                "found what else its prototype holds back: LIA is not in Linux. If nothing waits and subflows cross",
                Fig7a(variants=("tdtcp", "mptcp"), seeds=self.few, changes={"mptcp.isolation": "none"}),
            ),
        ]


class Fig7b(Occupancy):
    """Queues."""

    id: ClassVar[str] = "fig7b"

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure means, TDTCP's burst after the circuit, and reTCPdyn's queue ahead of it."""
        burst, later = self.means(runs, AFTER), self.means(runs, STEADY)
        ahead, before = self.means(runs, AHEAD), self.means(runs, BEFORE)
        return {
            "tdtcp-lowest": lowest(self.means(runs), "tdtcp"),
            "tdtcp-burst": above(burst[burst.index == "tdtcp"], later[later.index == "tdtcp"]),
            "retcpdyn-ahead": above(ahead[ahead.index == "retcpdyn"], before[before.index == "retcpdyn"]),
        }
