# SPDX-License-Identifier: Apache-2.0
"""Figure 14: the queue if the two networks differ only in latency. Sec. A.4."""

from __future__ import annotations

from typing import ClassVar

from rdcnlab.analysis.intervals import estimates
from rdcnlab.runs.frame import Runs
from rdcnlab_papers.analysis.measured import Measured
from rdcnlab_papers.tdtcp.graphs import FEWER, Occupancy
from rdcnlab_papers.tdtcp.space import AHEAD, BEFORE, Difference


class Fig14(Occupancy):
    """Queues."""

    difference: ClassVar[Difference] = "latency"
    runs_of_profile: ClassVar[dict[str, int]] = FEWER

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Compare TDTCP's mean queue with those of other variants, and measure reTCPdyn's queue before the circuit."""
        mean = estimates(self.waiting(runs))
        others = [name for name in ("cubic", "dctcp", "mptcp") if {name, "tdtcp"} <= set(mean)]
        return {
            "tdtcp-in-line": Measured({name: mean["tdtcp"] - mean[name] for name in others}),
            "retcpdyn-ahead": self.longer(runs, "retcpdyn", AHEAD, BEFORE),
        }
