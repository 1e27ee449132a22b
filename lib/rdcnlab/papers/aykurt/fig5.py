# SPDX-License-Identifier: Apache-2.0
"""Figure 5: congestion windows of the two CUBIC flows. Sec. V-B."""

from __future__ import annotations

from itertools import pairwise, product
from typing import ClassVar

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from rdcnlab.analysis import figures, tables
from rdcnlab.fields.units import NS_PER_MS
from rdcnlab.papers.aykurt.space import Periods, Point, Variant, Volume
from rdcnlab.papers.claims import Measured
from rdcnlab.papers.item import Cause, Item
from rdcnlab.runs.frame import Runs
from rdcnlab.runs.parts import Part
from rdcnlab.scenario import Scenario

#: A step of the window by more than this share is a fall; CUBIC's is 0.3, spread over one RTT by PRR.
_FALL = 0.05
#: Shortest retransmission timeout of Linux.
_RTO_MIN_NS = 200 * NS_PER_MS
#: The loss is seen by the sender up to this long after the flows met: queue and RTT at their largest.
_NOTICE_NS = 5 * NS_PER_MS


class Fig5(Item):
    """Windows of main and migrated flow at every period, beside that of a single flow.

    Parameters
    ----------
    cc : str
        Variant of all flows.
    periods_ms : tuple of int
        Periods.
    size, single_size : str
        Volume of each of two flows, and of the single flow.
    """

    paper: ClassVar[str] = "aykurt"
    id: ClassVar[str] = "fig5"
    parts: ClassVar[dict[str, Part]] = {"tcp": Part(("t_ns", "flow", "cwnd_B"), tick=1000)}

    cc: Variant = "cubic"
    periods_ms: Periods = (50, 25, 10, 1)
    size: Volume = "2 GB"
    single_size: Volume = "4 GB"

    def points(self) -> list[Scenario]:
        """Return the single flow and the pairs at every period, times seeds."""
        points = [{"flows": 1, "size": self.single_size}]
        points += [{"period_ms": period, "size": self.size} for period in self.periods_ms]
        return [Point(cc=self.cc, seed=seed, **point).scenario() for point, seed in product(points, range(self.count))]

    def needs(self, scenario: Scenario) -> tuple[str, ...]:  # noqa: ARG002
        """Return windows and completion times."""
        return ("flows", "tcp")

    def plot(self, runs: Runs) -> Figure:
        """Draw the mean window over time, the single flow's behind both, one panel a period."""
        windows = self._windows(runs, 5 * NS_PER_MS)
        stats = tables.mean_ci(windows, ["period_ms", "flow", "t_s"], "cwnd_B")
        with figures.style():
            figure, axes = figures.panels(1, len(self.periods_ms), width=2.8)
            for ax, period in zip(axes[0], self.periods_ms, strict=True):
                figures.band(ax, stats[stats["flow"] == "single"], "t_s", "single", scale=1e-3)
                for flow in ("main", "migrated"):
                    chosen = stats[(stats["period_ms"] == period) & (stats["flow"] == flow)]
                    figures.band(ax, chosen, "t_s", flow, scale=1e-3)
                figures.reference(ax, self.stated("largest-window"), "paper: single flow")
                ax.set(title=f"{period} ms", xlabel="time [s]")
            # the intervals of few runs would reach far below zero, and above what the buffer holds
            axes[0, 0].set(ylabel="congestion window [kB]", ylim=(0, 4000))
            figures.legend(figure, axes[0, 0])
        return figure

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure peaks, falls and growth of the windows."""
        windows = self._windows(runs, NS_PER_MS)
        alone = windows[windows["flow"] == "single"]
        single = np.mean([_largest_before_fall(of_run) for _, of_run in tables.groups(alone, ["run"])])
        ends = self._ends(runs)
        inside = self._inside(windows, ends)
        teeth = self._teeth(inside)
        heights = teeth[teeth["flow"] == "migrated"].groupby("period_ms")["height"].mean()
        steps = pairwise(sorted(heights.index, reverse=True))
        measured = {
            "largest-window": Measured.one(float(single) / 1e3),
            "teeth-shrink": Measured({f"{b:g} over {a:g} ms": heights[b] / heights[a] for a, b in steps}),
            "growth-after-main": Measured(self._growth(windows, ends)),
            "main-finishes": Measured(tables.cases(ends.groupby("period_ms")["main"].mean(), "{:g} ms")),
        }
        if 50 in self.periods_ms:
            peaks = teeth[teeth["period_ms"] == 50].groupby("flow")["peak"].mean() / single
            measured["peaks-at-50"] = Measured(tables.cases(peaks))
            following = self._falls(runs, inside[inside["period_ms"] == 50])["following"]
            share = 100 * following.mean() if len(following) else float("nan")
            measured["falls-follow-moves"] = Measured.one(float(share), f"{len(following)} falls")
        return measured

    def causes(self) -> list[Cause]:
        """Return why 50 ms is another case than the shorter periods, and what falls elsewhere are."""
        at_50 = Fig5(cc=self.cc, periods_ms=(50,), size=self.size, profile=self.profile, seeds=self.seeds)
        return [
            Cause(
                "falls-follow-moves",
                "The others are retransmission timeouts: a loss in the shared slot, and 200 ms later, wherever the "
                "flow is then, the window falls. The packets that a move takes off the shared link pass those that "
                "wait there; the sender takes it for loss, takes that back, and lets the real loss wait:",
                at_50,
                at_50._timeouts,
            ),
            Cause(
                "growth-after-main",
                "Before the flows first meet, the migrated flow is alone for a whole slot. In 50 ms its window gets as "
                "large as that of a single flow, and no later one can pass that, however much is left to send. In 25 "
                "ms it gets six tenths as large, and is passed only if enough is left once the main flow has finished. "
                "Largest windows of a migrated flow that has 4 GiB to send:",
                Fig5(periods_ms=(50, 25), seeds=self.few, changes={"flows.migrated.size": "4 GiB"}),
                _first_and_last,
            ),
            Cause(
                "main-finishes",
                "Alone for one slot and sharing fairly for the next, a flow gets 7.5 Gb/s, and 2 GiB take 2.3 s with "
                "any variant; so the paper's own saw-tooth at 50 ms (figure 4) does not end at 2 s. DCTCP, which "
                "shares most evenly:",
                Fig5(cc="dctcp", periods_ms=(50,), seeds=self.few, changes={"switch.ecn_threshold": "65 kB"}),
            ),
        ]

    def _windows(self, runs: Runs, bin_ns: int) -> pd.DataFrame:
        """Sample all windows on one grid: ``run``, ``period_ms``, ``flow``, ``t_s``, ``cwnd_B``."""
        windows = tables.sample(runs.tcp, "cwnd_B", bin_ns)
        alone = windows["run"].map(lambda run: len(runs[run].scenario.flows) == 1)
        windows["flow"] = windows["flow"].mask(alone, "single")
        windows["period_ms"] = windows["run"].map(runs.scenarios.set_index("run")["period_ms"]).fillna(0)
        return windows

    @staticmethod
    def _ends(runs: Runs) -> pd.DataFrame:
        """Return when each flow of a pair ended, s, by run and period."""
        return runs.flows.pivot_table(index=["run", "period_ms"], columns="flow", values="end_s").dropna()

    @staticmethod
    def _inside(windows: pd.DataFrame, ends: pd.DataFrame) -> pd.DataFrame:
        """Return the windows while both flows of a pair run."""
        both = ends.min(axis=1).droplevel("period_ms")
        return windows[windows["t_s"] < windows["run"].map(both)]

    @staticmethod
    def _teeth(inside: pd.DataFrame) -> pd.DataFrame:
        """Peak and height of every whole cycle (two periods) while both flows run, without the first."""
        parts = []
        for (_, flow, period), of_flow in tables.groups(inside, ["run", "flow", "period_ms"]):
            cycle = 2 * period / 1000
            teeth = tables.cycles(of_flow["t_s"].to_numpy() + 1e-9, of_flow["cwnd_B"].to_numpy(), cycle).iloc[1:-1]
            parts.append(teeth.assign(flow=flow, period_ms=period, height=teeth["peak"] - teeth["valley"]))
        return pd.concat(parts, ignore_index=True)

    @staticmethod
    def _growth(windows: pd.DataFrame, ends: pd.DataFrame) -> dict[str, float]:
        """Percentage of runs whose migrated window is larger after the main flow's end than ever before, by period."""
        migrated = windows[windows["flow"] == "migrated"]
        after = migrated["t_s"] > migrated["run"].map(ends["main"].droplevel("period_ms"))
        largest = migrated.groupby(["period_ms", "run", after.rename("after")])["cwnd_B"].max().unstack("after")
        # a migrated flow that ends first has no window afterwards, and has not grown
        largest = largest.reindex(columns=[False, True])
        shares = (largest[True] > largest[False]).groupby("period_ms").mean() * 100
        return tables.cases(shares, "{:g} ms")

    @staticmethod
    def _falls(runs: Runs, windows: pd.DataFrame) -> pd.DataFrame:
        """Return all falls, ``run``, ``flow``, ``t_ns``, and whether they are `following` a move onto the link."""
        parts = []
        for (run, flow), of_flow in tables.groups(windows, ["run", "flow"]):
            fallen = tables.falls(of_flow["t_s"].to_numpy(), of_flow["cwnd_B"].to_numpy(), _FALL)
            t_ns = np.rint(fallen * 1e9).astype(np.int64)
            scenario = runs[run].scenario
            following = tables.together(scenario, "main", "migrated", t_ns)
            following |= tables.together(scenario, "main", "migrated", t_ns - _NOTICE_NS)
            parts.append(pd.DataFrame({"run": run, "flow": flow, "t_ns": t_ns, "following": following}))
        return pd.concat(parts, ignore_index=True)

    def _timeouts(self, runs: Runs) -> Measured:
        """Count the falls at 50 ms that follow no move, and those of them that end a silence as long as a timeout."""
        windows = self._inside(self._windows(runs, NS_PER_MS), self._ends(runs))
        falls = self._falls(runs, windows[windows["period_ms"] == 50])
        others = falls[~falls["following"]]
        acks = runs.tcp.set_index(["run", "flow"]).sort_index()
        silent = 0
        for run, flow, t_ns in others[["run", "flow", "t_ns"]].itertuples(index=False):
            seen = acks.loc[(run, flow), "t_ns"].to_numpy()
            seen = seen[seen <= t_ns]
            # the timer counts jiffies, the first of which may be nearly over when it is set
            jiffy = 10**9 // runs[run].scenario.engine.hz
            silent += seen[-1] - seen[-2] > _RTO_MIN_NS - jiffy
        return Measured({"falls": len(falls), "others": len(others), "after a timeout": int(silent)})


