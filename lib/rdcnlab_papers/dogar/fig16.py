# SPDX-License-Identifier: Apache-2.0
"""Figure 16: out-of-order packets of DCTCP and NUFTCP, large and small buffer. Sec. 4.2(1)."""

from __future__ import annotations

from typing import ClassVar

import pandas as pd

from rdcnlab.analysis.intervals import greatest
from rdcnlab.runs.frame import Runs
from rdcnlab_papers.analysis import updates
from rdcnlab_papers.analysis.measured import Measured, difference, means
from rdcnlab_papers.dogar.simulation import Counts
from rdcnlab_papers.items.causes import Cause


class Fig16(Counts):
    """Segments that arrive while an earlier one is missing, under inconsistent updates."""

    label: ClassVar[str] = "packets out of order"
    unmet: ClassVar[tuple[str, ...]] = ("fewer-with-small", "numbers")
    stated_numbers: ClassVar[dict[str, dict[str, int]]] = {
        "dctcp": {"large": 3930, "small": 3451},
        "nuftcp": {"large": 0, "small": 96},
    }

    def counts(self, runs: Runs) -> pd.DataFrame:
        """Return the segments that came ahead of a missing one in each run."""
        return updates.came_ahead(runs)

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Compare NUFTCP with DCTCP, and both with the text."""
        by_buffer = self.by_buffer(runs)
        duplicates = {
            buffer: means(updates.duplicates(self.runs_of(runs, buffer)), "cc", "value") for buffer in self.buffers
        }
        retransmissions = {
            buffer: means(updates.retransmitted(self.runs_of(runs, buffer)), "cc", "value") for buffer in self.buffers
        }
        arrived = {buffer: share(stats) for buffer, stats in by_buffer.items()}
        seen = {buffer: share(stats) for buffer, stats in duplicates.items()}
        return {
            "fewer": Measured(
                {"by arrivals": greatest(arrived.values()), "by duplicate ACKs": greatest(seen.values())}
            ),
            "fewer was": Measured(arrived),
            "fewer-with-small": Measured.one(
                difference(by_buffer["large"].loc[["dctcp"]], by_buffer["small"].loc[["dctcp"]])
            ),
            "numbers": self.ratios(runs, "dctcp"),
            "seen": Measured(seen),
            "sent-again": Measured({buffer: share(stats) for buffer, stats in retransmissions.items()}),
        }

    def causes_of_defaults(self) -> list[Cause]:
        """Return experiments with Sec. 4.1's updates, and with algorithm 2's threshold in addition.

        With ns-3 also one without SACK in ACKs that may be held.
        """
        hidden = self.with_parameters(profile=self.profile, hold_sack=True)
        causes = [Cause("fewer", self.literal()), Cause("fewer-with-small", self.down())]
        for claim in ("seen", "sent-again"):
            causes.append(Cause(claim, self.literal()))
            if self.column == "ns3":
                causes.append(Cause(claim, hidden))
        return causes


def share(stats: pd.DataFrame) -> float:
    """Return NUFTCP's number as a share of DCTCP's in %; NaN if both are zero, because then nothing is compared."""
    cases = Measured.by_case(stats).cases
    return 100 * (cases["nuftcp"] / cases["dctcp"])
