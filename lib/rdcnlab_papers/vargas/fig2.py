# SPDX-License-Identifier: Apache-2.0
"""Figure 2: CUBIC's share of the throughput over ECN and drop-tail thresholds. Sec. 6.3."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from rdcnlab.analysis import figures, tables
from rdcnlab.runs.frame import Runs
from rdcnlab_papers.analysis import heat
from rdcnlab_papers.analysis.measured import Measured, means
from rdcnlab_papers.items.causes import Cause
from rdcnlab_papers.vargas.grids import AT_1_GBPS, LEAST, ROWS, Grid

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Packets in bytes with segments of 536 B, the default of ns-3.
_NS3_MTU = 588
#: ECN thresholds in kB far below, below and above a drop threshold of 600 kB.
_FAR_APART = (25, 400, 1000)


class Fig2(Grid):
    """CUBIC's share of the throughput in percent, over the ECN threshold and the drop-tail threshold."""

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure how shares depend on thresholds, and the smallest and the largest share."""
        outcomes = self.grid_outcomes(runs)
        outcomes = outcomes.assign(dctcp=100 - outcomes["share"])
        over_ecn = heat.along(outcomes, "max_kB", "ecn_kB", "dctcp", least=LEAST)
        over_drop = heat.along(outcomes, "ecn_kB", "max_kB", "share", least=LEAST)
        shares = means(outcomes, ["ecn_kB", "max_kB"], "share")
        remark = f"where the share differs by {LEAST:g} points"
        return {
            "dctcp-by-lower-ecn": Measured.by_case(over_ecn, "drop {:g} kB", remark),
            "dctcp-by-higher-ecn": Measured.by_case(over_ecn, "drop {:g} kB", remark),
            "cubic-by-higher-drop": Measured.by_case(over_drop, "ECN {:g} kB", remark),
            "dctcp-dominates": _extreme(shares, lowest=True),
            "cubic-dominates": _extreme(shares, lowest=False),
        }

    def causes(self) -> list[Cause]:
        """Return experiments: one flow of each sender, and ns-3; for ns-3 the segments that it has by default."""
        if self.column == "ns3":
            small = self.with_parameters(profile=self.profile, mtu=_NS3_MTU, ecn_kB=_FAR_APART, **AT_1_GBPS)
            return [
                Cause("dctcp-by-lower-ecn", small),
                Cause("cubic-by-higher-drop", self, self._among_dominated),
            ]
        few = self.with_parameters(profile=self.profile, flows=1, ecn_kB=(25, 75, 150, 400), drop_kB=(600,), seeds=1)
        simulated = self.with_parameters(profile=self.profile, column="ns3", ecn_kB=(25,), drop_kB=(1800,), seeds=1)
        return [
            Cause("dctcp-by-lower-ecn", few),
            Cause("dctcp-by-higher-ecn", few),
            Cause("cubic-dominates", simulated),
        ]

    def _among_dominated(self, runs: Runs) -> Measured:
        """Measure how much CUBIC's share differs, by ECN threshold, among the settings that it dominates completely."""
        outcomes, claim = self.grid_outcomes(runs), self.expected("cubic-dominates")
        is_dominated = outcomes["share"] > (claim.above if claim and claim.above is not None else 100)
        shares = outcomes[is_dominated].groupby("ecn_kB")["share"]
        return Measured.by_case(tables.cases(shares.max() - shares.min(), "ECN {:g} kB"))

    def plot(self, runs: Runs) -> Figure:
        """Draw CUBIC's share as a heat map, and over the ECN threshold for some drop thresholds.

        Dotted is what the fluid model says. None of its numbers is from these runs.
        """
        from matplotlib.colors import Normalize

        share = self.table(runs, "share")
        with figures.style():
            figure = figures.drawing(9.2, 3.6)
            left, right = figure.subplots(1, 2, width_ratios=(5, 3))
            heat.draw(
                left, share, Normalize(0, 100), title=f"share of CUBIC [%], {self.where()}", label="",
                text="{:.0f}".format, map_="vlag",
            )  # fmt: skip
            columns = list(share.columns)[:: max(1, len(share.columns) // 4)]
            for drop, color in zip(columns, figures.shades(len(columns)), strict=True):
                right.plot(share.index, share[drop], "o-", color=color, markersize=3, label=f"{drop} kB")
                if self.column == "kernel":
                    right.plot(*self._fluid(int(drop)), ":", color=color, linewidth=1)
            if self.column == "kernel":
                right.plot([], [], ":", color=figures.REFERENCE, linewidth=1, label="fluid model")
            right.set(xlabel=ROWS, ylabel="share of CUBIC [%]", ylim=(0, 102), title="by drop threshold")
            figures.legend(figure, right)
        return figure

    def _fluid(self, drop_kB: int) -> tuple[pd.Series[float], pd.Series[float]]:  # noqa: N803  (unit)
        """Return ECN thresholds in kB, and CUBIC's share in percent by the fluid model."""
        ecn, _ = self.thresholds
        thresholds = range(min(ecn), max(ecn) + 1, 5)
        balance = self.balance((one, drop_kB) for one in thresholds)
        return pd.Series(thresholds, dtype=float), balance["share"]


def _extreme(shares: pd.DataFrame, *, lowest: bool) -> Measured:
    """Measure the smallest or the largest share of CUBIC, with its setting."""
    if not len(shares):
        return Measured()
    index = int(shares["mean"].to_numpy().argmin() if lowest else shares["mean"].to_numpy().argmax())
    return Measured.by_case(shares.iloc[[index]], "ECN {:g} kB, drop {:g} kB")
