# SPDX-License-Identifier: Apache-2.0
"""Figure 2: CUBIC and MPTCP against what the hybrid network could carry. Sec. 2.2."""

from __future__ import annotations

from typing import ClassVar

from rdcnlab.papers.claims import Measured
from rdcnlab.papers.item import Cause
from rdcnlab.papers.tdtcp.graphs import Throughput, Variants, above
from rdcnlab.papers.tdtcp.space import ACKS_APART, CROSSING
from rdcnlab.runs.frame import Runs


class Fig2(Throughput):
    """Sequence graphs of CUBIC and MPTCP."""

    id: ClassVar[str] = "fig2"

    variants: Variants = ("cubic", "mptcp")

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure slopes in packet days and in circuit days, as shares of optimal."""
        goodput = self.goodput(runs)
        packet, circuit = self.slopes(runs, "packet"), self.slopes(runs, "circuit")
        return {
            "parallel-in-packet-days": Measured(packet),
            "shallow-in-circuit-days": Measured(circuit),
            "mptcp-less": above(goodput[goodput.index == "cubic"], goodput[goodput.index == "mptcp"]),
        }

    def causes(self) -> list[Cause]:
        """Return what the reverse direction's circuit has to do with the slope, and what MPTCP's isolation."""
        crossing = Fig2(seeds=self.few, changes=CROSSING)
        return [
            Cause(
                "shallow-in-circuit-days",
                "Path and queue of the packet network hold 30 packets; with an RTT of 40 us these alone are more than "
                "half of 100 Gb/s. In the public artefact ACKs have their circuit on another day, and the RTT is 70 us",
                Fig2(variants=("cubic",), seeds=self.few, changes=ACKS_APART),
            ),
            Cause(
                "parallel-in-packet-days",
                "It is MPTCP's, and depends on what of a subflow waits for its network (see figure 7a). If nothing "
                "does",
                crossing,
            ),
            Cause(
                "mptcp-less",
                "It depends on what of a subflow waits for its network (see figure 7a). If nothing does",
                crossing,
            ),
        ]
