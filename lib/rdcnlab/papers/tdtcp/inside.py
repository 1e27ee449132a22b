# SPDX-License-Identifier: Apache-2.0
"""Beyond the paper: congestion controls inside TDTCP's networks, and by themselves. Sec. 5.2 leaves it open."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from matplotlib.figure import Figure
from pydantic import Field

from rdcnlab.analysis import figures, tables, weeks
from rdcnlab.fields.quantities import Listed
from rdcnlab.papers.claims import Measured
from rdcnlab.papers.item import Cause
from rdcnlab.papers.tdtcp.graphs import Throughput, Variants
from rdcnlab.papers.tdtcp.space import scenario
from rdcnlab.runs.frame import Runs
from rdcnlab.scenario import Scenario

_KINDS = ("tdtcp", "plain")


class Inside(Throughput):
    """Goodput of 16 flows of a congestion control, inside TDTCP and without it.

    Parameters
    ----------
    cc : tuple of str
        Congestion controls.
    """

    id: ClassVar[str] = "inside"
    runs_of_profile: ClassVar[dict[str, int]] = {"quick": 1, "paper": 3}
    of_profile: ClassVar[dict[str, str]] = {"quick": "300 ms", "paper": "500 ms"}

    variants: Variants = ("tdtcp",)
    cc: Annotated[tuple[Literal["cubic", "reno", "dctcp", "bbr"], ...], Field(min_length=1), Listed] = (
        "cubic",
        "reno",
        "dctcp",
        "bbr",
    )

    @property
    def cases(self) -> tuple[str, ...]:
        """Each congestion control, twice."""
        return tuple(f"{kind} {name}" for name in self.cc for kind in _KINDS)

    def case(self, name: str, seed: int) -> Scenario:
        """Return the scenario of a case."""
        kind, cc = name.split()
        variant = "tdtcp" if kind == "tdtcp" else "cubic"
        return scenario(variant, self.difference, duration=self.lasts, seed=seed).with_(cc=cc)

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure how far each is above itself without TDTCP, and DCTCP inside against CUBIC inside."""
        goodput = self.goodput(runs)
        means = goodput["mean"].to_dict()
        ahead: dict[str, float] = {
            name: tables.margin(goodput.loc[[f"tdtcp {name}"]], goodput.loc[[f"plain {name}"]])
            for name in self.cc
            if {f"tdtcp {name}", f"plain {name}"} <= set(means)
        }
        known = {"tdtcp dctcp", "tdtcp cubic"} <= set(means)
        return {
            "each-gains": Measured(ahead, tables.listed(goodput, "Gb/s")),
            "dctcp-as-cubic": Measured.one(means["tdtcp dctcp"] / means["tdtcp cubic"]) if known else Measured(),
        }

    def causes(self) -> list[Cause]:
        """Return what more runs tell."""
        return [
            Cause(
                "each-gains",
                "BBR's goodput inside TDTCP differs from run to run, and three of them leave it open. Of ten each",
                Inside(cc=("bbr",), profile=self.profile, seeds=10 if self.profile == "paper" else self.few),
            )
        ]

    def plot(self, runs: Runs) -> Figure:
        """Draw goodput with intervals, of each congestion control inside TDTCP and without it."""
        goodput = self.goodput(runs)
        with figures.style():
            figure = figures.Drawing(figsize=(4.6, 3.0), layout="constrained")
            ax = figure.subplots()
            for kind, shift in zip(_KINDS, (-0.12, 0.12), strict=True):
                drawn = figures.look("tdtcp" if kind == "tdtcp" else "single")
                stats = goodput.reindex([f"{kind} {name}" for name in self.cc])
                at = np.arange(len(self.cc)) + shift
                error = np.abs(stats[["low", "high"]].to_numpy().T - stats["mean"].to_numpy())
                label = "inside TDTCP" if kind == "tdtcp" else "without"
                look: dict[str, Any] = {"color": drawn.color, "marker": drawn.marker, "linestyle": "", "capsize": 3}
                ax.errorbar(at, stats["mean"], yerr=error, label=label, **look)
            figures.reference(ax, weeks.bound_gbps(self.first), "optimal")
            ax.set_xticks(range(len(self.cc)), [figures.look(name).label for name in self.cc])
            ax.set(ylabel="goodput [Gb/s]", ylim=(0, None), xlim=(-0.5, len(self.cc) - 0.5))
            figures.legend(figure, ax)
        return figure
