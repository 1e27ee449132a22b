# SPDX-License-Identifier: Apache-2.0
"""Figure 4: a flow whose window does not fill the path sends and waits. Sec. III-C."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import pandas as pd

from rdcnlab.analysis import cubic, figures, tables
from rdcnlab.runs.frame import Runs
from rdcnlab.runs.parts import Part
from rdcnlab.scenario import Scenario
from rdcnlab.scenario.flow import ENDLESS
from rdcnlab_papers.analysis import phases
from rdcnlab_papers.analysis.measured import Measured, means
from rdcnlab_papers.carpa.space import Milliseconds, single
from rdcnlab_papers.carpa.tab1 import RATE
from rdcnlab_papers.items.causes import Cause
from rdcnlab_papers.items.item import Item

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: A gap between packets that is longer than this, in s, is waiting. The line sends a packet every 0.12 ms; a delayed
#: ACK releases two packets together.
_GAP_S = 1e-3


class Fig4(Item):
    """Packets of a flow within one second, captured at its sender.

    The second is that in which the mean window of the run is nearest to `window`. After slow start the window of a flow
    is small, and grows slowly.

    Parameters
    ----------
    rtt_ms : int
        RTT.
    window : int
        Wanted window in segments.
    limit_s : int
        Length of a run in s.
    """

    runs_of_profile: ClassVar[dict[str, int]] = {"quick": 2, "paper": 5}
    reads: ClassVar[tuple[str, ...]] = ("flows", "tcp", "events")
    parts: ClassVar[dict[str, Part]] = {"tcp": Part(("t_ns", "flow", "cwnd"), tick=1000)}

    rtt_ms: Milliseconds = 50
    window: int = 150
    limit_s: int = 12

    def points(self) -> list[Scenario]:
        """Return one flow for each seed, captured at its sender."""
        scenarios = [
            single(self.rtt_ms, None, seed=seed, size=ENDLESS, limit=f"{self.limit_s} s", starts="1 s")
            for seed in range(self.count)
        ]
        changes = {"probes.capture": ["s1"], "probes.tcp": "bin", "probes.bin": "10 ms"}
        return [scenario.with_(**changes) for scenario in scenarios]

    def seconds(self, runs: Runs) -> pd.DataFrame:
        """Return the chosen second of each run: ``run``, ``seed``, ``begin_s``, ``window``, and ``waiting`` (share)."""
        rows = []
        for run in range(len(runs)):
            of_run = runs.tcp[runs.tcp["run"] == run]
            begin, window = phases.nearest_second(of_run, self.window, 2.0, self.limit_s)
            sent = phases.send_times(runs.events[runs.events["run"] == run])
            share = phases.waiting_share(sent, begin, begin + 1, _GAP_S)
            rows.append({"run": run, "begin_s": begin, "window": window, "waiting": share})
        return tables.with_seeds(pd.DataFrame(rows), runs.scenarios)

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure the share of the second in which no packet leaves, and compare it with the window."""
        seconds = self.seconds(runs).assign(case="waiting")
        full = cubic.full_window(RATE, self.rtt_ms / 1e3)
        expected = seconds.assign(waiting=seconds["waiting"] - (1 - seconds["window"] / full))
        note = f"windows of {seconds['window'].min():.0f} to {seconds['window'].max():.0f} segments"
        return {
            "waiting": Measured.by_case(means(seconds, "case", "waiting"), "", note),
            "as-window": Measured.by_case(means(expected, "case", "waiting"), "", note),
        }

    def causes(self) -> list[Cause]:
        """Return an experiment in which the receiver limits the window, so that nothing is lost in slow start."""
        largest = 2 * self.window * 1448
        limited = {"transport.half_rcvbuf": 1, "transport.rmem": [4096, min(87_380, largest), largest]}
        return [Cause(claim, self.with_parameters(changes=limited)) for claim in ("waiting", "as-window")]

    def plot(self, runs: Runs) -> Figure:
        """Draw how many bytes the first run has sent, over the chosen second."""
        row = self.seconds(runs).iloc[0]
        sent = phases.send_times(runs.events[runs.events["run"] == row["run"]])
        inside = sent[(sent >= row["begin_s"]) & (sent < row["begin_s"] + 1)] - row["begin_s"]
        with figures.single(6.4, 2.4) as (figure, ax):
            look = figures.look("cubic")
            label = f"{look.label}, window of {row['window']:.0f} segments"
            ax.plot(inside, range(len(inside)), ".", markersize=2, color=look.color, label=label)
            ax.set(xlabel="time [s]", ylabel="packets sent", xlim=(0, 1))
        return figure
