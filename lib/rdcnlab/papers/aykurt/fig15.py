# SPDX-License-Identifier: Apache-2.0
"""Figure 15: a random forest that predicts by how much a migrated flow's completion time is prolonged. Sec. VI-A."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from pydantic import Field

from rdcnlab.analysis import figures
from rdcnlab.analysis.measured import Measured
from rdcnlab.fields.quantities import Listed
from rdcnlab.models import fct, forest
from rdcnlab.papers.aykurt.space import NO_ACKS, Downtime, Period, Volume, grid
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
_AT = ["day_ms", "night_ms"]
Pairs = Annotated[tuple[Literal["cubic", "reno", "westwood"], ...], Field(min_length=1), Listed]


class Fig15(Item):
    """Every ordered pair of variants over every day and night of the paper.

    Parameters
    ----------
    cc : tuple of str
        Variants of both flows.
    size : str
        Volume of each flow.
    """

    runs_of_profile: ClassVar[dict[str, int]] = {"quick": 1, "paper": 30}

    cc: Pairs = ("cubic", "reno", "westwood")
    size: Volume = "2 GB"

    def points(self) -> list[Scenario]:
        """Return pairs times days and nights times seeds."""
        of = {"size": self.size, "seed": range(self.count)}
        return [
            each
            for migrated in self.cc
            for main in self.cc
            for period, dark in _TIMES
            # figures 4 and 9 have those of CUBIC with ACKs: they are the same runs then
            for each in grid(
                {} if migrated == main == "cubic" else NO_ACKS,
                cc=migrated, main_cc=main, period_ms=period, downtime_ms=dark, **of,
            )
        ]  # fmt: skip

    def plot(self, runs: Runs) -> Figure:
        """Draw what was measured and, beside it, what was predicted of runs held out, over day and night."""
        data = fct.dataset(runs)
        scores = fct.score(data, fct.forest(**fct.BEST))
        places = data[_AT].drop_duplicates().sort_values(_AT[::-1])
        at = data[_AT].merge(places.assign(place=np.arange(len(places))), how="left")["place"]
        # side by side, and runs of one pair of variants above each other
        pair = data.groupby(["migrated", "main"]).ngroup()
        shift = (pair - pair.max() / 2) / (pair.max() + 1) * 0.35
        stated = {claim.id: claim.expect for claim in self.claims.claims}
        with figures.single(7.2, 3.2) as (figure, ax):
            for values, side, name, marker in (
                (data[fct.TARGET], -0.2, "measured", "o"),
                (scores.predictions, 0.2, "predicted, held out", "x"),
            ):
                color = figures.look("main" if side < 0 else "migrated").color
                look: dict[str, Any] = {"s": 10, "marker": marker, "color": color, "alpha": 0.5, "linewidth": 0.8}
                ax.scatter(at + side + shift, values, label=name, **look)
            ax.set_xticks(range(len(places)), [f"{row.day_ms:g}\n{row.night_ms:g}" for row in places.itertuples()])
            ax.set(
                xlabel="day [ms] above night [ms]",
                ylabel="prolongation [s]",
                title=f"held out: R2 {scores.r2:.3g} (paper: {stated['r2'].at_least:g}), mean squared error "
                f"{scores.mse:.2g} s² (paper: {stated['mse'].at_most:g})",
            )
        return figure

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure how well runs held out are predicted, which are hardest, and what matters."""
        data = fct.dataset(runs)
        if len(data) < fct.FOLDS:
            return {}
        model = fct.forest(**fct.BEST)
        scores = fct.score(data, model)
        grouped = fct.score(data, model, "scenarios") if data["scenario"].nunique() >= fct.FOLDS else None
        harder = "folds of whole scenarios:"
        target = data[fct.TARGET]
        measured = {
            "r2": Measured.one(scores.r2, f"{harder} {grouped.r2:.3f}" if grouped else ""),
            "mse": Measured.one(scores.mse, f"{harder} {grouped.mse:.3g} s^2" if grouped else ""),
            "range": Measured({"longest": float(target.max())}, f"shortest: {target.min():.3g} s"),
            "important": _important(data),
        }
        off = data.assign(residual=(target - scores.predictions).abs(), prolongation=target).groupby(_AT)
        ranks = off[["residual", "prolongation"]].mean().rank(ascending=False)
        if _HARDEST in ranks.index:
            measured["hardest"] = Measured({str(name): float(rank[_HARDEST]) for name, rank in ranks.items()})
        return measured

    def causes(self) -> list[Cause]:
        """Return what comes out without today's loss recovery, which shortens what the dark costs."""
        without = self.again(cc=("reno",), size=self.size, changes={"transport.recovery": 0})
        return [Cause(claim, without) for claim in ("range", "hardest", "important")]

    def searched(self, runs: Runs, *, workers: int | None = None) -> pd.DataFrame:
        """Return ``r2`` and ``mse`` of every combination of parameters that the paper tried, the best first.

        In the quick profile only the ends of each parameter's range, of the smallest forests. What was searched before
        is read.
        """
        ends = {name: (values[0], values[-1]) for name, values in fct.GRID.items()}
        tried = fct.GRID if self.profile == "paper" else {**ends, "n_estimators": fct.GRID["n_estimators"][:1]}
        return pd.read_csv(forest.searched(fct.dataset(runs), tried, workers=workers))

    def models(self, runs: Runs) -> list[Path]:
        """Return the forest with the paper's parameters, trained on all runs, and the record of the search."""
        data = fct.dataset(runs)
        return [forest.trained(data, fct.BEST), forest.searched(data)]


def _important(data: pd.DataFrame) -> Measured:
    """Measure by how much day and night matter more than what comes next."""
    lost = fct.importances(data, fct.forest(**{**fct.BEST, "n_estimators": 100}))
    others = lost.drop(_AT).max()
    margins = {"day over night": lost["day_ms"] - lost["night_ms"], "night over others": lost["night_ms"] - others}
    listed = ", ".join(f"{name}: {value:.3g}" for name, value in lost.items())
    return Measured({name: float(value) for name, value in margins.items()}, listed)
