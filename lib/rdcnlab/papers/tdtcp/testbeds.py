# SPDX-License-Identifier: Apache-2.0
"""Beyond the paper: what each parameter of its artefact's testbed does alone, in the testbed of its text."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from pydantic import Field

from rdcnlab.analysis import figures, tables
from rdcnlab.analysis.intervals import Estimate, estimates
from rdcnlab.analysis.measured import Measured, difference
from rdcnlab.fields.quantities import Listed
from rdcnlab.papers.tdtcp.graphs import FEWER, Throughput
from rdcnlab.papers.tdtcp.space import Parameter, parameter
from rdcnlab.runs.frame import Runs
from rdcnlab.scenario import Scenario

_TITLES: dict[Parameter, str] = {
    "hosts": "hosts of 40 Gb/s",
    "reverse": "ACKs' circuit on other days",
    "isolation": "subflows not isolated",
    "notice": "notice 600 us ahead",
}
#: Parameters that concern one variant only.
_ONLY: dict[Parameter, str] = {"isolation": "mptcp", "notice": "retcp"}


class Testbeds(Throughput):
    """Goodput of each variant, with one parameter of the artefact's testbed and without it.

    Parameters
    ----------
    parameters : tuple of str
        The parameters: ``hosts``, ``reverse``, ``isolation``, ``notice``.
    """

    __test__: ClassVar[bool] = False  # the name is no test's
    runs_of_profile: ClassVar[dict[str, int]] = FEWER

    parameters: Annotated[tuple[Parameter, ...], Field(min_length=1), Listed] = tuple(_TITLES)

    @property
    def cases(self) -> tuple[str, ...]:
        """Names of the cases: each variant as it is, and with each parameter that concerns it."""
        named = [f"{variant} {name}" for name in self.parameters for variant in self.concerned(name)]
        return (*self.variants, *named)

    def concerned(self, name: Parameter) -> tuple[str, ...]:
        """Return the variants that a parameter concerns."""
        return tuple(variant for variant in self.variants if _ONLY.get(name, variant) == variant)

    def case(self, name: str, seed: int) -> Scenario:
        """Return the scenario of a case."""
        variant, *changed = name.split()
        base = self.base(variant, seed)
        return base.with_(**parameter(changed[0])) if changed else base

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure what each parameter changes."""
        goodput = self.goodput(runs)
        mean, note = estimates(goodput), tables.listed(goodput, "Gb/s")
        slower = {name: mean[f"{name} hosts"] / mean[name] - 1 for name in self.variants if f"{name} hosts" in mean}
        measured = {"hosts-hardly-matter": Measured({name: 100 * each for name, each in slower.items()}, note)}
        if {"tdtcp reverse", "cubic reverse"} <= set(mean):
            gains = [_gain(mean["tdtcp"], mean["cubic"]), _gain(mean["tdtcp reverse"], mean["cubic reverse"])]
            measured["reverse-widens"] = Measured.one(gains[1] - gains[0], f"{gains[0]} and {gains[1]} %")
        for claim, variant, name in (("isolation-costs", "mptcp", "isolation"), ("notice-costs", "retcp", "notice")):
            if f"{variant} {name}" in mean:
                changed = difference(goodput.loc[[f"{variant} {name}"]], goodput.loc[[variant]])
                measured[claim] = Measured.one(changed, note)
        return measured

    def plot(self, runs: Runs) -> Figure:
        """Draw for each parameter the goodput of the variants that it concerns, without it and with it."""
        goodput = self.goodput(runs)
        with figures.style():
            figure, axes = figures.panels(1, len(self.parameters), width=2.6, height=2.8)
            for ax, name in zip(axes[0], self.parameters, strict=True):
                self._panel(ax, goodput, name)
            axes[0][0].set_ylabel("goodput [Gb/s]")
            shown = max(self.parameters, key=lambda name: len(self.concerned(name)))
            figures.legend(figure, axes[0][self.parameters.index(shown)])
        return self.captioned(figure, runs)

    def _panel(self, ax: Axes, goodput: pd.DataFrame, name: Parameter) -> None:
        for variant in self.concerned(name):
            drawn = figures.look(variant)
            stats = goodput.reindex([variant, f"{variant} {name}"])
            error = np.abs(stats[["low", "high"]].to_numpy().T - stats["mean"].to_numpy())
            look: dict[str, Any] = {"color": drawn.color, "marker": drawn.marker, "capsize": 3}
            ax.errorbar([0, 1], stats["mean"], yerr=error, label=drawn.label, **look)
        ax.set_xticks([0, 1], ["text", "artefact"])
        ax.set(title=_TITLES[name], xlim=(-0.3, 1.3), ylim=(0, None))


def _gain(more: Estimate, less: Estimate) -> Estimate:
    return 100 * (more / less - 1)
