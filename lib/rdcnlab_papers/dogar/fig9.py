# SPDX-License-Identifier: Apache-2.0
"""Figure 9: packet drops, consistent updates, small buffer. Sec. 2.2(4)."""

from __future__ import annotations

from typing import ClassVar

from rdcnlab.runs.frame import Runs
from rdcnlab_papers.analysis import updates
from rdcnlab_papers.analysis.measured import Measured, largest
from rdcnlab_papers.dogar import testbeds
from rdcnlab_papers.dogar.space import LARGE, SMALL, Setting
from rdcnlab_papers.dogar.updates import Drops
from rdcnlab_papers.items.causes import Cause


class Fig9(Drops):
    """Packets that are lost under consistent updates, with the small buffer."""

    settings: ClassVar[tuple[Setting, ...]] = (Setting(SMALL), Setting(LARGE))
    stated_numbers: ClassVar[dict[str, int]] = {"cubic": 7865, "bbr": 18336, "dctcp": 3693}

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Compare the variants, and count the losses in the large buffer."""
        small, large = (self.lost(runs, setting) for setting in self.settings)
        ratios = self.ratios(runs)
        return {
            "order": Measured(updates.order(small, ("dctcp", "cubic", "bbr"))),
            "none-in-large": largest(large[large["cc"].isin(("cubic", "dctcp"))], "cc", "value"),
            "numbers": ratios.without("bbr"),
            "bbr-number": ratios.only("bbr"),
        }

    def causes(self) -> list[Cause]:
        """Return an experiment with brief updates, in the calibrated column those of its numbers."""
        if self.column in (testbeds.CALIBRATED, testbeds.CARDS):
            return self.candidates()
        return [Cause("none-in-large", self.brief())]
