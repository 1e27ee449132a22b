# SPDX-License-Identifier: Apache-2.0
"""Figure 18: NUFTCP's throughput over time, large buffer. Sec. 4.2(2)."""

from __future__ import annotations

from typing import ClassVar

from rdcnlab_papers.dogar.simulation import Steadier
from rdcnlab_papers.items.causes import Cause


class Fig18(Steadier):
    """Throughput of two flows of NUFTCP under inconsistent updates, with the large buffer."""

    buffers: ClassVar[tuple[str, ...]] = ("large",)

    def causes_of_defaults(self) -> list[Cause]:
        """Return experiments with Sec. 4.1 and algorithm 2 taken literally, and without RACK, which ns-3 lacks."""
        literal = Cause("steadier", self.literal())
        if self.column == "ns3":
            return [literal]
        return [
            literal,
            Cause("steadier", self.without_rack()),
        ]
