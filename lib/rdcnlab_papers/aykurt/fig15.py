# SPDX-License-Identifier: Apache-2.0
"""Figure 15: a random forest predicts the prolongation of a migrated flow's completion time. Sec. VI-A."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import pandas as pd
from pydantic import Field

from rdcnlab.analysis import figures, tables
from rdcnlab.analysis.resampling import jackknife
from rdcnlab.fields.quantities import Listed
from rdcnlab.runs.frame import Runs
from rdcnlab.scenario import Scenario
from rdcnlab_papers.analysis import rivals
from rdcnlab_papers.analysis.measured import Measured
from rdcnlab_papers.aykurt.space import NO_ACKS, Downtime, Period, Volume, grid
from rdcnlab_papers.items.causes import Cause
from rdcnlab_papers.items.item import Item
from rdcnlab_papers.models import fct, forest, held_out

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Every period of Table I, and the periods of figure 9 with their downtimes.
_TIMES: tuple[tuple[Period, Downtime | None], ...] = (
    *((period, None) for period in (1, 5, 10, 25, 50, 100)),
    *((100, 10), (50, 5), (20, 2), (10, 1)),
)  # fmt: skip
#: The point that the paper calls the hardest.
_HARDEST = (9.0, 1.0)
#: The point that it names beside it: a period of 20 ms with a night of 2 ms.
_EASIER = (18.0, 2.0)
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

    undivided: ClassVar[str] = "the forest and its record of held-out runs are of all seeds"
    runs_of_profile: ClassVar[dict[str, int]] = {"quick": 1, "paper": 30}

    cc: Pairs = ("cubic", "reno", "westwood")
    size: Volume = "2 GB"

    def points(self) -> list[Scenario]:
        """Return one scenario for each ordered pair, day and night, and seed."""
        axes = {"size": self.size, "seed": range(self.count)}
        return [
            scenario
            for migrated in self.cc
            for main in self.cc
            for period, dark in _TIMES
            # figures 4 and 9 record ACKs for CUBIC, so these are the same runs
            for scenario in grid(
                {} if migrated == main == "cubic" else NO_ACKS,
                cc=migrated, main_cc=main, period_ms=period, downtime_ms=dark, **axes,
            )
        ]  # fmt: skip

    def plot(self, runs: Runs) -> Figure:
        """Draw measured and predicted values of held-out runs, over day and night, with a column for each pair."""
        stated = {claim.id: claim.expect for claim in self.claims.claims}
        with figures.single(9.6, 3.6) as (figure, ax):
            scores = held_out.draw(ax, fct.dataset(runs))
            ax.set_title(
                f"held out: R2 {scores.r2:.3g} (paper: {stated['r2'].at_least:g}), mean squared error "
                f"{scores.mse:.2g} s² (paper: {stated['mse'].at_most:g})"
            )
            names = ", ".join(figures.look(cc).label for cc in sorted(self.cc))
            figures.note(
                figure,
                f"From left to right: migrated flow {names}; with each of these the main flow in the same order.",
            )
        return figure

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure the range of prolongations, the quality of predictions, the hardest case, and important inputs."""
        # the ends of what was seen: no interval over seeds holds for them
        times = tables.with_seeds(tables.completion(runs.flows.assign(period_ms=0)), runs.scenarios)
        return {
            **held_out.judge(fct.dataset(runs), _HARDEST),
            "range": Measured.one(times["prolongation_s"].max()),
            "always-longer": Measured.one(times["prolongation_s"].min()),
        } | self._by_day(runs)

    def _by_day(self, runs: Runs) -> dict[str, Measured]:
        """Measure by how much the hardest point is prolonged more than a day of 18 ms (means over pairs)."""
        data = fct.dataset(runs)
        seeds = tables.with_seeds(tables.completion(runs.flows.assign(period_ms=0)).dropna(), runs.scenarios)["seed"]
        data = data.assign(seed=seeds.to_numpy())
        hard, easy = (_at(data, *point) for point in (_HARDEST, _EASIER))
        if hard.empty or easy.empty:
            return {}
        ratio = jackknife(
            pd.concat([hard, easy]), lambda rows: _mean(_at(rows, *_HARDEST)) / _mean(_at(rows, *_EASIER))
        )
        return {"less-at-20": Measured.one(ratio, f"{_mean(hard):.3g} s against {_mean(easy):.3g} s")}

    def causes(self) -> list[Cause]:
        """Return an experiment without modern loss recovery, the share of first ends, and errors by night."""
        without = self.with_parameters(cc=("reno",), size=self.size, changes={"transport.recovery": 0})
        ends_first = Cause("always-longer", self, rivals.ends_first)
        by_night = Cause("over-pairs", self, lambda runs: held_out.errors_by_night(fct.dataset(runs)))
        return [*(Cause(claim, without) for claim in ("range", "hardest", "important")), ends_first, by_night]

    def search_results(self, runs: Runs, *, workers: int | None = None) -> pd.DataFrame:
        """Return ``r2`` and ``mse`` of every combination of parameters that the paper tried, the best first.

        The quick profile tries only the ends of each parameter's range, with the smallest forests. The result of an
        earlier search is read from its file.
        """
        ends = {name: (values[0], values[-1]) for name, values in fct.GRID.items()}
        tried = fct.GRID if self.profile == "paper" else {**ends, "n_estimators": fct.GRID["n_estimators"][:1]}
        return pd.read_csv(forest.load_or_search(fct.dataset(runs), tried, workers=workers))

    def models(self, runs: Runs) -> list[Path]:
        """Return the forest with the paper's parameters, trained on all runs, and the records of its tests."""
        data = fct.dataset(runs)
        return [forest.load_or_train(data, fct.BEST), held_out.record(data).path, forest.load_or_search(data)]


def _at(data: pd.DataFrame, day_ms: float, night_ms: float) -> pd.DataFrame:
    return data[(data["day_ms"] == day_ms) & (data["night_ms"] == night_ms)]


def _mean(data: pd.DataFrame) -> float:
    return float(data[fct.TARGET].mean())
