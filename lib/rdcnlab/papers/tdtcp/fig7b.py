# SPDX-License-Identifier: Apache-2.0
"""Figure 7(b): the queue if the two networks differ in bandwidth and latency. Sec. 5.2."""

from __future__ import annotations

from rdcnlab.analysis.measured import Measured, lowest
from rdcnlab.papers.item import Cause
from rdcnlab.papers.tdtcp.graphs import Occupancy
from rdcnlab.papers.tdtcp.space import AFTER, AHEAD, BEFORE, PACED, STEADY
from rdcnlab.runs.frame import Runs

#: The part of the week after the burst, in us.
_THEN = (100, 300)


class Fig7b(Occupancy):
    """Queues."""

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure means, TDTCP's burst after the circuit's day, and reTCPdyn's queue before it."""
        return {
            "tdtcp-lowest": lowest(self.waiting(runs), "tdtcp"),
            "tdtcp-burst": self.longer(runs, "tdtcp", AFTER, STEADY),
            "retcpdyn-ahead": self.longer(runs, "retcpdyn", AHEAD, BEFORE),
        }

    def causes(self) -> list[Cause]:
        """Return an experiment that spreads the burst, and a comparison of the burst with the time after it."""
        kept = {"profile": self.profile, "seeds": self.seeds}
        paced = self.again(variants=("tdtcp", "retcp"), changes=PACED, **kept)
        after = Cause("tdtcp-burst", self, lambda runs: self.longer(runs, "tdtcp", AFTER, _THEN))
        return [Cause("tdtcp-lowest", paced), after]
