# SPDX-License-Identifier: Apache-2.0
"""Figure 8: congestion windows, consistent updates, small buffer. Sec. 2.2(3)."""

from __future__ import annotations

from typing import ClassVar

from rdcnlab.runs.frame import Runs
from rdcnlab_papers.analysis import updates
from rdcnlab_papers.analysis.measured import Measured
from rdcnlab_papers.dogar.space import LARGE, SMALL, Setting
from rdcnlab_papers.dogar.updates import Windows
from rdcnlab_papers.items.causes import Cause


class Fig8(Windows):
    """Windows of flows under consistent updates, with the small buffer."""

    settings: ClassVar[tuple[Setting, ...]] = (Setting(SMALL), Setting(LARGE))
    stated_numbers: ClassVar[dict[str, tuple[float, ...]]] = {
        "cubic": (230, 450, 700),
        "bbr": (140, 280, 330),
        "dctcp": (200, 430, 550),
    }

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Compare the variants, and the effect of the buffer on each."""
        small = self.at(runs)
        samples = [self.samples(self.runs_of(runs, setting)) for setting in self.settings]
        change = updates.change_of_means(*samples)
        least = {
            name: value for other in ("dctcp", "cubic") for name, value in updates.order(change, ("bbr", other)).items()
        }
        return {
            "order": Measured(updates.order(small, ("bbr", "dctcp", "cubic"))),
            "buffer-matters-least": Measured(least),
            "numbers": self.ratios(runs),
        }

    def causes(self) -> list[Cause]:
        """Return experiments with brief updates, and with a gap in place of them."""
        return self.candidates("order")
