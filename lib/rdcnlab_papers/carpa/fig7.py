# SPDX-License-Identifier: Apache-2.0
"""Figure 7: flows that share a bottleneck are rerouted together. Sec. IV-C."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import Field

from rdcnlab.fields.quantities import Listed, whole
from rdcnlab.runs.frame import Runs
from rdcnlab.scenario import Scenario
from rdcnlab_papers.analysis import rerouting
from rdcnlab_papers.analysis.measured import Measured, distance_above, trend
from rdcnlab_papers.carpa.groups import Grouped
from rdcnlab_papers.carpa.space import LONG, SHORT, Milliseconds
from rdcnlab_papers.items.causes import Cause

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Number of groups of the experiments, and their numbers of flows, by profile.
_GROUPS = {"quick": 2, "paper": 5}
_COUNTS = {"quick": (1, 9), "paper": (1, 5, 9)}
#: Time between moves in the paper, in s.
_PAPERS_EVERY_S = 200


class Fig7(Grouped):
    """Aggregate throughput of groups of flows that are rerouted together, by the number of flows of a group.

    Parameters
    ----------
    counts : tuple of int
        Numbers of flows of each group.
    extra_ms : int
        RTT of the longer path minus that of the shorter path.
    """

    counts: Annotated[tuple[Annotated[int, whole(1, 9)], ...], Field(min_length=2), Listed] = (1, 3, 5, 7, 9)
    extra_ms: Milliseconds = 50

    case_column: ClassVar[str] = "flows"
    unit: ClassVar[str] = "{} flows a group"

    def scenario(self, case: int, seed: int) -> Scenario:
        """Return the scenario of a number of flows."""
        return self.grouped(self.extra_ms, case, seed)

    @property
    def values(self) -> tuple[int, ...]:
        """The numbers of flows."""
        return self.counts

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure how the falls at moves depend on the number of flows."""
        drops = self.drops(runs)
        fewest, most = min(self.counts), max(self.counts)
        to_short = rerouting.by_link(drops, self.case_column, SHORT)
        slow = rerouting.by_link(drops, self.case_column, LONG, "recovered_s")
        return {
            "insignificant": Measured.by_case(to_short[to_short.index == most], "{} flows"),
            "falls-with-flows": Measured.one(trend(drops[drops["to"] == SHORT], self.case_column, "percent")),
            "recovers-quicker": distance_above(slow[slow.index == fewest], slow[slow.index == most]),
        }

    def causes(self) -> list[Cause]:
        """Return experiments as Linux 4.4, and with the paper's time between moves.

        They have the fewest and the most flows, and in the paper profile those between. Groups do not share a
        bottleneck, so a quarter of them tells the same with fewer packets.
        """
        if self.column == "4.4":
            return []
        small: dict[str, Any] = {
            "profile": self.profile,
            "counts": _COUNTS[self.profile],
            "groups": _GROUPS[self.profile],
        }
        rarely = self.with_parameters(**small, settle_s=_PAPERS_EVERY_S, every_s=_PAPERS_EVERY_S)
        return [
            Cause("falls-with-flows", self.with_parameters(**small, column="4.4")),
            Cause("falls-with-flows", rarely),
            Cause("recovers-quicker", rarely),
        ]

    def plot(self, runs: Runs) -> Figure:
        """Draw the aggregate throughput of all cases over time."""
        return self.curves(runs)
