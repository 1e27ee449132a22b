# SPDX-License-Identifier: Apache-2.0
"""Figure 7(a): throughput of all variants if the two networks differ in bandwidth and latency. Sec. 5.2."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rdcnlab.analysis import figures, tables
from rdcnlab.runs.frame import Runs
from rdcnlab_papers.analysis import folded
from rdcnlab_papers.analysis.measured import Measured, percent_above
from rdcnlab_papers.items.causes import Cause
from rdcnlab_papers.tdtcp.graphs import Throughput

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Variants over which the paper states TDTCP's gain.
_STATED = ("cubic", "dctcp", "mptcp")


class Fig7a(Throughput):
    """Sequence graphs."""

    more_runs: ClassVar[dict[str, int]] = {"text": 16}

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure by how much TDTCP's goodput is above that of each other variant."""
        goodput = self.goodput(runs)
        measured = {
            f"over-{other}": percent_above(goodput, "tdtcp", other) for other in ("cubic", "dctcp", "mptcp", "retcpdyn")
        }
        return measured | {"retcp-as-cubic": percent_above(goodput, "retcp", "cubic")}

    def plot(self, runs: Runs) -> Figure:
        """Draw the sequence graphs, and where the others' would end if TDTCP's gain were that of the paper."""
        lines = self.lines(runs)
        figure = folded.plot_sequences(lines, self.first, "packet", "circuit")
        if "tdtcp" not in lines:
            return self.caption(figure, runs)
        ax = figure.axes[0]
        ends = {name: tables.mean_ci(graph, ["t_us"], "bytes").iloc[-1] for name, graph in lines.items()}
        for shift, other in enumerate(other for other in _STATED if other in ends):
            look, gain = figures.look(other), self.stated(f"over-{other}") / 100
            # one around the other, because two of the paper's gains are equal
            ax.plot(ends["tdtcp"]["t_us"], float(ends["tdtcp"]["mean"]) / (1 + gain) / 1e6, look.marker,
                    color=look.color, markerfacecolor="none", markersize=5 + 3 * shift,
                    label=f"{look.label}, paper")  # fmt: skip
        figure.legends[0].remove()
        with figures.style():
            figures.legend(figure, ax, columns=4)
        return self.caption(figure, runs)

    def causes(self) -> list[Cause]:
        """Return the other testbed, on which these claims hold; where hosts are late, the same testbed without that."""
        if self.column == "text-late":
            late = [Cause(claim, self.at_once) for claim in ("over-cubic", "over-dctcp", "over-retcpdyn")]
            return [*late, Cause("retcp-as-cubic", self.as_run)]
        if self.column == "artefact-late":
            return [Cause(f"over-{other}", self.at_once) for other in (*_STATED, "retcpdyn")]
        if self.column != "text":
            return []
        return [Cause(claim, self.as_run) for claim in ("over-mptcp", "over-retcpdyn", "retcp-as-cubic")]
