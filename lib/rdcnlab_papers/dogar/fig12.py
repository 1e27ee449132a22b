# SPDX-License-Identifier: Apache-2.0
"""Figure 12: congestion windows, inconsistent updates, large buffer. Sec. 2.3(3)."""

from __future__ import annotations

from typing import ClassVar

from rdcnlab.runs.frame import Runs
from rdcnlab_papers.analysis import updates
from rdcnlab_papers.analysis.measured import Measured
from rdcnlab_papers.dogar.space import LARGE, Setting
from rdcnlab_papers.dogar.updates import Windows
from rdcnlab_papers.items.causes import Cause


class Fig12(Windows):
    """Windows of flows under inconsistent updates, with the large buffer."""

    settings: ClassVar[tuple[Setting, ...]] = (Setting(LARGE, "groups"),)

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Compare the variants."""
        return {"order": Measured(updates.order(self.at(runs), ("bbr", "dctcp", "cubic")))}

    def causes(self) -> list[Cause]:
        """Return experiments with brief updates, and with a gap in place of them."""
        return self.candidates("order", calibrated=())
