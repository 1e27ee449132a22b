# SPDX-License-Identifier: Apache-2.0
"""Congestion windows of a main and a migrated flow: their sawteeth, the causes of their falls, and their growth.

The flows have the names of `rdcnlab_papers.analysis.competition`. A flow that is alone in its run is called ``single``.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from rdcnlab.analysis import sampled, tables, timetables
from rdcnlab.analysis.intervals import Estimate
from rdcnlab.analysis.resampling import Floats, bootstrap_by_weight
from rdcnlab.fields.units import NS_PER_MS
from rdcnlab.runs.frame import Runs
from rdcnlab.runs.once import for_each_run

#: A step down of the window by more than this share is a fall. CUBIC reduces it by 0.3; PRR spreads that over one RTT.
_FALL = 0.05
#: The sender notices a loss up to this time after the flows shared a link: largest queueing delay plus RTT.
NOTICE_NS = 5 * NS_PER_MS


@for_each_run
def sample(runs: Runs, bin_ns: int = NS_PER_MS) -> pd.DataFrame:
    """Sample all windows on one grid: ``run``, ``period_ms``, ``flow``, ``t_s``, ``cwnd_B``."""
    windows = sampled.sample(runs.tcp, "cwnd_B", bin_ns)
    of_run = windows["run"].to_numpy()
    is_single = np.array([len(run.scenario.flows) == 1 for run in runs])
    windows["flow"] = windows["flow"].mask(is_single[of_run], "single")
    windows["period_ms"] = np.nan_to_num(runs.scenarios["period_ms"].to_numpy()[of_run])
    return windows


def ends(runs: Runs) -> pd.DataFrame:
    """Return the end in s of each flow of a pair, by run and period."""
    return runs.flows.pivot_table(index=["run", "period_ms"], columns="flow", values="end_s").dropna()


def together(windows: pd.DataFrame, runs: Runs) -> pd.DataFrame:
    """Return the windows during the time in which both flows of a pair run."""
    both_s = ends(runs).min(axis=1).droplevel("period_ms")
    return windows[windows["t_s"] < windows["run"].map(both_s)]


def largest_of_runs(windows: pd.DataFrame) -> pd.DataFrame:
    """Return the largest window of each single flow before its first fall: ``run``, ``cwnd_B``.

    Without a fall the whole flow counts.
    """
    rows = []
    for (run,), of_run in tables.groups(windows[windows["flow"] == "single"], ["run"]):
        fallen = sampled.falls(of_run["t_s"].to_numpy(), of_run["cwnd_B"].to_numpy(), _FALL)
        before = of_run[of_run["t_s"] < fallen[0]] if fallen.size else of_run
        rows.append({"run": run, "cwnd_B": float(before["cwnd_B"].max())})
    return pd.DataFrame(rows, columns=["run", "cwnd_B"])


def teeth(inside: pd.DataFrame) -> pd.DataFrame:
    """Return ``peak`` and ``height`` of each flow's window in every whole cycle (two periods) except the first."""
    of_flow = inside.groupby(["run", "flow", "period_ms"], observed=True).ngroup().to_numpy()
    cycle_s = 2 * inside["period_ms"].to_numpy() / 1000
    teeth = sampled.cycles(inside["t_s"].to_numpy() + 1e-9, inside["cwnd_B"].to_numpy(), cycle_s, of_flow)
    first = np.unique(of_flow, return_index=True)[1]
    labels = inside[["run", "flow", "period_ms"]].iloc[first[teeth["series"]]].reset_index(drop=True)
    # the first and the last cycle of a flow are not whole
    other = np.diff(teeth["series"], prepend=-1, append=-1) != 0
    is_whole = ~(other[:-1] | other[1:])
    whole: pd.DataFrame = teeth.assign(**labels, height=teeth["peak"] - teeth["valley"])[is_whole]
    return whole.reset_index(drop=True)


