# SPDX-License-Identifier: Apache-2.0
"""Beyond the paper: thresholds that a model proposes for 20 random objectives, and runs of them. Sec. 8."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import pandas as pd

from rdcnlab.analysis import figures
from rdcnlab.fields.errors import RunError
from rdcnlab.fields.quantities import whole
from rdcnlab.runs.frame import Runs
from rdcnlab.runs.parts import GROUPS, Part
from rdcnlab.scenario import Scenario
from rdcnlab_papers.analysis import sharing
from rdcnlab_papers.analysis.measured import Measured
from rdcnlab_papers.items.causes import Cause
from rdcnlab_papers.items.item import Item
from rdcnlab_papers.models import gaussian, tuner
from rdcnlab_papers.vargas.dataset import WORDS, Dataset
from rdcnlab_papers.vargas.space import Length, scenario, setting_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COUNTS = {"quick": 3, "paper": 20}


class Tuner(Item):
    """Proposals of a model for objectives that are drawn at random, and runs of them.

    The model is the one that was trained on the most settings, usually the shipped one. If there is none, the item
    trains one on the data set of its profile.

    Parameters
    ----------
    objectives : int or None
        Number of objectives. None: 3 in the quick profile, 20 in the paper's.
    length_s : int or None
        Length of a run in s. None: as long as the runs that the model was trained on, also if these are of the other
        profile. If they have several lengths, `space.seconds` of the RTT.
    """

    undivided: ClassVar[str] = "every proposal has one run"
    runs_of_profile: ClassVar[dict[str, int]] = {"quick": 1, "paper": 1}
    reads: ClassVar[tuple[str, ...]] = ("throughput", "queues")
    parts: ClassVar[dict[str, Part]] = {"throughput": GROUPS}

    objectives: Annotated[int, whole(1, 1000)] | None = None
    length_s: Length | None = None

    @property
    def proposals(self) -> list[tuner.Proposal]:
        """The proposals, in the order of the objectives; none as long as there is no model."""
        try:
            model = gaussian.best()
        except RunError:
            return []
        return _proposals(model, self.objectives or _COUNTS[self.profile])

    def learns_from(self) -> list[Item]:
        """Return the data set of the kernel if there is no model, otherwise nothing."""
        try:
            gaussian.best()
        except RunError:
            return [Dataset(profile=self.profile)]
        return []

    def run(self, **options: Any) -> Runs:
        """Train a model if there is none, and run its proposals; see `Item.run`."""
        for item in self.learns_from():
            gaussian.train(sharing.by_setting(sharing.outcomes(item.run(**options))))
        return super().run(**options)

    def points(self) -> list[Scenario]:
        """Return one run of each proposal; two objectives may have the same."""
        points = [point for seed in range(self.count) for point in self._points(seed)]
        return list(dict.fromkeys(points))

    def _points(self, seed: int = 0) -> list[Scenario]:
        """Return the run of each proposal, in their order."""
        proposals = self.proposals
        length_s = self.length_s or (gaussian.best().length_s if proposals else None)
        return [scenario(setting_of(proposal.setting), seed=seed, length_s=length_s) for proposal in proposals]

    def compare(self, runs: Runs) -> pd.DataFrame:
        """Return predicted and measured outcomes of each proposal; see `tuner.Proposal.compare`.

        Two columns tell why they may differ: ``unsure`` is what the model said, ``doubt`` why the run was too short.
        """
        outcomes = sharing.outcomes(runs)
        index_by_hash = {run.scenario.hash: number for number, run in enumerate(runs)}
        parts = []
        for number, (proposal, point) in enumerate(zip(self.proposals, self._points(), strict=True)):
            index = index_by_hash.get(self.with_changes(point).hash)
            if index is not None:
                row = outcomes[outcomes["run"] == index].iloc[0]
                part = proposal.compare(row).reset_index()
                unsure = [proposal.is_unsure(name) for name in part["outcome"]]
                parts.append(part.assign(objective=number, unsure=unsure, doubt=row["doubt"]))
        return pd.concat(parts, ignore_index=True)

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure the share of proposals with the predicted outcomes, and of outcomes in their intervals."""
        if not len(runs):
            return {}
        comparison = self.compare(runs)
        measured = {name: _all_outcomes(comparison, name) for name in ("within", "close")}
        short = comparison.groupby("objective")["doubt"].first().ne("").sum()
        note = (
            f"{len(comparison)} outcomes, of {comparison['unsure'].sum()} the model was unsure; {short} runs too short"
        )
        return {**measured, "inside": Measured.one(100 * float(comparison["inside"].mean()), note)}

    def causes(self) -> list[Cause]:
        """Return a look at the outcomes without drops, which are the hardest to predict."""

        def without_drops(runs: Runs, name: str) -> Measured:
            if not len(runs):
                return Measured()
            comparison = self.compare(runs)
            return _all_outcomes(comparison[comparison["outcome"] != "drops"], name)

        if self.column != "kernel":
            return []
        return [Cause(name, self, partial(without_drops, name=name)) for name in ("within", "close")]

    def plot(self, runs: Runs) -> Figure:
        """Draw measured over predicted outcomes with their intervals; open marks are not close to the prediction."""
        comparison = self.compare(runs)
        color = figures.look("cubic").color
        with figures.style():
            figure = figures.drawing(9.6, 2.75)
            panels = figure.subplots(1, 4)
            for ax, (name, outcomes) in zip(panels, comparison.groupby("outcome", sort=False), strict=True):
                for is_close, rows in outcomes.groupby("close"):
                    bars = figures.error_lengths(rows.rename(columns={"predicted": "mean"}))
                    ax.errorbar(
                        rows["measured"], rows["predicted"], bars, fmt="o", color=color, markersize=3.5, linewidth=0.8,
                        markerfacecolor=color if is_close else "white", clip_on=False,
                        label="close to the prediction" if is_close else "not close",
                    )  # fmt: skip
                # both axes have the same range, so that the distance from the diagonal is the error
                most = 105.0 if name == "share" else 1.1 * max(1.0, *outcomes["measured"], *outcomes["predicted"])
                ax.plot([0, most], [0, most], color=figures.REFERENCE, linestyle=":", linewidth=0.8, label="equal")
                if name == "drops":
                    ax.set_xscale("symlog", linthresh=10)
                    ax.set_yscale("symlog", linthresh=10)
                    most *= 3
                ax.set(title=WORDS[str(name)], xlabel="measured", ylabel="predicted", xlim=(0, most), ylim=(0, most))
                ax.set_aspect("equal")
            figures.legend_of_all(figure, panels)
        return figure


def _all_outcomes(comparison: pd.DataFrame, name: str) -> Measured:
    """Measure the share of proposals for which a column of `Tuner.compare` is true in all outcomes."""
    holds = comparison.groupby("objective")[name].all()
    return Measured.one(
        100 * float(holds.mean()),
        f"{int(holds.sum())} of {len(holds)} in all {comparison['outcome'].nunique()} outcomes, "
        f"{int(comparison[name].sum())} of {len(comparison)} outcomes",
    )


@lru_cache(maxsize=4)
def _proposals(model: gaussian.Predictor, count: int) -> list[tuner.Proposal]:
    return [tuner.propose(model, objective) for objective in tuner.random_objectives(model, count)]
