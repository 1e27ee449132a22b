# SPDX-License-Identifier: Apache-2.0
"""Figure 9: throughput of all variants if the two networks differ only in latency. Sec. 5.2."""

from __future__ import annotations

from typing import ClassVar

from rdcnlab.runs.frame import Runs
from rdcnlab_papers.analysis import weeks
from rdcnlab_papers.analysis.measured import Measured, lowest, percent_above
from rdcnlab_papers.items.causes import Cause
from rdcnlab_papers.tdtcp.graphs import FEWER, Throughput
from rdcnlab_papers.tdtcp.space import ISOLATED, Difference


class Fig9(Throughput):
    """Sequence graphs at 100 Gb/s in both networks: five times as many packets as in the other figures."""

    difference: ClassVar[Difference] = "latency"
    runs_of_profile: ClassVar[dict[str, int]] = FEWER

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Compare TDTCP and DCTCP with CUBIC, and the packet network alone with the optimum."""
        goodput = self.goodput(runs)
        packet_only = weeks.bound_gbps(self.first, only="packet") / weeks.bound_gbps(self.first)
        return {
            "tdtcp-as-cubic": percent_above(goodput, "tdtcp", "cubic"),
            "dctcp-below": lowest(goodput.reindex(["cubic", "tdtcp", "dctcp"]).dropna(), "dctcp"),
            "mptcp-last": lowest(goodput, "mptcp"),
            "packet-only-above": Measured.one(100 * (packet_only - 1), "of the timetable alone"),
        }

    def causes(self) -> list[Cause]:
        """Return the artefact's testbed; there, an experiment on the effect of MPTCP's isolation on its rank."""
        if self.column == "text":
            return [Cause("dctcp-below", self.as_run)]
        return [Cause("mptcp-last", self.with_parameters(variants=("dctcp", "mptcp", "retcp"), changes=ISOLATED))]
