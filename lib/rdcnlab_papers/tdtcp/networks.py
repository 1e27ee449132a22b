# SPDX-License-Identifier: Apache-2.0
"""Beyond the paper: TDTCP over 2 to 8 networks that differ in bandwidth and latency."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import pandas as pd
from pydantic import Field

from rdcnlab.analysis import figures, tables
from rdcnlab.fields.quantities import Listed
from rdcnlab.runs.frame import Runs
from rdcnlab.scenario import Scenario
from rdcnlab_papers.analysis import weeks
from rdcnlab_papers.analysis.measured import Measured, margins
from rdcnlab_papers.items.causes import Cause
from rdcnlab_papers.tdtcp.graphs import FEWER, Throughput, Variants
from rdcnlab_papers.tdtcp.space import PACED, several_networks

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Networks(Throughput):
    """Goodput by the number of networks. Each network has one day of the week.

    Parameters
    ----------
    counts : tuple of int
        Numbers of networks.
    """

    runs_of_profile: ClassVar[dict[str, int]] = FEWER

    variants: Variants = ("tdtcp", "cubic")
    counts: Annotated[tuple[Literal[2, 3, 4, 5, 6, 7, 8], ...], Field(min_length=1), Listed] = (2, 3, 4, 6, 8)

    @property
    def cases(self) -> tuple[str, ...]:
        """Names of the cases: each variant with each number of networks."""
        return tuple(f"{variant} {count}" for count in self.counts for variant in self.variants)

    def case(self, name: str) -> Scenario:
        """Return the scenario of a case."""
        variant, count = name.split()
        base = self.base(variant)
        return base.with_(**several_networks(base, int(count)))

    def shares(self, runs: Runs) -> pd.DataFrame:
        """Return by case the goodput as a share of the optimum: ``mean``, ``low``, ``high``, ``variant``, ``count``."""
        goodput = self.goodput(runs)
        optimal = {case.name: weeks.bound_gbps(case.scenario) for case in self.present_cases(runs)}
        stats = goodput[["mean", "low", "high"]].div(goodput.index.map(optimal), axis=0)
        parts = stats.index.str.split()
        return stats.assign(n=goodput["n"], variant=parts.str[0], count=parts.str[1].astype(int))

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure TDTCP's gain over CUBIC, and its share of the optimum."""
        shares = self.shares(runs)
        by_variant = {name: shares[shares["variant"] == name].set_index("count") for name in self.variants}
        measured: dict[str, Measured] = {}
        if "tdtcp" in by_variant:
            measured["near-optimal"] = Measured.by_case(by_variant["tdtcp"])
        if {"tdtcp", "cubic"} <= set(by_variant):
            measured["gains"] = Measured(
                margins(by_variant["tdtcp"], by_variant["cubic"]), tables.list_estimates(shares)
            )
        return measured

    def causes(self) -> list[Cause]:
        """Return an experiment that spreads the initial burst of a stored window, which is not the cause."""
        return [Cause("near-optimal", self.with_parameters(variants=("tdtcp",), counts=self.counts, changes=PACED))]

    def plot(self, runs: Runs) -> Figure:
        """Draw the shares over the number of networks."""
        shares = self.shares(runs)
        with figures.single(4.6, 3.0) as (figure, ax):
            for name in self.variants:
                figures.band(ax, shares[shares["variant"] == name].sort_values("count"), "count", name)
            figures.reference(ax, 1.0, "optimal")
            ax.set_xticks(self.counts)
            ax.set(xlabel="networks", ylabel="goodput, share of optimal", ylim=(0, 1.05))
        return self.caption(figure, runs)
