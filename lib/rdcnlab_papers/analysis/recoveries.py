# SPDX-License-Identifier: Apache-2.0
"""Reductions of congestion windows: how deep they are, how long the window takes to recover, and which are undone.

Input are traces of windows: the table ``tcp`` of `rdcnlab.engines.schema`, with one row for each ACK.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from rdcnlab.analysis import tables
from rdcnlab.runs.frame import Runs

Floats = npt.NDArray[np.float64]

#: A reduction takes away at least this share of the window.
LEAST = 0.05
#: A window is restored, or has recovered, if it reaches this share of its former size. Linux restores it exactly; the
#: tolerance is for the last ACK before the reduction.
RESTORED = 0.98


def reductions(t_s: Floats, window: Floats, gap_s: float) -> pd.DataFrame:
    """Return the reductions of a window.

    Linux takes segments away ACK by ACK (proportional rate reduction), so falls that follow each other belong together.

    Parameters
    ----------
    t_s, window : ndarray, shape (n,)
        Time in s, and window in segments after each ACK.
    gap_s : float
        Falls that are at most this long apart belong to one reduction, if the window has not grown in between. One
        round trip is enough.

    Returns
    -------
    DataFrame
        ``t_s`` (first fall), ``end_s`` (last fall), ``before`` and ``after`` (window), ``step`` (largest single fall),
        ``recovered_s`` (time from the first fall until the window has `RESTORED` of its former size, whatever happens
        in between; NaN if the trace ends before), ``undone`` (whether a single ACK restored it).
    """
    steps = np.diff(window)
    fallen = np.flatnonzero(steps < 0) + 1
    columns = ["t_s", "end_s", "before", "after", "step", "recovered_s", "undone"]
    if not fallen.size:
        return pd.DataFrame({name: [] for name in columns})
    risen = np.concatenate(([0.0], np.cumsum(np.maximum(steps, 0))))
    is_new = (np.diff(t_s[fallen]) > gap_s) | (np.diff(risen[fallen]) > LEAST * window[fallen[:-1]])
    first = fallen[np.concatenate(([True], is_new))]
    last = fallen[np.concatenate((is_new, [True]))]
    before = window[first - 1]
    after = np.array([window[a : b + 1].min() for a, b in zip(first, last, strict=True)])
    deep = after <= (1 - LEAST) * before
    first, last, before, after = first[deep], last[deep], before[deep], after[deep]
    ends = np.append(first, len(window))[1:]
    rows = [_row(t_s, window, steps, *reduction) for reduction in zip(first, last, before, after, ends, strict=True)]
    return pd.DataFrame(rows, columns=columns)


def _row(
    t_s: Floats, window: Floats, steps: Floats, first: int, last: int, before: float, after: float, end: int
) -> tuple[float, float, float, float, float, float, bool]:
    restored = np.flatnonzero(window[last:] >= RESTORED * before)
    recovered = float(t_s[last + restored[0]] - t_s[first]) if restored.size else float("nan")
    # more than growth: one ACK gives back at least half of what was taken away, before anything else is taken away
    soon = bool(restored.size) and 0 < restored[0] < end - last
    undone = soon and bool(steps[last + restored[0] - 1] >= (before - after) / 2)
    step = float(-steps[first - 1 : last].min())
    return float(t_s[first]), float(t_s[last]), float(before), float(after), step, recovered, undone


def of_runs(runs: Runs, from_s: float = 0.0) -> pd.DataFrame:
    """Return the reductions of all flows of all runs, with ``run`` and ``flow``; see `reductions`.

    Parameters
    ----------
    runs : Runs
        Runs with the table ``tcp``.
    from_s : float
        Reductions before this time are left out.
    """
    parts = [reductions(np.empty(0), np.empty(0), 0.0).assign(run=0, flow="")]
    for (run, flow), of_flow in tables.groups(runs.tcp, ["run", "flow"]):
        t_s, window = of_flow["t_ns"].to_numpy(dtype=float) / 1e9, of_flow["cwnd"].to_numpy(dtype=float)
        rtt_s = float(of_flow["srtt_us"].median()) / 1e6
        falls = reductions(t_s, window, rtt_s)
        parts.append(falls[falls["t_s"] >= from_s].assign(run=run, flow=flow))
    full = [part for part in parts if len(part)] or parts[:1]
    falls = pd.concat(full, ignore_index=True).astype({"run": int, "undone": bool})
    return falls.assign(share=1 - falls["after"] / falls["before"])


def windows_between(trace: pd.DataFrame, begin_s: float, end_s: float) -> tuple[Floats, Floats]:
    """Return times (s) and windows (segments) of one flow's ``tcp`` rows in a span of time."""
    t_s = trace["t_ns"].to_numpy(dtype=float) / 1e9
    inside = (t_s >= begin_s) & (t_s < end_s)
    return t_s[inside], trace["cwnd"].to_numpy(dtype=float)[inside]


