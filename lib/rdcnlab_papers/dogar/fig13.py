# SPDX-License-Identifier: Apache-2.0
"""Figure 13: packet drops, inconsistent updates, large buffer. Sec. 2.3(4)."""

from __future__ import annotations

from typing import ClassVar

from rdcnlab.runs.frame import Runs
from rdcnlab_papers.analysis import updates
from rdcnlab_papers.analysis.measured import Measured
from rdcnlab_papers.dogar.space import LARGE, Setting
from rdcnlab_papers.dogar.updates import Drops
from rdcnlab_papers.items.causes import Cause


class Fig13(Drops):
    """Packets that are lost under inconsistent updates, with the large buffer."""

    settings: ClassVar[tuple[Setting, ...]] = (Setting(LARGE, "groups"), Setting(LARGE))
    stated_numbers: ClassVar[dict[str, int]] = {"cubic": 623, "bbr": 11, "dctcp": 187}

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Compare the variants, and the losses with those under consistent updates."""
        late, consistent = (self.lost(runs, setting) for setting in self.settings)
        return {
            "order": Measured(updates.order(late, ("bbr", "dctcp", "cubic"))),
            "more-than-consistent": Measured(updates.differences_between(late, consistent, ("cubic", "dctcp"))),
            "numbers": self.ratios(runs),
        }

    def causes(self) -> list[Cause]:
        """Return experiments with brief updates, and with a gap in place of them."""
        return self.candidates("order", "more-than-consistent")
