# SPDX-License-Identifier: Apache-2.0
"""Figure 7(b): the queue if the two networks differ in bandwidth and latency. Sec. 5.2."""

from __future__ import annotations

from rdcnlab.runs.frame import Runs
from rdcnlab_papers.analysis.measured import Measured, lowest
from rdcnlab_papers.items.causes import Cause
from rdcnlab_papers.tdtcp.graphs import Occupancy
from rdcnlab_papers.tdtcp.space import AFTER, AHEAD, BEFORE, CIRCUIT_END, LATER, PACED, STEADY, parameter


class Fig7b(Occupancy):
    """Queues."""

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure means, TDTCP's burst after the circuit's day, and reTCPdyn's queue before it."""
        return {
            "tdtcp-lowest": lowest(self.waiting(runs), "tdtcp"),
            "tdtcp-burst": self._burst(runs),
            "tdtcp-burst was": self.longer(runs, "tdtcp", AFTER, STEADY),
            "retcpdyn-ahead": self.longer(runs, "retcpdyn", AHEAD, BEFORE),
        }

    def _burst(self, runs: Runs) -> Measured:
        """Measure by how much the queue just after the circuit's day is above that before and after this time."""
        parts = {"the end of the circuit's day": CIRCUIT_END, "100 to 300 us later": LATER}
        differences = {words: self.longer(runs, "tdtcp", AFTER, part) for words, part in parts.items()}
        note = "; ".join(f"{words}: {difference.note}" for words, difference in differences.items() if difference.note)
        return Measured(
            {words: difference.cases[""] for words, difference in differences.items() if difference.cases}, note
        )

    def causes(self) -> list[Cause]:
        """Return an experiment that spreads the initial burst; on the artefact's testbed one on the ACKs' days."""
        if self.column == "text-late":
            return [Cause("tdtcp-lowest", self, self.without_mptcp)]
        if self.column != "text":
            same_days = self.with_parameters(variants=("tdtcp",), changes=parameter("reverse", "text"))
            return [Cause("tdtcp-lowest", self, self.without_mptcp), Cause("tdtcp-burst", same_days)]
        settings = {"profile": self.profile, "seeds": self.seeds}
        paced = self.with_parameters(variants=("tdtcp", "retcp"), changes=PACED, **settings)
        return [Cause("tdtcp-lowest", paced, self.without_mptcp)]
