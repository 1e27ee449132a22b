# SPDX-License-Identifier: Apache-2.0
"""Figure 6: 20 independent flows are rerouted together. Sec. IV-B."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import Field

from rdcnlab.fields.quantities import Listed, whole
from rdcnlab.runs.frame import Runs
from rdcnlab.scenario import Scenario
from rdcnlab_papers.analysis import rerouting
from rdcnlab_papers.analysis.measured import Measured, margins, trend
from rdcnlab_papers.carpa.groups import TIMETABLE, Grouped
from rdcnlab_papers.carpa.space import LONG, SHORT, Milliseconds
from rdcnlab_papers.items.causes import Cause

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Fig6(Grouped):
    """Aggregate throughput of groups of flows that are rerouted together, by the extra delay of the longer path.

    Parameters
    ----------
    extras_ms : tuple of int
        RTT of the longer path minus that of the shorter path.
    per_group : int
        Number of flows of each group.
    """

    extras_ms: Annotated[tuple[Milliseconds, ...], Field(min_length=1), Listed] = (10, 30, 50, 70, 90)
    per_group: Annotated[int, whole(1, 9)] = 1

    case_column: ClassVar[str] = "extra_ms"
    unit: ClassVar[str] = "{} ms longer"

    def scenario(self, case: int, seed: int) -> Scenario:
        """Return the scenario of an extra delay."""
        return self.grouped(case, self.per_group, seed)

    @property
    def values(self) -> tuple[int, ...]:
        """The extra delays."""
        return self.extras_ms

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure the falls of the aggregate throughput at moves."""
        drops = self.drops(runs)
        by_link = {link: rerouting.by_link(drops, self.case_column, link) for link in (LONG, SHORT)}
        to_long = drops[drops["to"] == LONG]
        worst = {link: Measured.by_case(by_link[link][by_link[link].index == 10], "{} ms").cases for link in by_link}
        return {
            "drops-to-longer": Measured.by_case(by_link[LONG], "{} ms"),
            "drops-to-shorter": Measured.by_case(by_link[SHORT], "{} ms"),
            "marginal-at-10": Measured.by_case(by_link[SHORT][by_link[SHORT].index == 10], ""),
            "marginal-at-10 was": Measured({f"to the {link} path": next(iter(worst[link].values())) for link in worst})
            if 10 in self.extras_ms
            else Measured(),
            "grows-with-delay": Measured.one(trend(to_long, self.case_column, "percent")),
            "shorter-less": Measured(margins(by_link[LONG], by_link[SHORT], template="{} ms")),
        }

    def causes(self) -> list[Cause]:
        """Return experiments as Linux 4.4, with two of the differences, and with the paper's times, or with ours."""
        if self.column == "4.4":
            return []
        if self.column == TIMETABLE:
            return [Cause("drops-to-shorter", self.with_parameters(profile=self.profile, column="6.12"))]
        older = self.with_parameters(profile=self.profile, column="4.4", extras_ms=(50, 90))
        in_time = self.with_parameters(profile=self.profile, column=TIMETABLE)
        return [Cause("drops-to-shorter", older), Cause("drops-to-shorter", in_time)]

    def plot(self, runs: Runs) -> Figure:
        """Draw the aggregate throughput of all cases over time."""
        return self.curves(runs)
