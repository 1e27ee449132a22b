# SPDX-License-Identifier: Apache-2.0
"""Figure 15: packet drops of DCTCP and NUFTCP, large and small buffer. Sec. 4.2(1)."""

from __future__ import annotations

from typing import ClassVar

import pandas as pd

from rdcnlab.runs.frame import Runs
from rdcnlab_papers.analysis import updates
from rdcnlab_papers.analysis.measured import Measured, difference, largest
from rdcnlab_papers.dogar.simulation import Counts
from rdcnlab_papers.items.causes import Cause


class Fig15(Counts):
    """Packets that queues lose under inconsistent updates."""

    label: ClassVar[str] = "packets lost"
    unmet: ClassVar[tuple[str, ...]] = ("more-with-small",)
    stated_numbers: ClassVar[dict[str, dict[str, int]]] = {
        "dctcp": {"large": 1213, "small": 1309},
        "nuftcp": {"large": 0, "small": 0},
    }

    def counts(self, runs: Runs) -> pd.DataFrame:
        """Return the packets that queues lose in each run."""
        return updates.lost(runs)

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Count NUFTCP's losses, and compare DCTCP's with the text and with each other."""
        by_buffer = self.by_buffer(runs)
        return {
            "nuftcp-none": largest(self._lost_by_nuftcp(runs), "buffer", "value"),
            "more-with-small": Measured.one(
                difference(by_buffer["small"].loc[["dctcp"]], by_buffer["large"].loc[["dctcp"]])
            ),
            "numbers": self.ratios(runs, "dctcp"),
        }

    def _lost_by_nuftcp(self, runs: Runs) -> pd.DataFrame:
        lost = [self.counts(self.runs_of(runs, buffer)).assign(buffer=buffer) for buffer in self.buffers]
        return pd.concat(lost).query("cc == 'nuftcp'")

    def causes_of_defaults(self) -> list[Cause]:
        """Return experiments with algorithm 2's threshold, alone and with updates that leave both flows on one line."""
        return [
            Cause("nuftcp-none", self.literal()),
            Cause("nuftcp-none", self.with_parameters(profile=self.profile, readings=(3,))),
            Cause("numbers", self.down()),
        ]
