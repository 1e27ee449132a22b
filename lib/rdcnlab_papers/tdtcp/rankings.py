# SPDX-License-Identifier: Apache-2.0
"""Beyond the paper: whether the order of transports on one architecture holds on others."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np
import pandas as pd

from rdcnlab.analysis import figures, tables
from rdcnlab.analysis.resampling import bootstraps_of_means
from rdcnlab.runs.frame import Runs
from rdcnlab_papers.analysis.measured import Measured
from rdcnlab_papers.benchmarks import compared
from rdcnlab_papers.benchmarks.compared import USUAL, Architecture, Case
from rdcnlab_papers.benchmarks.questions import Question

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: The networks that were not used for the predictions: one that never changes, and one that turns.
_STATIC: Architecture = "jupiter"
_TURNING: Architecture = "rotornet-direct"
HELD_OUT = (_STATIC, _TURNING)
_FROM: Architecture = "leaf-spine"
#: Transports differ much if their mean slowdowns differ by more than this factor.
_MUCH = 1.3


class Rankings(Question):
    """Mean slowdown of transports that run everywhere, by network.

    Parameters
    ----------
    architectures, transports, workloads : tuple of str
        Names.
    """

    measured_otherwise: ClassVar[tuple[str, ...]] = ()

    architectures: compared.Architectures = (
        "leaf-spine", "expander", "jupiter", "helios", "opera", "rotornet", "rotornet-direct", "sirius", "shale",
        "rotor",
    )  # fmt: skip
    transports: compared.Transports = ("cubic", "reno", "dctcp", "bbr")
    workloads: compared.Workloads = ("web-search", "hadoop")

    @property
    def cases(self) -> list[Case]:
        """The cases."""
        return compared.crossed(self.architectures, self.workloads, lambda *_: self.transports)

    def plot(self, runs: Runs) -> Figure:
        """Draw the mean slowdown of each transport by network."""
        totals, labels = self.totals(runs), self.labels()
        with figures.style():
            figure = figures.drawing(9.6, 3.6)
            panels = figure.subplots(1, len(self.workloads), squeeze=False)[0]
            for ax, workload in zip(panels, self.workloads, strict=True):
                of_workload = totals[totals["workload"] == workload]
                for number, name in enumerate(self.transports):
                    chosen = of_workload[of_workload["transport"] == name]
                    stats = compared.over_seeds(chosen, "mean", ["architecture"]).reindex(self.architectures)
                    look, x = figures.look(name), np.arange(len(stats)) + 0.17 * (number - 1.5)
                    ax.plot(x, stats["mean"], color=look.color, marker=look.marker, markersize=4, linestyle="none",
                            label=look.label)  # fmt: skip
                    ax.vlines(x, stats["low"].clip(lower=1), stats["high"], color=look.color, linewidth=0.8)
                names = [f"{name} (new)" if name in HELD_OUT else name for name in self.architectures]
                ax.set_xticks(range(len(names)), names, rotation=40, ha="right")
                ax.set_yscale("log")
                ax.set_yticks([1, 2, 3, 5, 10, 20], ["1", "2", "3", "5", "10", "20"])
                ax.minorticks_off()
                ax.set_title(labels[workload, USUAL], fontsize=8, loc="left")
            panels[0].set_ylabel("mean slowdown")
            figures.legend(figure, panels[0])
        return figure

    def measured_by(self, totals: pd.DataFrame, repeats: str, slowdown: str) -> dict[str, Measured]:  # noqa: ARG002
        """Measure CUBIC's lead, how orders agree with that on the Clos, and which differences keep their direction."""
        present = set(totals["architecture"])
        if _FROM not in present or len(set(totals["transport"])) < 3:
            return {}
        keys = ["architecture", "workload", "transport"]
        estimates = bootstraps_of_means(totals, keys, [slowdown], lambda means: statistics_of(means[slowdown], present))
        by_kind: dict[str, dict[str, Any]] = {}
        for name, value in estimates.items():
            kind, case = cast("tuple[str, str]", name)
            by_kind.setdefault(kind, {})[case] = value
        return {
            "cubic-first": Measured(by_kind.get("lead", {})),
            "order-on-static": Measured({k: v for k, v in by_kind["order"].items() if k == _STATIC}),
            "order-on-turning": Measured({k: v for k, v in by_kind["order"].items() if k == _TURNING}),
            "large-differences": Measured({k: v for k, v in by_kind["kept"].items() if k in HELD_OUT}),
        }


def statistics_of(mean: pd.DataFrame, present: set[str]) -> dict[tuple[str, str], Any]:
    """Return the statistics of means of all draws, whose columns are network, workload and transport."""
    workloads = mean.columns.get_level_values("workload").unique()
    statistics: dict[tuple[str, str], Any] = {}
    for network in sorted(present - {_FROM}):
        here = [(mean[_FROM][name], mean[network][name]) for name in workloads if name in mean[network]]
        statistics["order", network] = np.mean([tables.spearmans(clos, other) for clos, other in here], axis=0)
        kept, much = 0, 0
        for (clos, other), (a, b) in itertools.product(here, itertools.combinations(here[0][0].columns, 2)):
            differs = np.maximum(clos[a] / clos[b], clos[b] / clos[a]) > _MUCH
            much = much + differs
            kept = kept + (differs & ((clos[a] > clos[b]) == (other[a] > other[b])))
        statistics["kept", network] = 100 * np.asarray(kept) / np.maximum(np.asarray(much), 1)
        if network in HELD_OUT and "cubic" in here[0][1]:
            for name, (_, other) in zip(workloads, here, strict=True):
                lead = other["cubic"] / other.drop(columns="cubic").min(axis=1)
                statistics["lead", f"{network}, {name}"] = lead.to_numpy()
    return statistics
