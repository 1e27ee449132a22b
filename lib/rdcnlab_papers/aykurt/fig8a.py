# SPDX-License-Identifier: Apache-2.0
"""Figure 8(a): two DCTCP flows. Sec. V-D."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from rdcnlab.analysis import figures, tables
from rdcnlab.analysis.intervals import estimates
from rdcnlab.analysis.resampling import jackknife
from rdcnlab.fields.quantities import whole
from rdcnlab.runs.frame import Runs
from rdcnlab.scenario import Scenario
from rdcnlab_papers.analysis import competition, curves, rivals
from rdcnlab_papers.analysis.measured import Measured
from rdcnlab_papers.analysis.rivals import moved_every
from rdcnlab_papers.aykurt.space import NO_ACKS, Periods, Variant, Volume, grid
from rdcnlab_papers.items.item import Item

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Fig8a(Item):
    """A main DCTCP flow and a migrated one.

    Parameters
    ----------
    threshold_kB : int
        Marking threshold, kB of 1000 B.
    periods_ms : tuple of int
        Periods; one panel for each.
    size : str
        Volume of each flow.
    """

    reads: ClassVar[tuple[str, ...]] = ("flows", "throughput")
    migrated: ClassVar[Variant] = "dctcp"

    threshold_kB: Annotated[int, whole(1, 10_000)] = 5  # noqa: N815  (unit)
    periods_ms: Periods = (50, 10)
    size: Volume = "2 GB"

    def points(self) -> list[Scenario]:
        """Return one scenario for each period and seed."""
        marks = {"switch.ecn_threshold": f"{self.threshold_kB} kB", **NO_ACKS}
        axes = {"period_ms": self.periods_ms, "size": self.size, "seed": range(self.count)}
        return grid(marks, cc=self.migrated, main_cc="dctcp", **axes)

    def plot(self, runs: Runs) -> Figure:
        """Draw the mean throughput of both flows over time with its interval, one panel for each period."""
        title = f"{figures.look(self.migrated).label} migrated, DCTCP main, period {{}} ms"
        cases = {title.format(ms): (moved_every(runs, ms), ms) for ms in self.periods_ms}
        return curves.plot(cases, width=3.6, stated=dict.fromkeys(cases, self.stated_rates))

    @property
    def stated_rates(self) -> curves.Stated:
        """The rates [Gb/s] that the paper states; see `rdcnlab_papers.analysis.curves.plot`."""
        return {"apart": (self.stated("full-rate"), "paper: apart")}

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure fairness on one link, rates on different links, and completion times."""
        runs_by_case = {f"{period} ms": moved_every(runs, period) for period in self.periods_ms}
        samples = {case: competition.phases(case_runs) for case, case_runs in runs_by_case.items()}
        full = {case: estimates(competition.peaks(rows)).items() for case, rows in samples.items()}
        times = {
            case: tables.with_seeds(tables.completion(case_runs.flows), case_runs.scenarios)
            for case, case_runs in runs_by_case.items()
        }
        return {
            "fair": Measured({case: competition.fairness(rows) for case, rows in samples.items()}),
            "fair was": Measured(
                {case: tables.jain(competition.shared_rates(rows)["mean"]) for case, rows in samples.items()}
            ),
            "full-rate": Measured({f"{case}, {flow}": rate for case, rates in full.items() for flow, rate in rates}),
            "equal": Measured({case: jackknife(rows, rivals.unequal) for case, rows in times.items()}),
        }
