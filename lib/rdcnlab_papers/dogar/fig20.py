# SPDX-License-Identifier: Apache-2.0
"""Figure 20: NUFTCP's throughput over time, small buffer. Sec. 4.2(2)."""

from __future__ import annotations

from typing import ClassVar

from rdcnlab_papers.dogar.simulation import Steadier
from rdcnlab_papers.items.causes import Cause


class Fig20(Steadier):
    """Throughput of two flows of NUFTCP under inconsistent updates, with the small buffer."""

    buffers: ClassVar[tuple[str, ...]] = ("small",)

    def causes_of_defaults(self) -> list[Cause]:
        """Return the experiment with Sec. 4.1 and algorithm 2 taken literally, on ns-3."""
        return [Cause("steadier", self.literal())] if self.column == "ns3" else []
