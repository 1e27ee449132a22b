# SPDX-License-Identifier: Apache-2.0
"""Figure 8: all variants where the two networks differ in bandwidth only. Sec. 5.2."""

from __future__ import annotations

from typing import Any, ClassVar

from rdcnlab.analysis import weeks
from rdcnlab.papers.claims import Measured
from rdcnlab.papers.item import Cause
from rdcnlab.papers.tdtcp.graphs import Occupancy, Throughput, lowest, over
from rdcnlab.papers.tdtcp.space import CROSSING, Difference
from rdcnlab.runs.frame import Runs

#: The circuit's RTT in both networks: the paper does not say which of the two there was. As networks/tdtcp.yaml has it.
_SHORT: dict[str, Any] = {"network.links.packet.delay": "16257 ns", "network.links.circuit.delay": "19544 ns"}
#: Hosts learn so late of each change of networks.
_LATE: dict[str, Any] = {"notify": {"delay": "20 us"}}
_LATER: dict[str, Any] = {"notify": {"delay": "40 us"}}


class Fig8a(Throughput):
    """Sequence graphs."""

    id: ClassVar[str] = "fig8a"
    difference: ClassVar[Difference] = "bandwidth"

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure who is how far below TDTCP, and how near to optimal reTCPdyn is."""
        goodput = self.goodput(runs)
        below = {name: over(goodput, name, "tdtcp") for name in ("cubic", "dctcp")}
        optimal = weeks.bound_gbps(self.first)
        near = goodput[goodput.index == "retcpdyn"]["mean"] / optimal
        return {
            "slightly-below": Measured({name: each.cases[""] for name, each in below.items() if each.cases}),
            "mptcp-last": lowest(goodput, "mptcp"),
            "retcpdyn-optimal": Measured.one(float(near.iloc[0])) if len(near) else Measured(),
            "retcp-as-cubic": over(goodput, "retcp", "cubic"),
        }

    def causes(self) -> list[Cause]:
        """Return what the RTT, which is assumed, has to do with reTCPdyn."""
        return [
            Cause(
                "retcpdyn-optimal",
                "The paper does not give the RTT of this figure; here it is that of the packet network, 100 us. What a "
                "grown queue holds fills a path of 40 us better than one of 100 us. With 40 us in both networks",
                Fig8a(variants=("retcpdyn",), seeds=self.few, changes=_SHORT),
            ),
            Cause(
                "slightly-below",
                "Hosts and switches compute in no time here, and TDTCP's hosts know of a change at once. The paper "
                "does not say how late its own do. If it is 40 us",
                Fig8a(variants=("tdtcp", "cubic", "dctcp"), seeds=self.few, changes=_LATER),
            ),
            Cause(
                "mptcp-last",
                "It depends on what of a subflow waits for its network (see figure 7a). If nothing does",
                Fig8a(variants=("cubic", "dctcp", "mptcp"), seeds=self.few, changes=CROSSING),
            ),
        ]


class Fig8b(Occupancy):
    """Queues."""

    id: ClassVar[str] = "fig8b"
    difference: ClassVar[Difference] = "bandwidth"

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure whether TDTCP's mean is the lowest."""
        return {"tdtcp-lowest": lowest(self.means(runs), "tdtcp")}

    def causes(self) -> list[Cause]:
        """Return what late notifications do to TDTCP's queue."""
        alone = tuple(name for name in self.variants if name != "mptcp")
        return [
            Cause(
                "tdtcp-lowest",
                "MPTCP's is below in any case (see figure 7b), those of reTCP and DCTCP only if TDTCP's hosts know of "
                "a change at once. If it is 20 us later",
                Fig8b(variants=alone, seeds=self.few, changes=_LATE),
            )
        ]
