# SPDX-License-Identifier: Apache-2.0
"""Figure 11: 8, 10 and 20 CUBIC flows, half of them migrated, 4 GB in all. Sec. V-H."""

from __future__ import annotations

from itertools import product
from typing import Annotated, ClassVar, Literal

import pandas as pd
from matplotlib.figure import Figure
from pydantic import Field

from rdcnlab import competition, figures, tables
from rdcnlab.claims import Measured
from rdcnlab.items import Item
from rdcnlab.papers.aykurt.space import Periods, Point, Variant
from rdcnlab.runs import Runs
from rdcnlab.scenario import Scenario
from rdcnlab.scenario.fields import Listed

Flows = Literal[8, 10, 20]
#: Volume of all flows together.
_VOLUME_B = 4 * 2**30
_MS = 1_000_000


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
        with figures.style():
            figure, axes = figures.panels(len(self.periods_ms), len(self.flows), width=3.0)
            for (row, period), (column, flows) in product(enumerate(self.periods_ms), enumerate(self.flows)):
                ax = axes[row, column]
                stats = competition.mean_curves(self._of(runs, flows, period), competition.bin_ms(period) * _MS)
                for (group,), of_group in tables.groups(stats.assign(group=stats["flow"].map(tables.role)), ["group"]):
                    color = figures.look(group).color
                    for _, of_flow in tables.groups(of_group, ["flow"]):
                        ax.plot(of_flow["t_s"], of_flow["mean"] / 1e9, color=color, alpha=0.25, linewidth=0.6)
                    mean = of_group.groupby("t_s")["mean"].mean() / 1e9
                    ax.plot(mean.index, mean, color=color, label=f"{group} flows, mean")
                figures.reference(ax, 20 / flows, "share of a link, apart")
                ax.set(title=f"{flows} flows, {period} ms")
            for ax in axes[-1]:
                ax.set_xlabel("time [s]")
            for ax in axes[:, 0]:
                ax.set_ylabel("throughput [Gb/s]")
            figures.legend(figure, axes[0, 0])
        return figure

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
                gaps[f"{flows} flows"] = float(stats["low"]["main"]) - float(stats["high"]["migrated"])
            measured["lower-at-10"] = Measured(gaps)
        return measured

    def _of(self, runs: Runs, flows: int, period: int) -> Runs:
        """Return the runs of one panel."""
        return runs.select(
            lambda scenario: (
                len(scenario.flows) == flows
                and any(sum(slot.duration for slot in flow.slots) == 2 * period * _MS for flow in scenario.flows)
            )
        )


def _group_rates(runs: Runs) -> pd.DataFrame:
    """Return each group's throughput per flow [Gb/s], size over completion time, as a mean over runs."""
    flows = runs.flows
    rates = pd.DataFrame(
        {
            "run": flows["run"],
            "group": flows["flow"].map(tables.role),
            "gbps": 8e-9 * flows["size_B"] / flows["fct_s"],
        }
    )
    return tables.mean_ci(rates.groupby(["run", "group"])["gbps"].mean().reset_index(), ["group"], "gbps")
