# SPDX-License-Identifier: Apache-2.0
"""Figure 11: throughput, inconsistent updates, large buffer. Sec. 2.3(2)."""

from __future__ import annotations

from typing import ClassVar

from rdcnlab.runs.frame import Runs
from rdcnlab_papers.analysis import updates
from rdcnlab_papers.analysis.measured import Measured
from rdcnlab_papers.dogar.space import LARGE, Setting
from rdcnlab_papers.dogar.updates import Throughput
from rdcnlab_papers.items.causes import Cause

#: Shares above the 40th percentile at which the variants are compared.
ABOVE = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


class Fig11(Throughput):
    """Throughput of flows between inconsistent updates, with the large buffer."""

    settings: ClassVar[tuple[Setting, ...]] = (Setting(LARGE, "groups"),)

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure the range of the variants above the 40th percentile."""
        return {"alike": Measured.by_case(updates.spread(self.at(runs, shares=ABOVE)), "at {:.0%}")}

    def causes(self) -> list[Cause]:
        """Return experiments with brief updates, and with a gap in place of them."""
        return self.candidates("alike", calibrated=())
