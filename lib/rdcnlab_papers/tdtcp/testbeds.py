# SPDX-License-Identifier: Apache-2.0
"""Finding: the path of ACKs and the rate of hosts decide the differences of transports in a hybrid network.

Each parameter of the testbed that the paper's artefact ran is changed alone, in the testbed of the paper's text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import combinations
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import pandas as pd
from pydantic import Field

from rdcnlab.analysis import figures, tables
from rdcnlab.analysis.intervals import Estimate, estimates
from rdcnlab.fields.quantities import Listed
from rdcnlab.runs.frame import Runs
from rdcnlab.scenario import Scenario
from rdcnlab_papers.analysis import one_window
from rdcnlab_papers.analysis.measured import Measured, difference
from rdcnlab_papers.items.causes import Cause
from rdcnlab_papers.tdtcp.graphs import FEWER, Throughput
from rdcnlab_papers.tdtcp.space import Parameter, parameter, scenario

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: One parameter of the artefact's testbed, or all of them together with its older kernels.
Shown = Literal[Parameter, "all"]
_TITLES: dict[Shown, str] = {
    "hosts": "hosts of 40 Gb/s",
    "reverse": "ACKs' circuit on other days",
    "isolation": "subflows not isolated",
    "notice": "notice 600 us ahead",
    "all": "all, and Linux 4.15",
}
#: The variant whose goodput is computed from the timetables: it keeps one window, which fills a queue that drops.
_ONE_WINDOW = "cubic"
#: Parameters that concern one variant only.
_ONLY: dict[Shown, str] = {"isolation": "mptcp", "notice": "retcp"}


class Testbeds(Throughput):
    """Goodput of each variant, with one parameter of the artefact's testbed and without it.

    Parameters
    ----------
    parameters : tuple of str
        The parameters: ``hosts``, ``reverse``, ``isolation``, ``notice``; ``all`` is the artefact's testbed.
    """

    __test__: ClassVar[bool] = False  # the name is no test's
    runs_of_profile: ClassVar[dict[str, int]] = FEWER

    parameters: Annotated[tuple[Shown, ...], Field(min_length=1), Listed] = tuple(_TITLES)

    @property
    def cases(self) -> tuple[str, ...]:
        """Names of the cases: each variant as it is, and with each parameter that concerns it."""
        changed = [f"{variant} {name}" for name in self.parameters for variant in self.concerned_variants(name)]
        return (*self.variants, *changed)

    def concerned_variants(self, name: Shown) -> tuple[str, ...]:
        """Return the variants that a parameter concerns."""
        return tuple(variant for variant in self.variants if _ONLY.get(name, variant) == variant)

    def case(self, name: str) -> Scenario:
        """Return the scenario of a case."""
        variant, *changed = name.split()
        if changed == ["all"]:
            return self.as_run_by_artefact(variant)
        base = self.base(variant)
        return base.with_(**parameter(changed[0])) if changed else base

    def as_run_by_artefact(self, variant: str) -> Scenario:
        """Return the scenario of a variant on the artefact's testbed."""
        duration = self.duration or self.of_profile[self.profile]
        return scenario("artefact", variant, self.difference, duration)

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure the effect of each parameter, and compare goodput with the computation from the timetables."""
        goodput = self.goodput(runs)
        mean = estimates(goodput)
        slower = {name: 100 * (mean[f"{name} hosts"] / mean[name] - 1) for name in self._changed(mean, "hosts")}
        measured = {"hosts-hardly-matter": Measured(slower)}
        measured["ranking"] = Measured(
            {name: self._swapped(mean, name) for name in ("hosts", "reverse") if len(self._changed(mean, name)) > 1}
        )
        if {"tdtcp", "cubic"} <= set(self._changed(mean, "reverse")):
            gains = [_gain(mean, ""), _gain(mean, "reverse")]
            measured["reverse-widens"] = Measured.one(gains[1] - gains[0], f"{gains[0]} and {gains[1]} %")
        computed = self.computations(goodput)
        measured["computed"] = Measured(
            {name or "text": mean[f"{_ONE_WINDOW} {name}".strip()] / value for name, value in computed.items()}
        )
        if {"", "reverse"} <= set(computed):
            change = mean[f"{_ONE_WINDOW} reverse"] - mean[_ONE_WINDOW]
            expected = computed["reverse"] - computed[""]
            measured["computed-change"] = Measured.one(change / expected, f"computed {expected:.3g} Gb/s")
        for claim, variant, name in (("isolation-costs", "mptcp", "isolation"), ("notice-costs", "retcp", "notice")):
            if f"{variant} {name}" in mean:
                pair = goodput.loc[[f"{variant} {name}", variant]]
                changed = difference(pair.iloc[[0]], pair.iloc[[1]])
                measured[claim] = Measured.one(changed, tables.list_estimates(pair, "Gb/s"))
        return measured

    def causes(self) -> list[Cause]:
        """Return the effect of all parameters together, and MPTCP's goodput in other cases."""
        looks = {
            "ranking": self._all_changes,
            "reverse-widens": self._gains,
            "hosts-hardly-matter": self._carried("mptcp isolation", "mptcp"),
            "isolation-costs": self._carried("mptcp reverse", "mptcp all"),
        }
        return [Cause(claim, self, look) for claim, look in looks.items()]

    def _all_changes(self, runs: Runs) -> Measured:
        goodput = self.goodput(runs)
        changed = goodput.loc[[f"{name} all" for name in self._changed(estimates(goodput), "all")]]
        return Measured(note=tables.list_estimates(changed, "Gb/s"))

    def _gains(self, runs: Runs) -> Measured:
        mean = estimates(self.goodput(runs))
        return Measured({name or "text": _gain(mean, name) for name in ("", "hosts", "reverse", "all")}, "in %")

    def _carried(self, *cases: str) -> Callable[[Runs], Measured]:
        return lambda runs: Measured(note=tables.list_estimates(self.goodput(runs).loc[list(cases)], "Gb/s"))

    def _changed(self, mean: Mapping[str, Estimate], name: str) -> list[str]:
        """Return the variants that were run without a parameter and with it."""
        return [variant for variant in self.variants if {variant, f"{variant} {name}"} <= set(mean)]

    def _swapped(self, mean: Mapping[str, Estimate], name: str) -> float:
        """Count the pairs of variants that change their order with a parameter; the intervals are apart in both."""
        pairs = combinations(self._changed(mean, name), 2)
        gaps = [(mean[a] - mean[b], mean[f"{a} {name}"] - mean[f"{b} {name}"]) for a, b in pairs]
        return float(sum((old.low > 0 and new.high < 0) or (old.high < 0 and new.low > 0) for old, new in gaps))

    def computed_goodput(self, name: str) -> float:
        """Return the goodput [Gb/s] of CUBIC that follows from the timetables, with a parameter or without any."""
        return one_window.goodput_gbps(self.case(f"{_ONE_WINDOW} {name}".strip()).with_(**self.changes))

    def computations(self, goodput: pd.DataFrame) -> dict[str, float]:
        """Return the computed goodput by parameter, for cases that ran; without any parameter the name is empty."""
        names = ("", *(name for name in self.parameters if name not in _ONLY))
        return {name: self.computed_goodput(name) for name in names if f"{_ONE_WINDOW} {name}".strip() in goodput.index}

    def plot(self, runs: Runs) -> Figure:
        """Draw for each parameter the goodput of the variants that it concerns, without it and with it."""
        goodput = self.goodput(runs)
        with figures.style():
            figure, axes = figures.panels(1, len(self.parameters), width=2.3, height=3.2)
            for ax, name in zip(axes[0], self.parameters, strict=True):
                self._panel(ax, goodput, name)
            axes[0][0].set_ylabel("goodput [Gb/s]")
            widest = max(self.parameters, key=lambda name: len(self.concerned_variants(name)))
            figures.legend(figure, axes[0][self.parameters.index(widest)])
        return self.caption(figure, runs)

    def _panel(self, ax: Axes, goodput: pd.DataFrame, name: Shown) -> None:
        for variant in self.concerned_variants(name):
            appearance = figures.look(variant)
            stats = goodput.reindex([variant, f"{variant} {name}"])
            error = figures.error_lengths(stats)
            look: dict[str, Any] = {"color": appearance.color, "marker": appearance.marker, "capsize": 3}
            ax.errorbar([0, 1], stats["mean"], yerr=error, label=appearance.label, **look)
        computed = self.computations(goodput)
        if {"", name} <= set(computed):
            ax.plot(
                [0, 1], [computed[""], computed[name]], label=f"{figures.look(_ONE_WINDOW).label}, computed",
                color=figures.look(_ONE_WINDOW).color, marker="o", markersize=9, markerfacecolor="none", linestyle=":",
            )  # fmt: skip
        ax.set_xticks([0, 1], ["text", "changed"])
        ax.set(title=_TITLES[name], xlim=(-0.3, 1.3), ylim=(0, None))


def _gain(mean: Mapping[str, Estimate], name: str) -> Estimate:
    """Return TDTCP's gain over CUBIC in %, with a parameter or without any."""
    tdtcp, cubic = (mean[f"{variant} {name}".strip()] for variant in ("tdtcp", "cubic"))
    return 100 * (tdtcp / cubic - 1)
