# SPDX-License-Identifier: Apache-2.0
"""Figure 14: the queue where the two networks differ in latency only. Sec. A.4."""

from __future__ import annotations

from typing import ClassVar

from rdcnlab.analysis.measured import Measured
from rdcnlab.papers.tdtcp.graphs import FEWER, SHORTER, Occupancy
from rdcnlab.papers.tdtcp.space import AHEAD, BEFORE, Difference
from rdcnlab.runs.frame import Runs


class Fig14(Occupancy):
    """Queues."""

    difference: ClassVar[Difference] = "latency"
    runs_of_profile: ClassVar[dict[str, int]] = FEWER
    of_profile: ClassVar[dict[str, str]] = SHORTER

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure TDTCP's mean against those of CUBIC and DCTCP, and what reTCPdyn builds ahead of the circuit."""
        mean = self.waiting(runs)["mean"].to_dict()
        others = [name for name in ("cubic", "dctcp", "mptcp") if {name, "tdtcp"} <= set(mean)]
        return {
            "tdtcp-in-line": Measured({name: mean["tdtcp"] - mean[name] for name in others}),
            "retcpdyn-ahead": self.longer(runs, "retcpdyn", AHEAD, BEFORE),
        }
