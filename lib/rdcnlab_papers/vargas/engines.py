# SPDX-License-Identifier: Apache-2.0
"""Beyond the paper: shares and drops of figures 2 and 3 in Linux and on ns-3, in the same settings. Sec. 6.3."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pandas as pd

from rdcnlab.analysis import figures, tables
from rdcnlab.runs.frame import Runs
from rdcnlab.scenario import Scenario
from rdcnlab_papers.analysis.measured import Measured
from rdcnlab_papers.items.causes import Cause
from rdcnlab_papers.models import fluid
from rdcnlab_papers.vargas.grids import AT_1_GBPS, CLOSE, FEW, LEAST, ROWS, Grid

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Engines, and what figures call them.
ENGINES = {"kernel": "Linux", "ns3": "ns-3"}
_QUICK = (25, 150, 600), (200, 600)
#: ECN thresholds in kB of an experiment with fewer flows: below 300 kB, two packets of each of 100 flows of DCTCP.
_LOW = (75, 150, 250)
#: Fewer drops are drawn as so many: the axis is logarithmic.
_LEAST_DROPS = 100.0


class Engines(Grid):
    """Settings of figures 2 and 3 that are run in the kernel and on ns-3, with the same seed.

    The parameters are those of `Fig2`. By default there are 40 settings, and six in the quick profile.
    """

    undivided: ClassVar[str] = "every setting has one run on each engine"
    runs_of_profile: ClassVar[dict[str, int]] = {"quick": 1, "paper": 1}

    @property
    def thresholds(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """ECN thresholds and drop thresholds in kB."""
        default = _QUICK if self.profile == "quick" else FEW
        return self.ecn_kB or default[0], self.drop_kB or default[1]

    def points(self) -> list[Scenario]:
        """Return settings times seeds on each engine."""
        points = super().points()
        return [point.with_(**{"engine.kind": kind}) for kind in ENGINES for point in points]

    def compare(self, runs: Runs, value: str) -> pd.DataFrame:
        """Return the mean of an outcome by setting (rows: ``ecn_kB``, ``max_kB``) and engine (columns)."""
        rows = self.grid_outcomes(runs)
        return rows.groupby(["ecn_kB", "max_kB", "engine"])[value].mean().unstack("engine")[[*ENGINES]]

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure how alike the engines are, and the direction of DCTCP's share on each."""
        share = self.compare(runs, "share")
        by_ecn = share.unstack("max_kB")
        # from the lowest ECN threshold to the highest one, CUBIC loses what DCTCP wins
        won = by_ecn.iloc[0] - by_ecn.iloc[-1]
        # elsewhere the shares of a column differ by no more than the errors of runs
        won = won[by_ecn.max() - by_ecn.min() >= LEAST]
        return {
            "dctcp-by-higher-ecn": Measured.by_case(
                {
                    f"{label}, drop {drop:g} kB": points
                    for kind, label in ENGINES.items()
                    for drop, points in won[won.index.get_level_values("engine") == kind].droplevel("engine").items()
                },
                note=f"where the share differs by {LEAST:g} points",
            ),
            **self._agreement(runs),
        }

    def _agreement(self, runs: Runs, below: float = math.inf) -> dict[str, Measured]:
        """Measure how alike the engines are in settings whose drop threshold is below so many ECN thresholds."""
        share, drops = (
            self.compare(runs, value).query("max_kB < @below * ecn_kB", local_dict={"below": below})
            for value in ("share", "drops")
        )
        difference = (share["kernel"] - share["ns3"]).abs()
        settings = f"{len(share)} settings"
        return {
            "same-order": Measured.one(tables.spearman(share["kernel"], share["ns3"]), settings),
            "same-shares": Measured.one(float(difference.median()), f"{settings}, largest {difference.max():.0f}"),
            "same-order-of-drops": Measured.one(tables.spearman(drops["kernel"], drops["ns3"]), settings),
        }

    def causes(self) -> list[Cause]:
        """Return settings with close thresholds, the fluid model with each engine's least window, and fewer flows."""
        experiment = {"profile": self.profile, "ecn_kB": _LOW, **AT_1_GBPS}
        return [
            Cause("same-order", self, lambda runs: self._agreement(runs, CLOSE[1])["same-order"]),
            Cause("same-shares", self, self._from_fluid),
            *(Cause("same-shares", self.with_parameters(flows=flows, **experiment)) for flows in (1, 10)),
            Cause("same-order-of-drops", self, lambda runs: self._agreement(runs, CLOSE[1])["same-order-of-drops"]),
        ]

    def _from_fluid(self, runs: Runs) -> Measured:
        """Measure the median difference of each engine's shares from the fluid model, with each least window."""
        share = self.compare(runs, "share")
        thresholds = [(int(ecn), int(drop)) for ecn, drop in share.index]
        differences = {}
        for name, least in (("Linux", fluid.LINUX), ("ns-3", fluid.NS3)):
            of_model = self.balance(thresholds, least=least)["share"].to_numpy()
            for kind, label in ENGINES.items():
                difference = np.abs(of_model - share[kind].to_numpy())
                differences[f"{label}, least of {name}"] = float(np.median(difference))
        return Measured.by_case(differences)

    def plot(self, runs: Runs) -> Figure:
        """Draw shares and drops of the engines against each other, and CUBIC's share over the ECN threshold on both."""
        share, drops = self.compare(runs, "share"), self.compare(runs, "drops").clip(lower=_LEAST_DROPS)
        thresholds = sorted(share.index.unique("max_kB"))
        colors = dict(zip(thresholds, figures.shades(len(thresholds)), strict=True))
        with figures.style():
            figure = figures.drawing(10.4, 3.4)
            left, middle, right = figure.subplots(1, 3)
            for drop, color in colors.items():
                of_column = share.xs(drop, level="max_kB")
                middle.plot(of_column.index, of_column["kernel"], "o-", color=color, markersize=3, label=f"{drop:g} kB")
                middle.plot(of_column.index, of_column["ns3"], "s:", color=color, markersize=3)
            for style, name in (("o-", ENGINES["kernel"]), ("s:", ENGINES["ns3"])):
                middle.plot([], [], style, color=figures.REFERENCE, markersize=3, label=name)
            middle.set(xlabel=ROWS, ylabel="share of CUBIC [%]", ylim=(0, 102), title="by drop threshold")
            figures.legend(figure, middle)
            _against(left, share, colors, title=f"share of CUBIC [%]\n{self.where()}")
            left.set(xlim=(-2, 102), ylim=(-2, 102))
            _against(right, drops, colors, title="drops in 120 s")
            right.set(xscale="log", yscale="log")
        return figure


def _against(ax: Axes, values: pd.DataFrame, colors: dict[float, str], *, title: str) -> None:
    """Draw each setting's value on ns-3 over that in the kernel; on the dotted line both are equal."""
    for drop, color in colors.items():
        of_column = values.xs(drop, level="max_kB")
        ax.plot(of_column["kernel"], of_column["ns3"], "o", color=color, markersize=3.5, clip_on=False)
    ends = [float(values.to_numpy().min()), float(values.to_numpy().max())]
    ax.plot(ends, ends, color=figures.REFERENCE, linestyle=":", linewidth=0.8)
    ax.set(title=title, xlabel=ENGINES["kernel"], ylabel=ENGINES["ns3"])
    ax.set_aspect("equal")
