# SPDX-License-Identifier: Apache-2.0
"""Predict the prolongation in many networks: the model that the paper leaves to future work. Sec. VII."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import pandas as pd

from rdcnlab.analysis import figures
from rdcnlab.fields.quantities import whole
from rdcnlab.runs.frame import Runs
from rdcnlab.scenario import Scenario
from rdcnlab_papers.analysis.measured import Measured
from rdcnlab_papers.aykurt.space import WIDE_BINS, Point, Variants
from rdcnlab_papers.items.causes import Cause
from rdcnlab_papers.items.item import Item
from rdcnlab_papers.models import general, space

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Number of scenarios by profile. A power of 2 fills the space evenly.
_SCENARIOS = {"quick": 64, "paper": 1024}
#: Smallest number of scenarios for which there are intervals.
_LEAST = 60
_WORDS = {
    "migrated": "variant, migrated", "main": "variant, main", "day_ms": "day", "night_ms": "night",
    "buffer_kB": "buffer", "rtt_us": "RTT", "flows": "number of flows",
}  # fmt: skip


class General(Item):
    """Scenarios spread over the space of variants, days, nights, buffers, RTTs and numbers of flows, one run each.

    Parameters
    ----------
    cc : tuple of str
        Variants of both groups.
    count_of_scenarios : int or None
        Number of scenarios. None means 64 in the quick profile and 1024 in the paper profile.
    """

    undivided: ClassVar[str] = "every scenario has one run"
    runs_of_profile: ClassVar[dict[str, int]] = {"quick": 1, "paper": 1}

    cc: Variants = ("bbr", "cubic", "dctcp", "reno", "westwood")
    count_of_scenarios: Annotated[int, whole(4, 100_000)] | None = None

    def points(self) -> list[Scenario]:
        """Return the first scenarios of one fixed sequence, with each seed."""
        points = space.draw(self.count_of_scenarios or _SCENARIOS[self.profile])
        scenarios = [space.scenario(point, self.cc, _two_flows) for point in points]
        return [scenario.with_(seed=seed) for scenario in scenarios for seed in range(self.count)]

    def plot(self, runs: Runs) -> Figure:
        """Draw predicted over measured values of held-out scenarios, and the loss of R2 without each input."""
        rows = general.dataset(runs)
        name = str(general.comparison(rows).candidates.index[0])
        predicted = 2 ** general.held_out(rows, general.candidates()[name])
        lost = general.ablation(rows, name)[::-1]
        with figures.style():
            figure = figures.drawing(8.0, 3.4)
            left, right = figure.subplots(1, 2, width_ratios=(3, 2))
            for variant in self.cc:
                mask = (rows["migrated"] == variant).to_numpy()
                look = figures.look(variant)
                left.scatter(
                    rows[general.TARGET][mask], predicted[mask], s=10, alpha=0.6, color=look.color, marker=look.marker,
                    label=look.label, linewidths=0,
                )  # fmt: skip
            left.axline((1, 1), (2, 2), color=figures.REFERENCE, linewidth=0.8, linestyle=":", label="as measured")
            left.set(xscale="log", yscale="log", xlabel="migrated over main, measured", ylabel="predicted, held out")
            right.barh([_WORDS.get(column, column) for column in lost.index], lost, color=figures.look("cubic").color)
            right.set(xlabel="loss of R2 without it", title=name)
            right.grid(axis="y", visible=False)
            figures.legend(figure, left)
        return figure

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure the quality of predictions for held-out scenarios, and the share that is within the intervals."""
        rows = general.dataset(runs)
        if len(rows) < _LEAST:
            return {}
        comparison = general.comparison(rows)
        candidates, inside, width = comparison.candidates, comparison.inside, comparison.width
        listed = ", ".join(f"{name}: {row['r2']:.3f} (off by {row['off']:.3g})" for name, row in candidates.iterrows())
        return {
            "r2": Measured.one(candidates["r2"].iloc[0], listed),
            "inside": Measured.one(100 * inside, f"from end to begin a factor of {width:.3g}; {len(rows)} scenarios"),
            "cut-off": self._cut_off(runs, str(candidates.index[0])),
        }

    def _cut_off(self, runs: Runs, name: str) -> Measured:
        """Measure in how many of the runs that were cut off the interval contains a value that is large enough."""
        reached = self._reached(runs, name)
        if reached.empty:
            return Measured()
        note = f"{len(reached)} runs; the prediction itself in {100 * reached['typical'].mean():.0f} %"
        return Measured.one(100 * float(reached["high"].mean()), note)

    def _reached(self, runs: Runs, name: str) -> pd.DataFrame:
        """Return what the model says of the runs that were cut off; see `general.reached`."""
        cut = general.censored(runs)
        if cut.empty:
            return pd.DataFrame(columns=["typical", "high", "factor"])
        return general.reached(cut, general.load(general.load_or_train(general.dataset(runs), name)))

    def _cut_off_by(self, runs: Runs) -> Measured:
        """Measure by what factor runs that were cut off exceed the prediction at least, in the median."""
        best = str(general.comparison(general.dataset(runs)).candidates.index[0])
        return Measured.one(float(self._reached(runs, best)["factor"].median()))

    def causes(self) -> list[Cause]:
        """Return the R2 that the random variation between seeds allows at most, and how far off the model is."""
        repeated = self.with_parameters(cc=self.cc, count_of_scenarios=64, seeds=3 if self.profile == "paper" else 2)
        return [
            Cause("r2", repeated, lambda runs: Measured.one(general.ceiling(general.dataset(runs)))),
            Cause("cut-off", self, self._cut_off_by),
        ]

    def models(self, runs: Runs) -> list[Path]:
        """Return the best model, trained on all runs, and the record of the comparison. Both are shipped."""
        rows = general.dataset(runs)
        comparison = general.comparison(rows)
        return [general.load_or_train(rows, str(comparison.candidates.index[0])), comparison.path]


def _two_flows(migrated: str, main: str) -> Scenario:
    return Point(period_ms=10, cc=migrated, main_cc=main, size="256 MB").scenario(**WIDE_BINS)
