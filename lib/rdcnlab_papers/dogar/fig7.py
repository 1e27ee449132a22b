# SPDX-License-Identifier: Apache-2.0
"""Figure 7: congestion windows, consistent updates, large buffer. Sec. 2.2(3)."""

from __future__ import annotations

from typing import ClassVar

from rdcnlab.runs.frame import Runs
from rdcnlab_papers.analysis import updates
from rdcnlab_papers.analysis.measured import Measured
from rdcnlab_papers.dogar.updates import Windows
from rdcnlab_papers.items.causes import Cause

#: The number that calibrates the RTT in one column.
LARGEST = "bbr at 100%"


class Fig7(Windows):
    """Windows of flows under consistent updates, with the large buffer."""

    stated_numbers: ClassVar[dict[str, tuple[float, ...]]] = {
        "cubic": (400, 750, 820),
        "bbr": (150, 280, 350),
        "dctcp": (220, 450, 650),
    }

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Compare the variants, and the numbers with those of the text."""
        points, ratios = self.at(runs), self.ratios(runs)
        return {
            "order": Measured(updates.order(points, ("bbr", "dctcp", "cubic"))),
            "numbers": ratios.without(LARGEST),
            "bbr-largest": ratios.only(LARGEST),
        }

    def causes(self) -> list[Cause]:
        """Return experiments with brief updates, and with a gap in place of them."""
        return self.candidates("order")
