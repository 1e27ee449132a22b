# SPDX-License-Identifier: Apache-2.0
"""Figure 8(a): throughput of all variants if the two networks differ only in bandwidth. Sec. 5.2."""

from __future__ import annotations

from typing import Any, ClassVar

from rdcnlab.analysis import weeks
from rdcnlab.analysis.intervals import estimates
from rdcnlab.analysis.measured import Measured, lowest, over
from rdcnlab.papers.item import Cause
from rdcnlab.papers.tdtcp.graphs import Throughput
from rdcnlab.papers.tdtcp.space import CROSSING, Difference
from rdcnlab.runs.frame import Runs

#: The circuit's RTT in both networks, from networks/tdtcp.yaml. The paper does not say which of the two RTTs it used.
_SHORT: dict[str, Any] = {"network.links.packet.delay": "16257 ns", "network.links.circuit.delay": "19544 ns"}
#: The delay after which hosts are notified of each change of the network.
_LATER: dict[str, Any] = {"notify": {"delay": "40 us"}}


class Fig8a(Throughput):
    """Sequence graphs."""

    difference: ClassVar[Difference] = "bandwidth"

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure how far other variants are below TDTCP, and how near reTCPdyn is to the optimum."""
        goodput = self.goodput(runs)
        below = {name: over(goodput, name, "tdtcp") for name in ("cubic", "dctcp")}
        mean = estimates(goodput)
        return {
            "slightly-below": Measured({name: each.cases[""] for name, each in below.items() if each.cases}),
            "mptcp-last": lowest(goodput, "mptcp"),
            "retcpdyn-optimal": Measured.one(mean["retcpdyn"] / weeks.bound_gbps(self.first))
            if "retcpdyn" in mean
            else Measured(),
            "retcp-as-cubic": over(goodput, "retcp", "cubic"),
        }

    def causes(self) -> list[Cause]:
        """Return experiments on the effects of the assumed RTT, of late notifications and of MPTCP's isolation."""
        return [
            Cause("retcpdyn-optimal", self.again(variants=("retcpdyn",), changes=_SHORT)),
            Cause("slightly-below", self.again(variants=("tdtcp", "cubic", "dctcp"), changes=_LATER)),
            Cause("mptcp-last", self.again(variants=("cubic", "dctcp", "mptcp"), changes=CROSSING)),
        ]
