# SPDX-License-Identifier: Apache-2.0
"""Figure 7: all variants where the two networks differ in bandwidth and latency. Sec. 5.2."""

from __future__ import annotations

from typing import ClassVar

from rdcnlab.claims import Measured
from rdcnlab.items import Cause
from rdcnlab.papers.tdtcp.graphs import Occupancy, Throughput, lowest, over
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
            )
        ]


class Fig7b(Occupancy):
    """Queues."""

    id: ClassVar[str] = "fig7b"

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure means, TDTCP's burst after the circuit, and reTCPdyn's queue ahead of it."""
        means = self.means(runs)
        burst, later = self.means(runs, 1380, 1400), self.means(runs, 300, 1180)
        ahead, before = self.means(runs, 1150, 1200), self.means(runs, 300, 1050)
        return {
            "tdtcp-lowest": lowest(means, "tdtcp"),
            "tdtcp-burst": over({"burst": burst["tdtcp"], "later": later["tdtcp"]}, "burst", "later")
            if "tdtcp" in means
            else Measured(),
            "retcpdyn-ahead": Measured.one(ahead["retcpdyn"] - before["retcpdyn"])
            if "retcpdyn" in means
            else Measured(),
        }
