# SPDX-License-Identifier: Apache-2.0
"""Figure 2: CUBIC and MPTCP, compared with the capacity of the hybrid network. Sec. 2.2."""

from __future__ import annotations

from rdcnlab.runs.frame import Runs
from rdcnlab_papers.analysis import folded
from rdcnlab_papers.analysis.measured import Measured, ahead
from rdcnlab_papers.items.causes import Cause
from rdcnlab_papers.tdtcp.graphs import Throughput, Variants
from rdcnlab_papers.tdtcp.space import parameter


class Fig2(Throughput):
    """Sequence graphs of CUBIC and MPTCP."""

    variants: Variants = ("cubic", "mptcp")

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure slopes in packet days and in circuit days, as shares of the optimum."""
        lines = self.lines(runs)
        return {
            "parallel-in-packet-days": Measured(folded.slopes(lines, self.first, "packet")),
            "shallow-in-circuit-days": Measured(folded.slopes(lines, self.first, "circuit")),
            "mptcp-less": ahead(self.goodput(runs), "cubic", "mptcp"),
        }

    def causes(self) -> list[Cause]:
        """Return an experiment on the reverse pair's circuit, and the other testbed."""
        if self.column != "text":
            return []
        reverse = parameter("reverse")
        return [
            Cause("shallow-in-circuit-days", self.with_parameters(variants=("cubic",), changes=reverse)),
            Cause("parallel-in-packet-days", self.as_run),
        ]
