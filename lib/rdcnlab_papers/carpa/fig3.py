# SPDX-License-Identifier: Apache-2.0
"""Figure 3: the cubic function laid over a trace of the kernel. Sec. III-A."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pandas as pd

from rdcnlab.analysis import cubic, figures, tables
from rdcnlab.runs.frame import Runs
from rdcnlab.runs.parts import Part
from rdcnlab.scenario import Scenario
from rdcnlab.scenario.flow import ENDLESS
from rdcnlab_papers.analysis import recoveries
from rdcnlab_papers.analysis.measured import Measured, means
from rdcnlab_papers.analysis.recoveries import Epoch
from rdcnlab_papers.carpa.fig2 import Fig2
from rdcnlab_papers.carpa.space import WINDOWS, single
from rdcnlab_papers.carpa.tab1 import RATE
from rdcnlab_papers.items.causes import Cause
from rdcnlab_papers.items.item import Item

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_PARTS = {"tcp": Part(("t_ns", "flow", "cwnd", "srtt_us"), tick=1000)}


class Fig3(Item):
    """The window of a CUBIC flow between its losses, and the paper's function for each of these times.

    The runs are those of figure 2.

    Parameters
    ----------
    rtt_ms, limit_s : int
        RTT, and length of a run in s.
    """

    runs_of_profile: ClassVar[dict[str, int]] = Fig2.runs_of_profile
    reads: ClassVar[tuple[str, ...]] = ("flows", "tcp")
    parts: ClassVar[dict[str, Part]] = _PARTS

    rtt_ms: int = 50
    limit_s: int = 100

    def points(self) -> list[Scenario]:
        """Return the CUBIC flows of figure 2."""
        scenarios = [
            single(self.rtt_ms, None, seed=seed, size=ENDLESS, limit=f"{self.limit_s} s", starts="1 s")
            for seed in range(self.count)
        ]
        return [scenario.with_(**WINDOWS) for scenario in scenarios]

    def epochs(self, runs: Runs) -> list[Epoch]:
        """Return the times between two losses of a window that was once full."""
        return recoveries.epochs(runs, 0.9 * cubic.full_window(RATE, self.rtt_ms / 1e3))

    def deviations(self, runs: Runs, *, linux: bool) -> pd.DataFrame:
        """Return by seed the largest deviation of the window from the function between two losses, in %."""
        rows = []
        for epoch in self.epochs(runs):
            # the next loss is noticed a round trip late
            of_run = runs.tcp[runs.tcp["run"] == epoch.run]
            t_s, window = recoveries.windows_between(of_run, epoch.end_s, epoch.until_s - self.rtt_ms / 1e3)
            deviation = np.abs(window / self.model(epoch, linux=linux).at(t_s - epoch.begin_s) - 1)
            rows.append({"run": epoch.run, "percent": 100 * float(deviation.max()) if deviation.size else np.nan})
        of_runs = pd.DataFrame(rows, columns=["run", "percent"]).groupby("run")["percent"].mean().reset_index()
        return tables.with_seeds(of_runs, runs.scenarios).assign(rtt=self.rtt_ms)

    def model(self, epoch: Epoch, *, linux: bool) -> cubic.Cubic:
        """Return the paper's function after a loss, or the one with the constants of Linux."""
        if linux:
            return cubic.of_linux(cubic.plateaus([*epoch.earlier, epoch.before])[-1], epoch.after)
        return cubic.Cubic(epoch.before, rtt_s=self.rtt_ms / 1e3)

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure the window's deviation from the paper's function and from that of Linux, and the times of losses."""
        deviations = {linux: means(self.deviations(runs, linux=linux), "rtt", "percent") for linux in (False, True)}
        return {
            "follows": Measured.by_case(deviations[False], ""),
            "follows-linux": Measured.by_case(deviations[True], ""),
            "as-traced": self.instants(runs),
        }

    def instants(self, runs: Runs) -> Measured:
        """Measure the distances in s of losses from those of the paper's trace."""
        full = cubic.full_window(RATE, self.rtt_ms / 1e3)
        offsets = recoveries.offsets(runs, self.stated_at_s("as-traced"), 0.9 * full)
        return Measured.by_case(means(offsets, "instant_s", "offset_s"), "at {:g} s")

    def causes(self) -> list[Cause]:
        """Return experiments with the paper's share of reduction and no fast convergence, and their times of losses."""
        paper = self.with_parameters(changes={"transport.cubic_beta": 819, "transport.cubic_fast_convergence": 0})
        return [Cause("follows", paper), Cause("follows", paper, self.instants)]

    def plot(self, runs: Runs) -> Figure:
        """Draw the first seed's window, and both functions between its losses."""
        first = runs.select(lambda scenario: scenario.seed == 0)
        with figures.single(6.4, 2.8) as (figure, ax):
            look = figures.look("cubic")
            ax.plot(first.tcp["t_ns"] / 1e9, first.tcp["cwnd"], color=look.color, label=look.label, linewidth=1)
            lines = {False: (figures.REFERENCE, ":", "paper's function"), True: ("black", "--", "Linux's constants")}
            for number, epoch in enumerate(self.epochs(first)):
                for linux, (color, dash, label) in lines.items():
                    t_s = np.linspace(epoch.begin_s, epoch.until_s, 100)
                    values = self.model(epoch, linux=linux).at(t_s - epoch.begin_s)
                    text = None if number else label
                    ax.plot(t_s, values, color=color, linestyle=dash, linewidth=0.9, label=text)
            top = 1.3 * cubic.full_window(RATE, self.rtt_ms / 1e3)
            ax.set(xlabel="time [s]", ylabel="congestion window [segments]", xlim=(0, self.limit_s), ylim=(0, top))
        return figure