def peaks_near_moves(inside: pd.DataFrame, late: float = 0.2) -> pd.DataFrame:
    """Return each flow's largest window in every cycle, and whether it has this size ``near`` a move.

    Parameters
    ----------
    inside : DataFrame
        Windows, as `together` returns them. There is a move at each multiple of the period.
    late : float
        A peak is near a move in this last part of a slot. It is, too, up to `NOTICE_NS` after a move, because a window
        grows until a loss is noticed. A window often keeps its size for a while, so any instant of its largest size
        counts.

    Returns
    -------
    DataFrame
        ``run``, ``flow``, ``cycle``, ``cwnd_B``, ``near``: one row for each cycle (two periods) but the first.
    """
    keys = ["run", "flow", "cycle"]
    t_ms = (1000 * inside["t_s"]).round(6)
    rows = inside.assign(cycle=(t_ms // (2 * inside["period_ms"])).astype(int))
    place_ms = t_ms % inside["period_ms"]
    rows["near"] = (place_ms >= (1 - late) * rows["period_ms"]) | (place_ms <= NOTICE_NS / NS_PER_MS)
    rows = rows[rows["cycle"] > 0]
    is_largest = rows["cwnd_B"] == rows.groupby(keys, observed=True)["cwnd_B"].transform("max")
    return (
        rows[is_largest]
        .groupby(keys, observed=True)
        .agg(cwnd_B=("cwnd_B", "first"), near=("near", "any"))
        .reset_index()
    )


def growth(windows: pd.DataFrame, runs: Runs) -> pd.Series[float]:
    """Return by period the percentage of runs in which the migrated window grows after the main flow's end.

    It grows if it is larger after the end of the main flow than at any time before.
    """
    migrated = windows[windows["flow"] == "migrated"]
    after = migrated["t_s"] > migrated["run"].map(ends(runs)["main"].droplevel("period_ms"))
    largest = migrated.groupby(["period_ms", "run", after.rename("after")])["cwnd_B"].max().unstack("after")
    # if the migrated flow ends first, it has no window afterwards, and counts as not grown
    largest = largest.reindex(columns=[False, True])
    return (largest[True] > largest[False]).groupby("period_ms").mean() * 100


def mean_growth(windows: pd.DataFrame, ended: pd.DataFrame) -> dict[float, Estimate]:
    """Compare the largest values of the migrated flow's mean window after and before the main flow's end, by period.

    The mean is over runs, at each instant. The first cycle does not count, and an instant counts if the flow still runs
    in at least half of the runs. The main flow's end is the mean over runs.

    Parameters
    ----------
    windows : DataFrame
        Windows as `sample` returns them, with a column ``seed``.
    ended : DataFrame
        Ends of the flows in s, with columns ``period_ms``, ``main`` and ``seed``.

    Returns
    -------
    dict of float to Estimate
        Ratio of the largest value after the end to the largest before, by period in ms. It is 0 if the migrated flow
        ends first.
    """
    return {
        float(period): _growth(of_period, ended, float(period))
        for (period,), of_period in tables.groups(windows, ["period_ms"])
    }


def _growth(windows: pd.DataFrame, ended: pd.DataFrame, period_ms: float) -> Estimate:
    late = windows[(windows["flow"] == "migrated") & (windows["t_s"] >= 2 * period_ms / 1000)]
    curves = late.pivot_table(index=late["t_s"].round(6), columns="seed", values="cwnd_B")
    end = ended[ended["period_ms"] == period_ms].groupby("seed")["main"].mean()

    values, t_s, ends_s = curves.to_numpy(), curves.index.to_numpy(), end[curves.columns].to_numpy()

    is_running = (~np.isnan(values)).astype(float)

    def ratio(weights: Floats) -> Floats:
        count = is_running @ weights.T
        with np.errstate(invalid="ignore"):
            mean = np.where(count * 2 >= len(ends_s), np.nan_to_num(values) @ weights.T / count, -np.inf)
        is_after = t_s[:, None] > weights @ ends_s / len(ends_s)
        after, before = (np.where(chosen, mean, -np.inf).max(axis=0) for chosen in (is_after, ~is_after))
        # without an instant before the end there is nothing to compare with
        return np.where(np.isinf(before), np.nan, np.where(np.isinf(after), 0.0, after / before))

    return bootstrap_by_weight(len(ends_s), ratio)


def falls(runs: Runs, windows: pd.DataFrame) -> pd.DataFrame:
    """Return all falls: ``run``, ``flow``, ``t_ns``, and whether they are ``following`` a move onto the shared link.

    A fall counts as such if the flows share a link at that instant, or did so `NOTICE_NS` before.
    """
    parts = []
    for (run, flow), of_flow in tables.groups(windows, ["run", "flow"]):
        fallen = sampled.falls(of_flow["t_s"].to_numpy(), of_flow["cwnd_B"].to_numpy(), _FALL)
        t_ns = np.rint(fallen * 1e9).astype(np.int64)
        scenario = runs[run].scenario
        following = timetables.together(scenario, "main", "migrated", t_ns)
        following |= timetables.together(scenario, "main", "migrated", t_ns - NOTICE_NS)
        parts.append(pd.DataFrame({"run": run, "flow": flow, "t_ns": t_ns, "following": following}))
    return pd.concat(parts, ignore_index=True)


def following_share(rows: pd.DataFrame) -> pd.DataFrame:
    """Return by run the share of falls in % that follow a move: ``run``, ``percent``; `rows` comes from `falls`."""
    return (100 * rows.groupby("run")["following"].mean()).rename("percent").reset_index()
