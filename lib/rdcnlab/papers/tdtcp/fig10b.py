# SPDX-License-Identifier: Apache-2.0
"""Figure 10(b): packets to be retransmitted by optical day. Sec. 5.3."""

from __future__ import annotations

import math
from typing import ClassVar

from matplotlib.axes import Axes

from rdcnlab.analysis import figures
from rdcnlab.analysis.measured import Measured
from rdcnlab.papers.item import Cause
from rdcnlab.papers.tdtcp.fig10a import Fig10a
from rdcnlab.papers.tdtcp.space import PACED
from rdcnlab.runs.frame import Runs


class Fig10b(Fig10a):
    """Retransmissions in every day of the circuit; everything else is as in `Fig10a`."""

    event: ClassVar[str] = "retransmit"
    label: ClassVar[str] = "retransmissions in a day"

    def mark(self, ax: Axes) -> None:
        """Mark the paper's 90th percentiles and maxima. The claims allow a factor in both directions."""
        for name in self.variants:
            points = [(self.expected(f"{claim}-{name}"), share) for claim, share in (("p90", 0.9), ("most", 1.0))]
            known = [(math.sqrt(math.prod(each.between)), at) for each, at in points if each and each.between]
            figures.stated(ax, name, known)

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure the 90th percentile and the maximum."""
        counted = self.counts(runs, self.event)
        measured = {}
        for name in {"cubic", "tdtcp"} & set(counted):
            measured[f"p90-{name}"] = Measured.one(float(counted[name]["count"].quantile(0.9)))
            measured[f"most-{name}"] = Measured.one(counted[name]["count"].max())
        return measured

    def causes(self) -> list[Cause]:
        """Return an experiment that spreads a stored window's burst, and CUBIC's retransmissions per lost packet."""
        paced = self.again(variants=("tdtcp",), changes=PACED)
        return [Cause("p90-tdtcp", paced), Cause("most-cubic", self, self._for_each_lost)]

    def _for_each_lost(self, runs: Runs) -> Measured:
        found: dict[str, float] = {}
        for case in self.present(runs):
            events = case.runs.events["event"]
            lost = int(events.str.startswith("drop").sum())
            found[case.name] = int((events == "retransmit").sum()) / lost if lost else float("nan")
        return Measured(found)
