# SPDX-License-Identifier: Apache-2.0
"""Figure 7: marks and retransmissions of two DCTCP flows, by marking threshold. Sec. V-D."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import Field

from rdcnlab.analysis import figures, tables
from rdcnlab.analysis.intervals import Estimate
from rdcnlab.analysis.resampling import StatisticsOfMeans, bootstraps_of_means
from rdcnlab.fields.quantities import Listed, whole
from rdcnlab.runs.frame import Runs
from rdcnlab.runs.parts import LINKS, Part
from rdcnlab.scenario import Scenario
from rdcnlab_papers.analysis import marks
from rdcnlab_papers.analysis.measured import Measured, means
from rdcnlab_papers.aykurt.space import WIDE_BINS, Periods, Volume, grid
from rdcnlab_papers.items.causes import Cause
from rdcnlab_papers.items.item import Item

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Thresholds = Annotated[tuple[Annotated[int, whole(1, 10_000)], ...], Field(min_length=1), Listed]


class Fig7(Item):
    """Two DCTCP flows at every threshold and period.

    Parameters
    ----------
    thresholds_kB : tuple of int
        Marking thresholds, kB of 1000 B.
    periods_ms : tuple of int
        Periods.
    size : str
        Volume of each flow.
    """

    reads: ClassVar[tuple[str, ...]] = ("flows", "throughput", "queues")
    parts: ClassVar[dict[str, Part]] = {"throughput": Part(("where", "packets"), LINKS)}
    runs_of_profile: ClassVar[dict[str, int]] = {"quick": 1, "paper": 30}

    thresholds_kB: Thresholds = (5, 10, 15, 20, 25)  # noqa: N815  (unit)
    periods_ms: Periods = (50, 25, 10, 5, 1)
    size: Volume = "2 GB"

    def points(self) -> list[Scenario]:
        """Return one scenario for each threshold, period and seed."""
        axes = {"cc": "dctcp", "period_ms": self.periods_ms, "size": self.size, "seed": range(self.count)}
        marking = [{"switch.ecn_threshold": f"{threshold} kB", **WIDE_BINS} for threshold in self.thresholds_kB]
        return [scenario for changes in marking for scenario in grid(changes, **axes)]

    def plot(self, runs: Runs) -> Figure:
        """Draw bars by threshold, one colour for each period: marked packets, and retransmissions."""
        rows = marks.count(runs)
        with figures.style():
            figure = figures.drawing(8.4, 2.8)
            marked, resent = figure.subplots(1, 2)
            for ax, column in ((marked, "marked"), (resent, "retransmits")):
                stats = tables.mean_ci(rows, ["period_ms", "threshold_kB"], column)
                by_period = {f"period {ms} ms": stats[stats["period_ms"] == ms] for ms in self.periods_ms}
                figures.bars(ax, by_period, "threshold_kB", [str(value) for value in self.thresholds_kB])
                ax.set_xlabel("marking threshold [kB]")
            marked.set_ylabel("marked packets [%]")
            resent.set_ylabel("retransmissions")
            figures.reference(marked, self.stated("marked-at-5"), "paper: at 5 kB")
            figures.legend(figure, marked)
        return figure

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure shares of marked packets, retransmissions, and their correlation."""
        rows = tables.with_seeds(marks.count(runs), runs.scenarios)

        def drawn(statistics: StatisticsOfMeans) -> dict[Hashable, Estimate]:
            return bootstraps_of_means(rows, marks.POINT, marks.NUMBERS, statistics)

        measured = {
            "marks-fall": Measured.by_case(drawn(marks.over_thresholds), "{:g} ms"),
            "marks-rise": Measured.by_case(drawn(marks.over_periods), "{:g} kB"),
            "marks-against-retransmissions": Measured.by_case(drawn(marks.against_retransmissions)),
            "marks-against-retransmissions was": Measured.by_case(marks.against_by_period(rows), "{:g} ms"),
        }
        if 5 in self.thresholds_kB:
            at_5 = rows[rows["threshold_kB"] == 5]
            measured["marked-at-5"] = Measured.by_case(means(at_5, "period_ms", "marked"), "{:g} ms")
            if len(self.thresholds_kB) > 1:
                measured["fewest-at-5"] = Measured.by_case(drawn(marks.more_at_5), "{:g} ms")
        return measured

    def causes(self) -> list[Cause]:
        """Return the origin of marks and drops, and the effect of the threshold if flows do not move."""
        moved = self.with_parameters(thresholds_kB=(5, 25), periods_ms=(50, 25), changes={"probes.bin": "1 ms"})
        thresholds, static = (5, 10, 15, 20, 25, 50, 100, 200), {"flows.migrated.path": "green"}
        never_moved = self.with_parameters(thresholds_kB=thresholds, periods_ms=(50,), changes=static)
        return [
            Cause("marked-at-5", moved, marks.marks_a_meeting),
            Cause("marks-fall", moved, marks.soon_after_moves),
            Cause("marks-fall", never_moved, marks.marked_by_threshold),
            Cause("fewest-at-5", never_moved, marks.retransmissions_by_threshold),
        ]
