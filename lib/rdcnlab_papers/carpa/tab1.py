# SPDX-License-Identifier: Apache-2.0
"""Table I: the window that fills 100 Mb/s, and the time to recover it after a loss. Sec. III-A."""

from __future__ import annotations

from math import nan
from typing import TYPE_CHECKING, ClassVar

import pandas as pd

from rdcnlab.analysis import cubic, figures, tables
from rdcnlab.fields.units import NS_PER_MS
from rdcnlab.runs.frame import Runs
from rdcnlab.runs.parts import Part
from rdcnlab.scenario import Scenario
from rdcnlab.scenario.flow import ENDLESS
from rdcnlab_papers.analysis import recoveries
from rdcnlab_papers.analysis.measured import Measured, means
from rdcnlab_papers.carpa.space import WINDOWS, Rtts, single
from rdcnlab_papers.items.causes import Cause
from rdcnlab_papers.items.item import Item

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Numbers of the table, by RTT in ms: windows in segments, and times in s.
STATED_WINDOWS = {10: 87.0, 50: 431.0, 180: 1550.0, 500: 4316.0}
STATED_TIMES = {10: 3.5, 50: 6.0, 180: 9.2, 500: 13.0}
#: Rate of the line in bit/s.
RATE = 100e6
#: RTT of the note below the table, and length of a run in s.
_BUFFER_MS, _LIMIT_S = 500, 90


class Tab1(Item):
    """Windows and recovery times by the paper's equations, and recovery times of a flow without rerouting.

    Parameters
    ----------
    rtts_ms : tuple of int
        RTTs of the flows.
    """

    runs_of_profile: ClassVar[dict[str, int]] = {"quick": 2, "paper": 5}
    reads: ClassVar[tuple[str, ...]] = ("flows", "tcp")
    parts: ClassVar[dict[str, Part]] = {"tcp": Part(("t_ns", "flow", "cwnd", "srtt_us"), tick=1000)}

    rtts_ms: Rtts = (10, 50, 180)

    def points(self) -> list[Scenario]:
        """Return one flow at each RTT, and at that of the note."""
        rtts = dict.fromkeys((*self.rtts_ms, _BUFFER_MS))
        return [self._endless(rtt, seed) for rtt in rtts for seed in range(self.count)]

    def _endless(self, rtt_ms: int, seed: int) -> Scenario:
        return single(rtt_ms, None, seed=seed, size=ENDLESS, limit=f"{_LIMIT_S} s", starts="1 s").with_(**WINDOWS)

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Compare the equations with the table, and measured recoveries with the equations."""
        windows = {rtt: cubic.full_window(RATE, rtt / 1e3) for rtt in STATED_WINDOWS}
        times = {rtt: cubic.recovery_time(windows[rtt]) / stated for rtt, stated in STATED_TIMES.items()}
        limited = runs.select(lambda scenario: _rtt_ms(scenario) == _BUFFER_MS)
        largest = tables.with_seeds(limited.tcp.groupby("run")["cwnd"].max().reset_index(), limited.scenarios)
        of_seeds = self.recoveries(runs).groupby(["rtt_ms", "seed"])["ratio"].mean().reset_index()
        measured = Measured.by_case(means(of_seeds, "rtt_ms", "ratio"), "{:g} ms").cases
        return {
            "window": Measured.by_case({rtt: windows[rtt] / stated for rtt, stated in STATED_WINDOWS.items()}, "{} ms"),
            "recovery-time": Measured.by_case(times, "{} ms"),
            "measured-recovery": Measured(
                {name: measured.get(name, nan) for name in map("{:g} ms".format, self.rtts_ms)}
            ),
            "kernel-buffer": Measured.by_case(means(largest.assign(rtt=_BUFFER_MS), "rtt", "cwnd"), "{:g} ms"),
        }

    def recoveries(self, runs: Runs) -> pd.DataFrame:
        """Return the reductions of windows that filled the path, after which the window recovered.

        Columns are those of `recoveries.reductions`, ``run``, ``rtt_ms``, ``seed``, ``paper_s`` (K of the window before
        the reduction, by the paper's equation) and ``ratio`` (of the measured time and K; see
        `cubic.rest_of_recovery`).
        """
        recovered = tables.with_seeds(recoveries.of_runs(runs), runs.scenarios)
        recovered["rtt_ms"] = recovered["run"].map(lambda run: _rtt_ms(runs[int(run)].scenario))
        full = recovered["rtt_ms"].map(lambda rtt: 0.9 * cubic.full_window(RATE, rtt / 1e3))
        recovered = recovered[(recovered["before"] >= full) & recovered["rtt_ms"].isin(self.rtts_ms)].dropna(
            subset=["recovered_s"]
        )
        recovered["paper_s"] = recovered["before"].map(cubic.recovery_time)
        remaining_s = recovered["before"].map(lambda window: cubic.rest_of_recovery(window, recoveries.RESTORED))
        return recovered.assign(ratio=(recovered["recovered_s"] + remaining_s) / recovered["paper_s"])

    def causes(self) -> list[Cause]:
        """Return experiments with the paper's reduction and without Reno's line, and with 4.4's receive window."""
        paper = {"transport.cubic_beta": 819, "transport.cubic_fast_convergence": 0}
        without_line = {**paper, "transport.cubic_friendliness": 0}
        causes = [
            Cause("measured-recovery", self.with_parameters(rtts_ms=(50,), changes=paper)),
            Cause("measured-recovery", self.with_parameters(rtts_ms=(10,), changes=without_line)),
        ]
        if self.column == "6.12":
            half = self.with_parameters(rtts_ms=(500,), changes={"transport.half_rcvbuf": 1})
            causes.append(Cause("kernel-buffer", half))
        return causes

    def plot(self, runs: Runs) -> Figure:
        """Draw the window after a loss over the time, as shares of the window before and of K."""
        recovered = self.recoveries(runs).groupby("rtt_ms").first()
        with figures.single(5.2, 3.2) as (figure, ax):
            for rtt, color in zip(recovered.index, figures.shades(len(recovered)), strict=True):
                row = recovered.loc[rtt]
                of_run = runs.tcp[runs.tcp["run"] == row["run"]]
                t_s, window = recoveries.windows_between(of_run, row["t_s"], row["t_s"] + 2 * row["paper_s"])
                ax.plot(
                    (t_s - row["t_s"]) / row["paper_s"], window / row["before"], color=color, label=f"RTT {rtt:g} ms"
                )
            model = cubic.Cubic(1000.0)
            times = pd.Series(range(101)) / 100 * 2 * model.recovery_s
            shape = model.at(times) / model.window
            ax.plot(times / model.recovery_s, shape, color=figures.REFERENCE, linestyle=":", label="paper's function")
            ax.set(xlabel="time since the loss / K", ylabel="window / window before", ylim=(0, 1.25))
        return figure


def _rtt_ms(scenario: Scenario) -> float:
    """Return the RTT of the shorter path in ms."""
    return 2 * scenario.network.link("access1").delay / NS_PER_MS
