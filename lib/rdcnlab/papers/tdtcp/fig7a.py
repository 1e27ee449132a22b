# SPDX-License-Identifier: Apache-2.0
"""Figure 7(a): throughput of all variants if the two networks differ in bandwidth and latency. Sec. 5.2."""

from __future__ import annotations

from rdcnlab.analysis.measured import Measured, percent_above
from rdcnlab.papers.causes import Cause
from rdcnlab.papers.tdtcp.graphs import Throughput
from rdcnlab.runs.frame import Runs


class Fig7a(Throughput):
    """Sequence graphs."""

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure by how much TDTCP's goodput is above that of each other variant."""
        goodput = self.goodput(runs)
        measured = {
            f"over-{other}": percent_above(goodput, "tdtcp", other) for other in ("cubic", "dctcp", "mptcp", "retcpdyn")
        }
        return measured | {"retcp-as-cubic": percent_above(goodput, "retcp", "cubic")}

    def causes(self) -> list[Cause]:
        """Return the other testbed, on which these claims hold."""
        if self.column != "text":
            return []
        return [Cause("over-mptcp", self.as_run), Cause("retcp-as-cubic", self.as_run)]
