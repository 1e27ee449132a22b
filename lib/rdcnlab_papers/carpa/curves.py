# SPDX-License-Identifier: Apache-2.0
"""Common parts of figures 10 and 11: windows of a single flow that is rerouted periodically, or not at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from rdcnlab.analysis import figures
from rdcnlab.runs.frame import Runs
from rdcnlab.runs.parts import Part
from rdcnlab.scenario import Scenario
from rdcnlab_papers.carpa.periods import Periodic
from rdcnlab_papers.carpa.space import WINDOWS

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Traces(Periodic):
    """Windows of a single flow, by the period."""

    runs_of_profile: ClassVar[dict[str, int]] = {"quick": 1, "paper": 5}
    reads: ClassVar[tuple[str, ...]] = ("flows", "tcp", "events")
    #: Instants in s after the start at which the paper's flow without rerouting has losses.
    #: Name of the claim with the window to which the paper's flow without rerouting is limited.
    limit: ClassVar[str] = "limited"
    parts: ClassVar[dict[str, Part]] = {"tcp": Part(("t_ns", "flow", "cwnd", "srtt_us"), tick=1000)}

    @property
    def baselines(self) -> int:
        """Number of runs without rerouting: as many as of a period, because windows are compared, not means."""
        return self.count

    def point(self, rtt_ms: int, period_s: float | None, seed: int, **changes: Any) -> Scenario:
        """Return one scenario, with windows every 10 ms and the kernel's counters."""
        return super().point(rtt_ms, period_s, seed, **changes).with_(**WINDOWS, **{"probes.counters": True})

    def plot(self, runs: Runs) -> Figure:
        """Draw the windows of the first seed over time, without rerouting dashed, a panel for each period."""
        (rtt,) = self.rtts
        static = self.still(runs, rtt).part(0, 1)
        with figures.style():
            figure, axes = figures.panels(len(self.periods), 1, width=6.4, height=2.4)
            for ax, (period, period_runs) in zip(axes[:, 0], self.moved(runs, rtt).items(), strict=True):
                curves = {
                    "not rerouted": (static, figures.REFERENCE, "--"),
                    "rerouted": (period_runs.part(0, 1), None, "-"),
                }
                for label, (chosen, color, dash) in curves.items():
                    start = float(chosen.flows["start_s"].iloc[0])
                    t_s = chosen.tcp["t_ns"] / 1e9 - start
                    line_color = color or figures.look("cubic").color
                    ax.plot(t_s, chosen.tcp["cwnd"], color=line_color, linestyle=dash, linewidth=0.8, label=label)
                for instant in self.stated_at_s("as-traced"):
                    figures.reference(ax, instant, "paper: losses, not rerouted", along="x")
                if self.expected(self.limit) is not None:
                    figures.reference(ax, self.stated(self.limit), "paper: limited by the buffer, not rerouted")
                ax.set(title=f"moved every {period:g} s", ylabel="window [segments]", ylim=(0, None))
            axes[-1, 0].set(xlabel="time [s]")
            figures.legend_of_all(figure, axes[:, 0])
        return figure
