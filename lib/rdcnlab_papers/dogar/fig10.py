# SPDX-License-Identifier: Apache-2.0
"""Figure 10: retransmissions, inconsistent updates, large buffer. Sec. 2.3(1)."""

from __future__ import annotations

from typing import ClassVar

from rdcnlab.runs.frame import Runs
from rdcnlab_papers.analysis import updates
from rdcnlab_papers.analysis.measured import Measured
from rdcnlab_papers.dogar.space import LARGE, Setting
from rdcnlab_papers.dogar.updates import Retransmissions
from rdcnlab_papers.items.causes import Cause


class Fig10(Retransmissions):
    """Segments that are retransmitted between two inconsistent updates, with the large buffer."""

    settings: ClassVar[tuple[Setting, ...]] = (Setting(LARGE, "groups"), Setting(LARGE))
    stated_numbers: ClassVar[dict[str, tuple[float, ...]]] = {
        "cubic": (250, 520, 800),
        "bbr": (100, 200, 320),
        "dctcp": (200, 450, 650),
    }

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Compare the variants, and each with itself under consistent updates."""
        late, consistent = (self.at(runs, setting) for setting in self.settings)
        return {
            "order": Measured(updates.order(late, ("bbr", "dctcp", "cubic"))),
            "worse-than-consistent": Measured(
                updates.differences_between(late[late["share"] == 1], consistent, ("bbr", "dctcp"))
            ),
            "cubic-better": Measured(
                updates.differences_between(consistent[consistent["share"] < 1], late, ("cubic",))
            ),
            "numbers": self.ratios(runs),
        }

    def causes(self) -> list[Cause]:
        """Return experiments with brief updates, and with a gap in place of them."""
        return self.candidates("order", "worse-than-consistent", "cubic-better")
