# SPDX-License-Identifier: Apache-2.0
"""Figure 11: 8, 10 and 20 CUBIC flows, half of them migrated, 4 GB in total. Sec. V-H."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import pandas as pd
from pydantic import Field

from rdcnlab.analysis import tables
from rdcnlab.analysis.resampling import jackknife
from rdcnlab.fields.quantities import Listed
from rdcnlab.runs.frame import Runs
from rdcnlab.scenario import Scenario
from rdcnlab_papers.analysis import curves, rivals
from rdcnlab_papers.analysis.measured import Measured, difference, means
from rdcnlab_papers.aykurt.space import NO_ACKS, Periods, Variant, buffers, grid
from rdcnlab_papers.items.causes import Cause
from rdcnlab_papers.items.item import Item

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Flows = Literal[8, 10, 20]
#: Volume of all flows together.
_VOLUME_B = 4 * 2**30


class Fig11(Item):
    """Groups of main and migrated flows.

    Parameters
    ----------
    cc : str
        Variant of all flows.
    flows : tuple of {8, 10, 20}
        Number of flows of both groups together; one column of panels for each number.
    periods_ms : tuple of int
        Periods; one row of panels for each.
    """

    reads: ClassVar[tuple[str, ...]] = ("flows", "throughput")

    cc: Variant = "cubic"
    flows: Annotated[tuple[Flows, ...], Field(min_length=1), Listed] = (8, 10, 20)
    periods_ms: Periods = (50, 10)

    def points(self) -> list[Scenario]:
        """Return one scenario for each number of flows, period and seed."""
        axes = {"flows": self.flows, "period_ms": self.periods_ms, "seed": range(self.count)}
        return grid(
            lambda point: {"size": _VOLUME_B // point.flows, **NO_ACKS, "probes.bin": "5 ms"}, cc=self.cc, **axes
        )

    def plot(self, runs: Runs) -> Figure:
        """Draw each flow's mean throughput over time, and in bold the mean of each group's flows."""
        cases = {
            f"{flows} flows, period {ms} ms": (_runs_with(runs, flows, ms), ms)
            for ms, flows in product(self.periods_ms, self.flows)
        }
        return curves.plot_groups(cases, columns=len(self.flows), width=3.0)

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure the groups' completion times at 50 ms, and their throughput at 10 ms."""
        measured = {}
        if 50 in self.periods_ms:
            runs_by_flows = {flows: _runs_with(runs, flows, 50) for flows in self.flows}
            times = {
                n: tables.with_seeds(tables.completion(part.flows), part.scenarios) for n, part in runs_by_flows.items()
            }
            measured["equal-at-50"] = Measured({f"{n} flows": jackknife(part, _ratio) for n, part in times.items()})
        if 10 in self.periods_ms:
            rates = {flows: _group_rates(_runs_with(runs, flows, 10)) for flows in self.flows}
            gaps = {f"{n} flows": difference(rows.loc[["main"]], rows.loc[["migrated"]]) for n, rows in rates.items()}
            measured["lower-at-10"] = Measured(gaps)
        return measured

    def causes(self) -> list[Cause]:
        """Return an experiment with a larger buffer, which can hold the packets that migrated flows bring."""
        return [Cause("equal-at-50", self.with_parameters(periods_ms=(50,), changes=buffers("10 MB")))]


def _runs_with(runs: Runs, flows: int, period_ms: int) -> Runs:
    """Return the runs with `flows` flows at a period."""
    return rivals.moved_every(runs.select(lambda scenario: len(scenario.flows) == flows), period_ms)


def _ratio(times: pd.DataFrame) -> float:
    return float(times["migrated_s"].mean() / times["main_s"].mean())


def _group_rates(runs: Runs) -> pd.DataFrame:
    """Return each group's throughput per flow [Gb/s], as a mean over runs."""
    of_runs = tables.goodput(runs.flows).groupby(["run", "group"])["gbps"].mean().reset_index()
    return means(of_runs, "group", "gbps")
