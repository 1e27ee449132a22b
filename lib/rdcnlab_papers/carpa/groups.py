# SPDX-License-Identifier: Apache-2.0
"""Common parts of figures 6 and 7: groups of flows that are rerouted together, and their aggregate throughput."""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING, Annotated, ClassVar, Self

import pandas as pd
from pydantic import model_validator

from rdcnlab.analysis import figures, tables
from rdcnlab.fields.quantities import FieldError, whole
from rdcnlab.fields.units import NS_PER_S
from rdcnlab.runs.frame import Runs
from rdcnlab.runs.parts import GROUPS, Part
from rdcnlab.scenario import Scenario
from rdcnlab_papers.analysis import rerouting
from rdcnlab_papers.carpa.space import moving_groups
from rdcnlab_papers.items.item import Item

if TYPE_CHECKING:
    from rdcnlab.analysis.drawing import Drawing

#: Number of groups, time before the first move and time between moves in s, by profile. The paper has 20 groups, and
#: moves them every 200 s from 400 s on. docs/decisions/carpa.md says why runs are shorter here.
_SIZES = {"quick": (3, 50, 45), "paper": (20, 120, 60)}
#: The column with the paper's times, and its sizes in the paper profile. Its five runs have the paper's 20 groups.
TIMETABLE = "timetable"
_WITH_TIMES = (4, 400, 200)
_BIN_NS = NS_PER_S


class Grouped(Item):
    """Groups of flows that are rerouted together.

    Parameters
    ----------
    groups : int or None
        Number of groups; None: as the profile has, 20 in the paper's, and 4 in the column ``timetable``.
    settle_s, every_s : int or None
        Time before the first move and time between moves in s; None: as the profile has. The paper's are 400 and 200,
        which the column ``timetable`` has.
    """

    runs_of_profile: ClassVar[dict[str, int]] = {"quick": 1, "paper": 5}
    reads: ClassVar[tuple[str, ...]] = ("throughput",)
    parts: ClassVar[dict[str, Part]] = {"throughput": GROUPS}  # all flows together are drawn and measured
    #: Column that distinguishes the cases, and its text in legends.
    case_column: ClassVar[str]
    unit: ClassVar[str]

    groups: Annotated[int, whole(1, 50)] | None = None
    settle_s: Annotated[int, whole(35, 10_000)] | None = None
    every_s: Annotated[int, whole(20, 10_000)] | None = None

    @model_validator(mode="after")
    def _starts_on_the_shorter_path(self) -> Self:
        _, settle_s, every_s = self.sizes
        if settle_s < every_s:
            raise FieldError("settle_s", settle_s, f"at least every_s, {every_s}, because moves have one period")
        return self

    @property
    @abc.abstractmethod
    def values(self) -> tuple[int, ...]:
        """The values of the cases."""

    @abc.abstractmethod
    def scenario(self, case: int, seed: int) -> Scenario:
        """Return the scenario of a case."""

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Number of groups, time before the first move, and time between moves."""
        settings = (self.groups, self.settle_s, self.every_s)
        paper = self.column == TIMETABLE and self.profile == "paper"
        defaults = _WITH_TIMES if paper else _SIZES[self.profile]
        groups, settle_s, every_s = (
            default if setting is None else setting for setting, default in zip(settings, defaults, strict=True)
        )
        return groups, settle_s, every_s

    def grouped(self, extra_ms: int, per_group: int, seed: int) -> Scenario:
        """Return groups of flows with the item's sizes."""
        groups, settle_s, every_s = self.sizes
        return moving_groups(extra_ms, per_group, seed=seed, groups=groups, settle_s=settle_s, every_s=every_s)

    def points(self) -> list[Scenario]:
        """Return one scenario for each case and seed."""
        return [self.scenario(case, seed) for case in self.values for seed in range(self.count)]

    def cases(self, runs: Runs) -> dict[int, Runs]:
        """Return the runs of each case."""
        seeds = sorted({run.scenario.seed for run in runs})
        return {case: self.only(runs, (self.scenario(case, seed) for seed in seeds)) for case in self.values}

    def drops(self, runs: Runs) -> pd.DataFrame:
        """Return the falls of the aggregate throughput; see `rerouting.drops_of_cases`."""
        return rerouting.drops_of_cases(self.cases(runs), self.case_column)

    def curves(self, runs: Runs) -> Drawing:
        """Draw the mean aggregate throughput of each case over time, from shortly before the first move."""
        _, settle_s, every_s = self.sizes
        with figures.single(7.2, 3.2) as (figure, ax):
            colors = figures.shades(len(self.values))
            for (case, of_case), color in zip(self.cases(runs).items(), colors, strict=True):
                total = rerouting.aggregate(of_case, _BIN_NS)
                mean = tables.mean_ci(total, ["t_s"], "mbps")
                rows = mean[mean["t_s"] >= settle_s - every_s / 2]
                ax.plot(rows["t_s"], rows["mean"], color=color, label=self.unit.format(case), linewidth=1)
                ax.fill_between(rows["t_s"], rows["low"], rows["high"], color=color, alpha=0.15, linewidth=0)
            for number, (time, _) in enumerate(rerouting.moves(runs[0].scenario)):
                figures.reference(ax, time, "_" if number else "move", along="x")
            ax.set(xlabel="time [s]", ylabel="aggregate throughput [Mb/s]", ylim=(0, None))
        return figure
