# SPDX-License-Identifier: Apache-2.0
"""Figure 11: 8, 10 and 20 CUBIC flows, half of them migrated, 4 GB in all. Sec. V-H."""

from __future__ import annotations

from itertools import product
from typing import Annotated, ClassVar, Literal

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from pydantic import Field

from rdcnlab.analysis import competition, figures, tables
from rdcnlab.fields.quantities import Listed
from rdcnlab.fields.units import NS_PER_MS
from rdcnlab.papers.aykurt.space import Periods, Point, Variant, buffers
from rdcnlab.papers.claims import Measured
from rdcnlab.papers.item import Cause, Item
from rdcnlab.runs.frame import Runs
from rdcnlab.scenario import Scenario

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
        Flows of both groups together; a column of panels each.
    periods_ms : tuple of int
        Periods; a row of panels each.
    """

    paper: ClassVar[str] = "aykurt"
    id: ClassVar[str] = "fig11"

    cc: Variant = "cubic"
    flows: Annotated[tuple[Flows, ...], Field(min_length=1), Listed] = (8, 10, 20)
    periods_ms: Periods = (50, 10)

    def points(self) -> list[Scenario]:
        """Return numbers of flows times periods times seeds."""
        return [
            Point(cc=self.cc, period_ms=period, flows=flows, seed=seed).scenario(
                **{"size": _VOLUME_B // flows, "probes.tcp": "none", "probes.bin": "5 ms"}
            )
            for flows, period, seed in product(self.flows, self.periods_ms, range(self.count))
        ]

    def needs(self, scenario: Scenario) -> tuple[str, ...]:  # noqa: ARG002
        """Return completion times and throughput."""
        return ("flows", "throughput")

    def plot(self, runs: Runs) -> Figure:
        """Draw each flow's mean throughput over time, and in bold that of each group's flows."""
        cases = {
            f"{flows} flows, {period} ms": (flows, period) for period, flows in product(self.periods_ms, self.flows)
        }

        def one(ax: Axes, title: str) -> None:
            flows, period = cases[title]
            stats = competition.mean_curves(self._of(runs, flows, period), competition.bin_ms(period) * NS_PER_MS)
            for (group,), of_group in tables.groups(stats.assign(group=stats["flow"].map(tables.role)), ["group"]):
                color = figures.look(group).color
                for _, of_flow in tables.groups(of_group, ["flow"]):
                    ax.plot(of_flow["t_s"], of_flow["mean"] / 1e9, color=color, alpha=0.25, linewidth=0.6)
                mean = of_group.groupby("t_s")["mean"].mean() / 1e9
                ax.plot(mean.index, mean, color=color, label=f"{group} flows, mean")
            line_rate = runs[0].scenario.network.links[0].rate / 1e9
            figures.reference(ax, 2 * line_rate / flows, "share of a link, apart")

        return competition.panels(list(cases), one, columns=len(self.flows), width=3.0)

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure the groups' completion times at 50 ms, and their throughput at 10 ms."""
        measured = {}
        if 50 in self.periods_ms:
            ratios = {}
            for flows in self.flows:
                times = tables.completion(self._of(runs, flows, 50).flows)[["main_s", "migrated_s"]].mean()
                ratios[f"{flows} flows"] = float(times["migrated_s"] / times["main_s"])
            measured["equal-at-50"] = Measured(ratios)
        if 10 in self.periods_ms:
            gaps = {}
            for flows in self.flows:
                stats = _group_rates(self._of(runs, flows, 10)).set_index("group")
                gaps[f"{flows} flows"] = tables.margin(stats.loc[["main"]], stats.loc[["migrated"]])
            measured["lower-at-10"] = Measured(gaps)
        return measured

    def causes(self) -> list[Cause]:
        """Return what the buffer has to do with it."""
        return [
            Cause(
                "equal-at-50",
                "Migrated flows come to the main ones' link with a queue's worth of data each time. What does not fit "
                "is lost, often a whole window, which nothing but a timeout of 200 ms repairs. In a buffer that takes "
                "it in, 10 MB, the ratios are",
                Fig11(periods_ms=(50,), seeds=self.few, changes=buffers("10 MB")),
            )
        ]

    def _of(self, runs: Runs, flows: int, period: int) -> Runs:
        """Return the runs of one panel."""
        return runs.select(
            lambda scenario: (
                len(scenario.flows) == flows
                and any(sum(slot.duration for slot in flow.slots) == 2 * period * NS_PER_MS for flow in scenario.flows)
            )
        )


def _group_rates(runs: Runs) -> pd.DataFrame:
    """Return each group's throughput per flow [Gb/s], as a mean over runs."""
    of_runs = tables.goodput(runs.flows).groupby(["run", "group"])["gbps"].mean().reset_index()
    return tables.mean_ci(of_runs, ["group"], "gbps")