def _first_and_last(runs: Runs) -> Measured:
    """Largest window of the migrated flow in its first slot and once the main flow has ended, by period, mean of runs.

    Only runs of two flows.
    """
    ends = runs.flows[runs.flows["flow"] == "main"].set_index("run")
    windows = runs.tcp[(runs.tcp["flow"] == "migrated") & runs.tcp["run"].isin(ends.index)]
    windows = windows.assign(period_ms=windows["run"].map(ends["period_ms"]))
    t_s = windows["t_ns"] / 1e9
    parts = {
        "first slot": t_s < windows["period_ms"] / 1000,
        "after the main flow": t_s > windows["run"].map(ends["end_s"]),
    }
    largest = {name: windows[part].groupby(["period_ms", "run"])["cwnd_B"].max() for name, part in parts.items()}
    return Measured(
        {
            f"{period:g} ms, {name}": float(value) / 1e3
            for period in sorted(windows["period_ms"].unique(), reverse=True)
            for name, of_runs in largest.items()
            for value in [of_runs.loc[period].mean()]
        },
        "kB",
    )


def _largest_before_fall(of_run: pd.DataFrame) -> float:
    """Largest window before the first fall; of all, where there is none."""
    fallen = tables.falls(of_run["t_s"].to_numpy(), of_run["cwnd_B"].to_numpy(), _FALL)
    before = of_run[of_run["t_s"] < fallen[0]] if fallen.size else of_run
    return float(before["cwnd_B"].max())
