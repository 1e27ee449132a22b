# SPDX-License-Identifier: Apache-2.0
"""Figure 18: NUFTCP's throughput over time, large buffer. Sec. 4.2(2)."""

from __future__ import annotations

from typing import ClassVar

from rdcnlab.papers.dogar.simulation import Steadier
from rdcnlab.papers.item import Cause


class Fig18(Steadier):
    """Throughput of two flows of NUFTCP under inconsistent updates, with the large buffer."""

    buffers: ClassVar[tuple[str, ...]] = ("large",)

    def causes(self) -> list[Cause]:
        """Return an experiment without RACK, which ns-3 lacks, on the kernel."""
        if self.column == "ns3":
            return []
        return [Cause("steadier", self.changed(profile=self.profile, changes={"transport.recovery": 0}))]
