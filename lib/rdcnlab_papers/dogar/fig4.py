# SPDX-License-Identifier: Apache-2.0
"""Figure 4: retransmissions, consistent updates, small buffer. Sec. 2.2(1)."""

from __future__ import annotations

from typing import ClassVar

from rdcnlab.runs.frame import Runs
from rdcnlab_papers.analysis import updates
from rdcnlab_papers.analysis.measured import Measured
from rdcnlab_papers.dogar.space import LARGE, SMALL, Setting
from rdcnlab_papers.dogar.updates import Retransmissions
from rdcnlab_papers.items.causes import Cause

#: At this point the text's own numbers contradict its sentence.
_CONTRADICTED = ("dctcp at 20%",)


class Fig4(Retransmissions):
    """Segments that are retransmitted between two consistent updates, with the small buffer."""

    settings: ClassVar[tuple[Setting, ...]] = (Setting(SMALL), Setting(LARGE))
    stated_numbers: ClassVar[dict[str, tuple[float, ...]]] = {
        "cubic": (180, 350, 550),
        "bbr": (130, 300, 500),
        "dctcp": (200, 350, 550),
    }

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Compare the variants, and each with itself in the large buffer."""
        small, large = (self.at(runs, setting) for setting in self.settings)
        fewest = {
            name: value
            for other in ("dctcp", "cubic")
            for name, value in updates.order(small[small["share"] < 1], ("bbr", other)).items()
        }
        less = updates.differences_between(large, small, ("cubic", "dctcp"))
        return {
            "bbr-fewest": Measured(fewest),
            "bbr-more-than-large": Measured(updates.differences_between(small, large, ("bbr",))),
            "others-less-than-large": Measured(
                {case: value for case, value in less.items() if case not in _CONTRADICTED}
            ),
            "others-less-than-large was": Measured(less),
            "numbers": self.ratios(runs),
        }

    def causes(self) -> list[Cause]:
        """Return experiments with brief updates, and with a gap in place of them."""
        return self.candidates("bbr-fewest", "others-less-than-large", elsewhere=("bbr-more-than-large",))
