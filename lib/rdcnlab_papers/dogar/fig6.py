# SPDX-License-Identifier: Apache-2.0
"""Figure 6: throughput, consistent updates, small buffer. Sec. 2.2(2)."""

from __future__ import annotations

from typing import ClassVar

from rdcnlab.runs.frame import Runs
from rdcnlab_papers.analysis import updates
from rdcnlab_papers.analysis.measured import Measured
from rdcnlab_papers.dogar.space import SMALL, Setting
from rdcnlab_papers.dogar.updates import Throughput
from rdcnlab_papers.items.causes import Cause


class Fig6(Throughput):
    """Throughput of flows between consistent updates, with the small buffer."""

    settings: ClassVar[tuple[Setting, ...]] = (Setting(SMALL),)
    stated_numbers: ClassVar[dict[str, tuple[float, ...]]] = {
        "cubic": (3.3, 4.8, 5.2),
        "bbr": (3.3, 4.8, 5.2),
        "dctcp": (3.3, 4.8, 6),
    }

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure the range of the variants, and the lead of DCTCP's fastest flow."""
        points = self.at(runs)
        last = points[points["share"] == 1]
        edge = {
            name: value for other in ("cubic", "bbr") for name, value in updates.order(last, (other, "dctcp")).items()
        }
        return {
            "alike": Measured.by_case(updates.spread(points[points["share"] < 1]), "at {:.0%}"),
            "dctcp-edge": Measured(edge),
            "numbers": self.ratios(runs),
        }

    def causes(self) -> list[Cause]:
        """Return experiments with brief updates, and with a gap in place of them."""
        return self.candidates("dctcp-edge", elsewhere=("alike",))
