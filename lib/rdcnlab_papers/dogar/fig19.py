# SPDX-License-Identifier: Apache-2.0
"""Figure 19: DCTCP's throughput over time, small buffer. Sec. 4.2(2)."""

from __future__ import annotations

from typing import ClassVar

import pandas as pd

from rdcnlab.runs.frame import Runs
from rdcnlab_papers.analysis.measured import Measured, difference
from rdcnlab_papers.dogar import clos
from rdcnlab_papers.dogar.simulation import Curve
from rdcnlab_papers.items.causes import Cause


class Fig19(Curve):
    """Throughput of two flows of DCTCP under inconsistent updates, with the small buffer."""

    drawn: ClassVar[str] = "dctcp"
    unmet: ClassVar[tuple[str, ...]] = ("longer", "worse")
    buffers: ClassVar[tuple[str, ...]] = ("small", "large")
    variants: ClassVar[tuple[clos.Variant, ...]] = ("dctcp",)

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Compare both buffers: how long a flow carries almost nothing, and how much all carry."""
        return {
            "longer": Measured.one(difference(self._stats(runs, "small"), self._stats(runs, "large"))),
            "worse": Measured.one(difference(self._stats(runs, "large", "gbps"), self._stats(runs, "small", "gbps"))),
        }

    def causes_of_defaults(self) -> list[Cause]:
        """Return the experiment with Sec. 4.1's updates, on ns-3."""
        return [Cause("longer", self.down())] if self.column == "ns3" else []

    def _stats(self, runs: Runs, buffer: str, value: str = "near_zero_ms") -> pd.DataFrame:
        return self.stats(runs, value, buffer)
