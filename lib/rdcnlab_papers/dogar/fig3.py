# SPDX-License-Identifier: Apache-2.0
"""Figure 3: retransmissions, consistent updates, large buffer. Sec. 2.2(1)."""

from __future__ import annotations

from typing import ClassVar

from rdcnlab.runs.frame import Runs
from rdcnlab_papers.analysis import updates
from rdcnlab_papers.analysis.measured import Measured
from rdcnlab_papers.dogar.updates import Retransmissions
from rdcnlab_papers.items.causes import Cause


class Fig3(Retransmissions):
    """Segments that are retransmitted between two consistent updates, with the large buffer."""

    stated_numbers: ClassVar[dict[str, tuple[float, ...]]] = {
        "cubic": (380, 580, 800),
        "bbr": (100, 200, 280),
        "dctcp": (180, 400, 600),
    }

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Compare the variants, and the numbers with those of the text."""
        points = self.at(runs)
        return {
            "order": Measured(updates.order(points, ("bbr", "dctcp", "cubic"))),
            "numbers": self.ratios(runs),
        }

    def causes(self) -> list[Cause]:
        """Return experiments with brief updates, and with a gap in place of them."""
        return self.candidates("order")
