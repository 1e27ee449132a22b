# SPDX-License-Identifier: Apache-2.0
"""Figure 8(b): the queue if the two networks differ only in bandwidth. Sec. 5.2."""

from __future__ import annotations

from typing import ClassVar

from rdcnlab.analysis.measured import Measured, lowest
from rdcnlab.papers.causes import Cause
from rdcnlab.papers.tdtcp.graphs import Occupancy
from rdcnlab.papers.tdtcp.space import LATE, Difference
from rdcnlab.runs.frame import Runs


class Fig8b(Occupancy):
    """Queues."""

    difference: ClassVar[Difference] = "bandwidth"

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure whether TDTCP's mean is the lowest."""
        return {"tdtcp-lowest": lowest(self.waiting(runs), "tdtcp")}

    def causes(self) -> list[Cause]:
        """Return an experiment on the effect of late notifications on TDTCP's queue."""
        variants = tuple(name for name in self.variants if name != "mptcp")
        late = self.with_parameters(variants=variants, changes=LATE)
        # without MPTCP, whose queue is shorter in any case, there is no verdict on the claim
        return [Cause("tdtcp-lowest", late, lambda runs: lowest(late.waiting(runs), "tdtcp"))]
