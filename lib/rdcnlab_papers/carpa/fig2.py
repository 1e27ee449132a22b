# SPDX-License-Identifier: Apache-2.0
"""Figure 2: the windows of Reno and CUBIC at an RTT of 50 ms. Sec. II-C."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import pandas as pd

from rdcnlab.analysis import cubic, figures, tables
from rdcnlab.runs.frame import Runs
from rdcnlab.runs.parts import Part
from rdcnlab.scenario import Scenario
from rdcnlab.scenario.flow import ENDLESS
from rdcnlab_papers.analysis import recoveries
from rdcnlab_papers.analysis.measured import Measured, means
from rdcnlab_papers.carpa.space import WINDOWS, Milliseconds, Variant, single
from rdcnlab_papers.carpa.tab1 import RATE, Tab1
from rdcnlab_papers.items.causes import Cause
from rdcnlab_papers.items.item import Item

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_VARIANTS: tuple[Variant, ...] = ("reno", "cubic")


class Fig2(Item):
    """Windows of a single flow of each variant, without rerouting.

    Parameters
    ----------
    rtt_ms : int
        RTT.
    limit_s : int
        Length of a run in s.
    """

    runs_of_profile: ClassVar[dict[str, int]] = {"quick": 2, "paper": 5}
    reads: ClassVar[tuple[str, ...]] = ("flows", "tcp")
    parts: ClassVar[dict[str, Part]] = {"tcp": Part(("t_ns", "flow", "cwnd", "srtt_us"), tick=1000)}

    rtt_ms: Milliseconds = 50
    limit_s: int = 100

    def points(self) -> list[Scenario]:
        """Return one flow of each variant for each seed; all start within the first second."""
        scenarios = [
            single(self.rtt_ms, None, cc=cc, seed=seed, size=ENDLESS, limit=f"{self.limit_s} s", starts="1 s")
            for cc in _VARIANTS
            for seed in range(self.count)
        ]
        return [scenario.with_(**WINDOWS) for scenario in scenarios]

    def of_variant(self, runs: Runs, cc: Variant) -> Runs:
        """Return the runs of a variant."""
        return runs.select(lambda scenario: scenario.flows[0].cc == cc)

    def filling_times(self, runs: Runs) -> pd.DataFrame:
        """Return by run the time in s from the first reduction until the window fills the path: ``cc``, ``filled_s``.

        It is the rest of the run if the window does not become so large.
        """
        full = cubic.full_window(RATE, self.rtt_ms / 1e3)
        rows = []
        for (run,), reductions in tables.groups(recoveries.of_runs(runs), ["run"]):
            begin = float(reductions["t_s"].min())
            t_s, window = recoveries.windows_between(runs.tcp[runs.tcp["run"] == run], begin, self.limit_s)
            full_times = t_s[window >= full]
            end = float(full_times[0]) if full_times.size else float(self.limit_s)
            rows.append({"run": run, "cc": runs[int(run)].scenario.flows[0].cc, "filled_s": end - begin})
        return tables.with_seeds(pd.DataFrame(rows, columns=["run", "cc", "filled_s"]), runs.scenarios)

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure how long Reno takes to fill the path, and how long CUBIC takes to recover after losses."""
        cubics = self.of_variant(runs, "cubic")
        recovered = Tab1(rtts_ms=(self.rtt_ms,), column=self.column).recoveries(cubics)
        of_runs = recovered.groupby("seed")["ratio"].mean().reset_index().assign(rtt=self.rtt_ms)
        filled = self.filling_times(runs)
        return {
            "reno-minute": Measured.by_case(means(filled[filled["cc"] == "reno"], "cc", "filled_s"), ""),
            "cubic-recovers": Measured.by_case(means(of_runs, "rtt", "ratio"), ""),
        }

    def causes(self) -> list[Cause]:
        """Return experiments with a longer RTT, and with the paper's constants of CUBIC."""
        paper = {"transport.cubic_beta": 819, "transport.cubic_fast_convergence": 0}
        return [
            Cause("reno-minute", self.with_parameters(rtt_ms=120, limit_s=150)),
            Cause("cubic-recovers", self.with_parameters(changes=paper)),
        ]

    def plot(self, runs: Runs) -> Figure:
        """Draw the windows of the first seed, and the window that fills the path."""
        with figures.single(6.4, 2.8) as (figure, ax):
            for cc in _VARIANTS:
                tcp = self.of_variant(runs, cc).select(lambda scenario: scenario.seed == 0).tcp
                look = figures.look(cc)
                ax.plot(tcp["t_ns"] / 1e9, tcp["cwnd"], color=look.color, label=look.label, linewidth=1)
            full = cubic.full_window(RATE, self.rtt_ms / 1e3)
            figures.reference(ax, full, "fills the path")
            ax.set(
                xlabel="time [s]", ylabel="congestion window [segments]", xlim=(0, self.limit_s), ylim=(0, 1.5 * full)
            )
        return figure
