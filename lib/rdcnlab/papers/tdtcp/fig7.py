# SPDX-License-Identifier: Apache-2.0
"""Figure 7: all variants where the two networks differ in bandwidth and latency. Sec. 5.2."""

from __future__ import annotations

from typing import ClassVar

from rdcnlab.papers.claims import Measured
from rdcnlab.papers.item import Cause
from rdcnlab.papers.tdtcp.graphs import Occupancy, Throughput, above, lowest, over
from rdcnlab.papers.tdtcp.space import ACKS_APART, AFTER, AHEAD, BEFORE, CROSSING, PACED, STEADY
from rdcnlab.runs.frame import Runs

#: What follows the burst, us into the week.
_THEN = (100, 300)


class Fig7a(Throughput):
    """Sequence graphs."""

    id: ClassVar[str] = "fig7a"

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure how much more TDTCP carries than each of the others."""
        goodput = self.goodput(runs)
        measured = {f"over-{other}": over(goodput, "tdtcp", other) for other in ("cubic", "dctcp", "mptcp", "retcpdyn")}
        return measured | {"retcp-as-cubic": over(goodput, "retcp", "cubic")}

    def causes(self) -> list[Cause]:
        """Return what the burst of a window that was kept costs."""
        return [
            Cause(
                "over-dctcp",
                "The window of a network that comes back leaves at once and overflows the queue of 16 packets: the "
                "initial burst of Sec. 5.2. Paced, segment by segment, TDTCP carries more",
                Fig7a(variants=("tdtcp", "cubic", "dctcp"), seeds=self.few, changes=PACED),
            ),
            Cause(
                "over-mptcp",
                "It depends on what of a subflow waits for its network. ACKs do here, as the paper has it. It was not "
                "found what else its prototype holds back: LIA is not in Linux. If nothing waits and subflows cross",
                Fig7a(variants=("tdtcp", "mptcp"), seeds=self.few, changes=CROSSING),
            ),
            Cause(
                "retcp-as-cubic",
                "Not found. A part of it is that ACKs have their circuit on the same day. On another day, as in the "
                "public artefact, the circuit's RTT is 70 us and not 40",
                Fig7a(variants=("cubic", "retcp"), seeds=self.few, changes=ACKS_APART),
            ),
        ]


class Fig7b(Occupancy):
    """Queues."""

    id: ClassVar[str] = "fig7b"

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure means, TDTCP's burst after the circuit, and reTCPdyn's queue ahead of it."""
        burst, later = self.means(runs, AFTER), self.means(runs, STEADY)
        ahead, before = self.means(runs, AHEAD), self.means(runs, BEFORE)
        return {
            "tdtcp-lowest": lowest(self.means(runs), "tdtcp"),
            "tdtcp-burst": above(burst[burst.index == "tdtcp"], later[later.index == "tdtcp"]),
            "retcpdyn-ahead": above(ahead[ahead.index == "retcpdyn"], before[before.index == "retcpdyn"]),
        }

    def causes(self) -> list[Cause]:
        """Return whose queue is shorter, and what the burst stands out from."""
        return [
            Cause(
                "tdtcp-lowest",
                "MPTCP's is below in any case: its queue is short when its packet network has come back, and it "
                "carries less (figure 7a). That of reTCP is as short as TDTCP's unless the initial burst of Sec. 5.2 "
                "is paced. Then reTCP's is above it by",
                Fig7b(variants=("tdtcp", "retcp"), profile=self.profile, seeds=self.seeds, changes=PACED),
            ),
            Cause(
                "tdtcp-burst",
                "The burst is there, but the queue is as long again at the end of the packet days, when the window has "
                "grown for a millisecond. Against the 200 us that follow the burst",
                self,
                self._after_the_burst,
            ),
        ]

    def _after_the_burst(self, runs: Runs) -> Measured:
        burst, then = self.means(runs, AFTER), self.means(runs, _THEN)
        return above(burst[burst.index == "tdtcp"], then[then.index == "tdtcp"])
