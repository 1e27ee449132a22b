# SPDX-License-Identifier: Apache-2.0
"""Figure 15: a random forest that predicts by how much a migrated flow's completion time is prolonged. Sec. VI-A."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from pydantic import Field

from rdcnlab.analysis import figures
from rdcnlab.fields.quantities import Listed
from rdcnlab.models import fct, forest
from rdcnlab.papers.aykurt.space import Downtime, Period, Point, Volume
from rdcnlab.papers.claims import Measured
from rdcnlab.papers.item import Cause, Item
from rdcnlab.runs.frame import Runs
from rdcnlab.scenario import Scenario

#: Every period of Table I, and those of figure 9 with their downtimes.
_TIMES: tuple[tuple[Period, Downtime | None], ...] = (
    *((period, None) for period in (1, 5, 10, 25, 50, 100)),
    *((100, 10), (50, 5), (20, 2), (10, 1)),
)  # fmt: skip
#: The point that the paper calls the hardest.
_HARDEST = (9.0, 1.0)


class Fig15(Item):
    """Every ordered pair of variants over every day and night of the paper.

    Parameters
    ----------
    cc : tuple of str
        Variants of both flows.
    size : str
        Volume of each flow.
    """

    paper: ClassVar[str] = "aykurt"
    id: ClassVar[str] = "fig15"
    runs_of_profile: ClassVar[dict[str, int]] = {"quick": 1, "paper": 30}

    cc: Annotated[tuple[Literal["cubic", "reno", "westwood"], ...], Field(min_length=1), Listed] = (
        "cubic",
        "reno",
        "westwood",
    )
    size: Volume = "2 GB"

    def points(self) -> list[Scenario]:
        """Return pairs times days and nights times seeds."""
        return [
            Point(
                cc=migrated, main_cc=main, period_ms=period, downtime_ms=downtime, size=self.size, seed=seed
            ).scenario(
                # figures 4 and 9 have those of CUBIC with this probe: they are the same runs then
                **({} if migrated == main == "cubic" else {"probes.tcp": "none"})
            )
            for migrated, main, (period, downtime), seed in product(self.cc, self.cc, _TIMES, range(self.count))
        ]

    def data(self, runs: Runs) -> pd.DataFrame:
        """Return one row a run; see `rdcnlab.models.fct.dataset`."""
        return fct.dataset(runs)

    @staticmethod
    def _held_out(data: pd.DataFrame) -> forest.HeldOut:
        return forest.held_out(data, fct.BEST, trees=100)

    def plot(self, runs: Runs) -> Figure:
        """Draw what was measured and, beside it, what was predicted of runs held out, over day and night."""
        data = self.data(runs)
        scores = self._held_out(data).runs
        stated = {claim.id: claim.expect for claim in self.claims.claims}
        places = data[["day_ms", "night_ms"]].drop_duplicates().sort_values(["night_ms", "day_ms"])
        at = data[["day_ms", "night_ms"]].merge(places.assign(place=np.arange(len(places))), how="left")["place"]
        # side by side, and runs of one pair of variants above each other
        pair = data.groupby(["migrated", "main"]).ngroup()
        shift = (pair - pair.max() / 2) / (pair.max() + 1) * 0.35
        with figures.style():
            figure, axes = figures.panels(1, 1, width=7.2, height=3.2)
            ax = axes[0, 0]
            for values, side, name, marker in (
                (data[fct.TARGET], -0.2, "measured", "o"),
                (scores.predictions, 0.2, "predicted, held out", "x"),
            ):
                color = figures.look("main" if side < 0 else "migrated").color
                look = {"s": 10, "marker": marker, "color": color, "alpha": 0.5, "linewidth": 0.8}
                ax.scatter(at + side + shift, values, label=name, **look)
            labels = [f"{row.day_ms:g}\n{row.night_ms:g}" for row in places.itertuples()]
            ax.set_xticks(range(len(places)), labels)
            ax.set(
                xlabel="day [ms] above night [ms]",
                ylabel="prolongation [s]",
                title=f"held out: R2 {scores.r2:.3g} (paper: {stated['r2'].at_least:g}), mean squared error "
                f"{scores.mse:.2g} s² (paper: {stated['mse'].at_most:g})",
            )
            figures.legend(figure, ax)
        return figure

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure how well runs held out are predicted, which are hardest, and what matters."""
        data = self.data(runs)
        if len(data) < fct.FOLDS:
            return {}
        held = self._held_out(data)
        scores, grouped, lost = held.runs, held.scenarios, held.lost
        harder = f"folds of whole scenarios: {grouped.r2:.3f}" if grouped else ""
        off = (data[fct.TARGET] - scores.predictions).abs().groupby([data["day_ms"], data["night_ms"]]).mean()
        longest = data.groupby(["day_ms", "night_ms"])[fct.TARGET].mean()
        measured = {
            "r2": Measured.one(scores.r2, harder),
            "mse": Measured.one(scores.mse, f"folds of whole scenarios: {grouped.mse:.3g} s^2" if grouped else ""),
            "range": Measured({"longest": float(data[fct.TARGET].max())}, f"shortest: {data[fct.TARGET].min():.3g} s"),
        }
        if _HARDEST in off.index:
            ranks = {"residual": off.rank(ascending=False), "prolongation": longest.rank(ascending=False)}
            measured["hardest"] = Measured({name: float(rank[_HARDEST]) for name, rank in ranks.items()})
        listed = ", ".join(f"{name}: {value:.3g}" for name, value in lost.items())
        others = lost.drop(["day_ms", "night_ms"]).max()
        margins = {"day over night": lost["day_ms"] - lost["night_ms"], "night over others": lost["night_ms"] - others}
        measured["important"] = Measured({name: float(value) for name, value in margins.items()}, listed)
        return measured

    def causes(self) -> list[Cause]:
        """Return how today's loss recovery shortens what the dark costs."""
        without = Fig15(cc=("reno",), size=self.size, seeds=self.few, changes={"transport.recovery": 0})
        return [
            Cause(
                "range",
                "It hangs on how losses in the dark are found: here by RACK (RFC 8985), of which the paper's Linux "
                "4.15 had an earlier form. Without any, two flows of Reno",
                without,
            ),
            Cause(
                "hardest",
                "It has the longest prolongation, but one that can be predicted. Without RACK the ranks are",
                without,
            ),
            Cause(
                "important",
                "It hangs on the same: only scenarios with a night have long prolongations here. Without RACK",
                without,
            ),
        ]

    def searched(self, runs: Runs, *, workers: int | None = None) -> pd.DataFrame:
        """Return ``r2`` and ``mse`` of every combination of parameters that the paper tried, the best first.

        In the quick profile only the ends of each parameter's range, of the smallest forests. What was searched before
        is read.
        """
        ends = {name: (values[0], values[-1]) for name, values in fct.GRID.items()}
        grid = fct.GRID if self.profile == "paper" else {**ends, "n_estimators": fct.GRID["n_estimators"][:1]}
        return pd.read_csv(forest.searched(self.data(runs), grid, workers=workers))

    def models(self, runs: Runs) -> list[Path]:
        """Return the forest with the paper's parameters, trained on all runs, and the records of runs held out."""
        data = self.data(runs)
        return [forest.trained(data, fct.BEST), self._held_out(data).path, forest.searched(data)]
