# SPDX-License-Identifier: Apache-2.0
"""Congestion windows of a main and a migrated flow: their teeth, what they fall after, and when they grow.

Flows are told apart as in `rdcnlab.analysis.competition`; a flow without another is ``single``.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from rdcnlab.analysis import tables
from rdcnlab.analysis.measured import Measured
from rdcnlab.fields.units import NS_PER_MS
from rdcnlab.runs.frame import Runs

#: A step of the window by more than this share is a fall; CUBIC's is 0.3, spread over one RTT by PRR.
_FALL = 0.05
#: Shortest retransmission timeout of Linux.
_RTO_MIN_NS = 200 * NS_PER_MS
#: The loss is seen by the sender up to this long after the flows met: queue and RTT at their largest.
_NOTICE_NS = 5 * NS_PER_MS


def sampled(runs: Runs, bin_ns: int = NS_PER_MS) -> pd.DataFrame:
    """Sample all windows on one grid: ``run``, ``period_ms``, ``flow``, ``t_s``, ``cwnd_B``."""
    windows = tables.sample(runs.tcp, "cwnd_B", bin_ns)
    alone = windows["run"].map(lambda run: len(runs[run].scenario.flows) == 1)
    windows["flow"] = windows["flow"].mask(alone, "single")
    windows["period_ms"] = windows["run"].map(runs.scenarios.set_index("run")["period_ms"]).fillna(0)
    return windows


def ends(runs: Runs) -> pd.DataFrame:
    """Return when each flow of a pair ended, s, by run and period."""
    return runs.flows.pivot_table(index=["run", "period_ms"], columns="flow", values="end_s").dropna()


def together(windows: pd.DataFrame, runs: Runs) -> pd.DataFrame:
    """Return the windows while both flows of a pair run."""
    both = ends(runs).min(axis=1).droplevel("period_ms")
    return windows[windows["t_s"] < windows["run"].map(both)]


def largest_before_fall(windows: pd.DataFrame) -> float:
    """Return the largest window [B] of single flows before their first fall; of all, where there is none."""
    found = []
    for _, of_run in tables.groups(windows[windows["flow"] == "single"], ["run"]):
        fallen = tables.falls(of_run["t_s"].to_numpy(), of_run["cwnd_B"].to_numpy(), _FALL)
        before = of_run[of_run["t_s"] < fallen[0]] if fallen.size else of_run
        found.append(float(before["cwnd_B"].max()))
    return float(np.mean(found))


def teeth(inside: pd.DataFrame) -> pd.DataFrame:
    """Return ``peak`` and ``height`` of every whole cycle (two periods) while both flows run, without the first."""
    parts = []
    for (_, flow, period), of_flow in tables.groups(inside, ["run", "flow", "period_ms"]):
        cycle = 2 * period / 1000
        found = tables.cycles(of_flow["t_s"].to_numpy() + 1e-9, of_flow["cwnd_B"].to_numpy(), cycle).iloc[1:-1]
        parts.append(found.assign(flow=flow, period_ms=period, height=found["peak"] - found["valley"]))
    return pd.concat(parts, ignore_index=True)


def growth(windows: pd.DataFrame, runs: Runs) -> pd.Series[float]:
    """Return the percentage of runs whose migrated window is larger after the main flow's end than ever before."""
    migrated = windows[windows["flow"] == "migrated"]
    after = migrated["t_s"] > migrated["run"].map(ends(runs)["main"].droplevel("period_ms"))
    largest = migrated.groupby(["period_ms", "run", after.rename("after")])["cwnd_B"].max().unstack("after")
    # a migrated flow that ends first has no window afterwards, and has not grown
    largest = largest.reindex(columns=[False, True])
    return (largest[True] > largest[False]).groupby("period_ms").mean() * 100


def falls(runs: Runs, windows: pd.DataFrame) -> pd.DataFrame:
    """Return all falls, ``run``, ``flow``, ``t_ns``, and whether they are `following` a move onto the shared link."""
    parts = []
    for (run, flow), of_flow in tables.groups(windows, ["run", "flow"]):
        fallen = tables.falls(of_flow["t_s"].to_numpy(), of_flow["cwnd_B"].to_numpy(), _FALL)
        t_ns = np.rint(fallen * 1e9).astype(np.int64)
        scenario = runs[run].scenario
        following = tables.together(scenario, "main", "migrated", t_ns)
        following |= tables.together(scenario, "main", "migrated", t_ns - _NOTICE_NS)
        parts.append(pd.DataFrame({"run": run, "flow": flow, "t_ns": t_ns, "following": following}))
    return pd.concat(parts, ignore_index=True)


def timeouts(runs: Runs, period_ms: int) -> Measured:
    """Count the falls that follow no move at a period, and those of them that end a silence as long as a timeout."""
    windows = together(sampled(runs), runs)
    found = falls(runs, windows[windows["period_ms"] == period_ms])
    others = found[~found["following"]]
    acks = runs.tcp.set_index(["run", "flow"]).sort_index()
    silent = 0
    for run, flow, t_ns in others[["run", "flow", "t_ns"]].itertuples(index=False):
        seen = acks.loc[(run, flow), "t_ns"].to_numpy()
        seen = seen[seen <= t_ns]
        # the timer counts jiffies, the first of which may be nearly over when it is set
        jiffy = 10**9 // runs[run].scenario.engine.hz
        silent += seen[-1] - seen[-2] > _RTO_MIN_NS - jiffy
    return Measured({"falls": len(found), "others": len(others), "after a timeout": int(silent)})


def first_and_last(runs: Runs) -> Measured:
    """Measure the migrated flow's largest window in its first slot and once the main flow has ended, by period.

    Means over the runs of two flows.
    """
    main = runs.flows[runs.flows["flow"] == "main"].set_index("run")
    windows = runs.tcp[(runs.tcp["flow"] == "migrated") & runs.tcp["run"].isin(main.index)]
    windows = windows.assign(period_ms=windows["run"].map(main["period_ms"]))
    t_s = windows["t_ns"] / 1e9
    parts = {
        "first slot": t_s < windows["period_ms"] / 1000,
        "after the main flow": t_s > windows["run"].map(main["end_s"]),
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
