# SPDX-License-Identifier: Apache-2.0
"""Figure 5: throughput, consistent updates, large buffer. Sec. 2.2(2)."""

from __future__ import annotations

from typing import ClassVar

from rdcnlab.runs.frame import Runs
from rdcnlab_papers.analysis import updates
from rdcnlab_papers.analysis.measured import Measured
from rdcnlab_papers.dogar import testbeds
from rdcnlab_papers.dogar.updates import Throughput
from rdcnlab_papers.items.causes import Cause


class Fig5(Throughput):
    """Throughput of flows between consistent updates, with the large buffer."""

    stated_numbers: ClassVar[dict[str, tuple[float, ...]]] = {
        "cubic": (3.5, 4.8, 6),
        "bbr": (3.3, 4.5, 5),
        "dctcp": (2.8, 4.7, 5),
    }

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Compare CUBIC with the others, and the numbers with those of the text."""
        points = self.at(runs)
        edge = {
            name: value for other in ("dctcp", "bbr") for name, value in updates.order(points, (other, "cubic")).items()
        }
        return {"cubic-edge": Measured(edge), "numbers": self.ratios(runs)}

    def causes(self) -> list[Cause]:
        """Return experiments with brief updates, and with a gap in their place; in the calibrated column two others."""
        causes = self.candidates("cubic-edge")
        if self.column == testbeds.CALIBRATED:
            causes.append(Cause("cubic-edge", self.two_flows(*self.variants)))
        return causes
