# SPDX-License-Identifier: Apache-2.0
"""Figure 3: retransmissions, consistent updates, large buffer. Sec. 2.2(1)."""

from __future__ import annotations

from typing import ClassVar

from rdcnlab.analysis import updates
from rdcnlab.analysis.measured import Measured
from rdcnlab.papers.dogar.updates import Retransmissions
from rdcnlab.papers.item import Cause
from rdcnlab.runs.frame import Runs


class Fig3(Retransmissions):
    """Segments that are sent again between two consistent updates, with the large buffer."""

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
        """Return an experiment in which no rule matches for 10 ms, and the groups swap at one instant."""
        # timeouts do not scale, so the times of updates must be those of the paper
        return [Cause("order", self.changed(profile=self.profile, change_ms=0, dark_ms=10, scale=1.0, updates=2))]