def offsets(runs: Runs, instants_s: Sequence[float], least: float, *, undone: bool = False) -> pd.DataFrame:
    """Return ``offset_s`` of the nearest reduction from each of several instants ``instant_s``, with ``seed``.

    Parameters
    ----------
    runs : Runs
        Runs of one flow each, with the tables ``flows`` and ``tcp``.
    instants_s : sequence of float
        Instants in s after the flow's start.
    least : float
        Only reductions of windows that had at least this many segments count.
    undone : bool
        Only reductions that were undone count.
    """
    falls = of_runs(runs)
    falls = falls[(falls["before"] >= least) & (falls["undone"] if undone else True)]
    falls = falls.assign(t_s=falls["t_s"] - falls["run"].map(runs.flows.set_index("run")["start_s"]))
    rows = []
    for (run,), of_run in tables.groups(falls, ["run"]):
        for instant in instants_s:
            distances = of_run["t_s"].to_numpy(dtype=float) - instant
            rows.append({"run": run, "instant_s": instant, "offset_s": float(distances[np.abs(distances).argmin()])})
    return tables.with_seeds(pd.DataFrame(rows, columns=["run", "instant_s", "offset_s"]), runs.scenarios)


def trend_from(runs: Runs, from_s: float) -> pd.Series[float]:
    """Return by seed the mean window of the second half of a span over that of its first half.

    The span begins `from_s` after a flow's start and ends with the flow. Runs have one flow each, with the tables
    ``flows`` and ``tcp``. NaN if the flow ends before.
    """
    spans = runs.flows.set_index("run")[["start_s", "end_s"]]
    ratios = {}
    for (run,), trace in tables.groups(runs.tcp, ["run"]):
        start, end = (float(instant) for instant in spans.loc[run])
        begin, middle = start + from_s, (start + from_s + end) / 2
        halves = [windows_between(trace, *span)[1] for span in ((begin, middle), (middle, end))]
        seed = runs[int(run)].scenario.seed
        ratios[seed] = halves[1].mean() / halves[0].mean() if all(map(len, halves)) else float("nan")
    return pd.Series(ratios, dtype=float)


@dataclass(frozen=True)
class Epoch:
    """The time from one reduction of a flow's window to the next.

    Parameters
    ----------
    run : int
        Number of the run.
    begin_s, end_s, until_s : float
        First and last fall of the reduction, and the begin of the next one.
    before, after : float
        Window before and after the reduction.
    earlier : tuple of float
        Windows before the earlier reductions of the flow.
    """

    run: int
    begin_s: float
    end_s: float
    until_s: float
    before: float
    after: float
    earlier: tuple[float, ...]


def epochs(runs: Runs, least: float) -> list[Epoch]:
    """Return the times between reductions of windows of at least `least` segments, for runs of one flow each."""
    intervals = []
    for (run,), of_run in tables.groups(of_runs(runs), ["run"]):
        columns = (of_run[name].to_numpy(dtype=float) for name in ("t_s", "end_s", "before", "after"))
        begin, end, before, after = columns
        intervals += [
            Epoch(int(run), begin[n], end[n], begin[n + 1], before[n], after[n], tuple(before[:n]))
            for n in range(len(begin) - 1)
            if before[n] >= least
        ]
    return intervals
