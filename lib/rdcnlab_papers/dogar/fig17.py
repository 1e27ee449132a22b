# SPDX-License-Identifier: Apache-2.0
"""Figure 17: DCTCP's throughput over time, large buffer. Sec. 4.2(2)."""

from __future__ import annotations

from typing import ClassVar

from rdcnlab.runs.frame import Runs
from rdcnlab_papers.analysis import evenness
from rdcnlab_papers.analysis.measured import Measured, ahead, means_of_seeds
from rdcnlab_papers.dogar import clos
from rdcnlab_papers.dogar.simulation import BEGINNING, Curve
from rdcnlab_papers.items.causes import Cause


class Fig17(Curve):
    """Throughput of two flows of DCTCP under inconsistent updates, with the large buffer."""

    drawn: ClassVar[str] = "dctcp"
    unmet: ClassVar[tuple[str, ...]] = ("both-fall",)
    buffers: ClassVar[tuple[str, ...]] = ("large",)

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure the lowest rate of each flow in the beginning, and the time in which the flows differ."""
        lowest = evenness.lowest(self.runs_of(runs, "large"), clos.EVERY_NS, BEGINNING * clos.EVERY_NS)
        lowest = lowest[lowest["cc"] == "dctcp"]
        lowest = lowest.assign(group=lowest["flow"].astype(str).str.split("-").str[0])
        return {
            "both-fall": Measured.by_case(means_of_seeds(lowest, "group", "share")),
            "slow": ahead(self.stats(runs, "uneven_ms"), "dctcp", "nuftcp"),
        }

    def causes_of_defaults(self) -> list[Cause]:
        """Return an experiment with updates that leave both flows on one line."""
        return [Cause("both-fall", self.down())]
