# SPDX-License-Identifier: Apache-2.0
"""Beyond the paper: congestion controls inside TDTCP, and without TDTCP. Sec. 5.2 leaves this open."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from rdcnlab.analysis import figures, tables
from rdcnlab.analysis.intervals import estimates
from rdcnlab.fields.quantities import Listed
from rdcnlab.runs.frame import Runs
from rdcnlab.scenario import Scenario
from rdcnlab_papers.analysis import weeks
from rdcnlab_papers.analysis.measured import Measured
from rdcnlab_papers.tdtcp.graphs import FEWER, Throughput, Variants

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_KINDS = {"tdtcp": "inside TDTCP", "plain": "without"}
Inner = Annotated[tuple[Literal["cubic", "reno", "dctcp", "bbr"], ...], Field(min_length=1), Listed]


class Inside(Throughput):
    """Goodput of 16 flows of a congestion control, inside TDTCP and without it.

    Parameters
    ----------
    cc : tuple of str
        Congestion controls.
    """

    runs_of_profile: ClassVar[dict[str, int]] = FEWER

    variants: Variants = ("tdtcp",)
    cc: Inner = ("cubic", "reno", "dctcp", "bbr")

    @property
    def cases(self) -> tuple[str, ...]:
        """Names of the cases: each congestion control with TDTCP and without it."""
        return tuple(f"{kind} {name}" for name in self.cc for kind in _KINDS)

    def case(self, name: str) -> Scenario:
        """Return the scenario of a case."""
        kind, cc = name.split()
        return self.base("tdtcp" if kind == "tdtcp" else "cubic").with_(cc=cc)

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure the gain of each congestion control from TDTCP, and compare DCTCP with CUBIC, both inside TDTCP."""
        goodput = self.goodput(runs)
        mean = estimates(goodput)
        complete = [name for name in self.cc if {f"tdtcp {name}", f"plain {name}"} <= set(mean)]
        gains: dict[str, float] = {name: mean[f"tdtcp {name}"] - mean[f"plain {name}"] for name in complete}
        comparable = {"tdtcp dctcp", "tdtcp cubic"} <= set(mean)
        return {
            "each-gains": Measured(gains, tables.list_estimates(goodput, "Gb/s")),
            "dctcp-as-cubic": Measured.one(mean["tdtcp dctcp"] / mean["tdtcp cubic"]) if comparable else Measured(),
        }

    def plot(self, runs: Runs) -> Figure:
        """Draw the goodput of each congestion control inside TDTCP and without it, with intervals."""
        goodput = self.goodput(runs)
        with figures.single(4.6, 3.0) as (figure, ax):
            for (kind, label), shift in zip(_KINDS.items(), (-0.12, 0.12), strict=True):
                appearance = figures.look("tdtcp" if kind == "tdtcp" else "single")
                stats = goodput.reindex([f"{kind} {name}" for name in self.cc])
                error = figures.error_lengths(stats)
                look: dict[str, Any] = {
                    "color": appearance.color,
                    "marker": appearance.marker,
                    "linestyle": "",
                    "capsize": 3,
                }
                ax.errorbar(np.arange(len(self.cc)) + shift, stats["mean"], yerr=error, label=label, **look)
            figures.reference(ax, weeks.bound_gbps(self.first), "optimal")
            ax.set_xticks(range(len(self.cc)), [figures.look(name).label for name in self.cc])
            ax.set(ylabel="goodput [Gb/s]", ylim=(0, None), xlim=(-0.5, len(self.cc) - 0.5))
        return self.caption(figure, runs)
