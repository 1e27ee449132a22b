# SPDX-License-Identifier: Apache-2.0
"""Compute tables from tables: bins, rates, means with intervals, fairness, timetables, windows.

All functions are pure. Data frames are tidy: each row is one observation. Each docstring names the columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats

from rdcnlab.analysis.intervals import half_width
from rdcnlab.runs.parts import RECEIVER, SENDER
from rdcnlab.scenario import Scenario

Floats = npt.NDArray[np.float64]


def role(flow: str) -> str:
    """Return the group of a flow: the part of its name before the first ``-``."""
    return flow.split("-", 1)[0]


def groups(frame: pd.DataFrame, by: Sequence[str]) -> Iterator[tuple[tuple[Any, ...], pd.DataFrame]]:
    """Iterate over the groups of a frame, each with the tuple of its values of `by`."""
    for key, group in frame.groupby(list(by), sort=True):
        # a list of columns gives tuples, also a list of one column; the type stubs do not say so
        yield cast(tuple[Any, ...], key), group


def cases(values: pd.Series[Any], template: str = "{}") -> dict[str, float]:
    """Return the numbers of a series by name. The name is its index, formatted by a template such as ``{:g} ms``."""
    names = [index if isinstance(index, tuple) else (index,) for index in values.index]
    return {template.format(*name): float(value) for name, value in zip(names, values, strict=True)}


def rates(throughput: pd.DataFrame, base_ns: int, bin_ns: int, *, receiver: bool = False) -> pd.DataFrame:
    """Compute rates from counted bytes. A bin without bytes has the rate zero.

    Parameters
    ----------
    throughput : DataFrame
        Columns ``run``, ``bin``, ``where``, ``flow``, ``bytes``.
    base_ns, bin_ns : int
        Width of the counted bins, and of the bins to return. The second is a multiple of the first.
    receiver : bool
        Whether to count payload at the receiver. Otherwise bytes on the switch's links count, overhead included.

    Returns
    -------
    DataFrame
        ``run``, ``flow``, ``t_s`` (start of the bin), ``rate_bps``. All runs have bins from 0 to the last bin of the
        longest run. So in a mean over runs, a run that has ended counts as zero.

    Raises
    ------
    ValueError
        `bin_ns` is not a multiple of `base_ns`.
    """
    bins = dense(throughput, base_ns, bin_ns, receiver=receiver)
    if not len(bins.bytes):
        return pd.DataFrame({"run": [], "flow": [], "t_s": [], "rate_bps": []})
    pairs, length = bins.bytes.shape
    return pd.DataFrame(
        {
            "run": np.repeat(bins.run, length),
            "flow": bins.flow.take(np.repeat(np.arange(pairs), length)),
            "t_s": np.tile(bins.t_s, pairs),
            "rate_bps": bins.bytes.ravel() * (8e9 / bin_ns),
        }
    )


@dataclass(frozen=True)
class Dense:
    """Bytes of each flow of each run in every bin; empty bins are included.

    Parameters
    ----------
    run : ndarray of int, shape (n,)
        Number of the run, in rising order.
    flow : array, shape (n,)
        Name of the flow, in alphabetical order within each run.
    t_s : ndarray, shape (m,)
        Start of each bin, in s.
    bytes : ndarray, shape (n, m)
        Counted bytes.
    """

    run: npt.NDArray[np.int64]
    flow: Any
    t_s: Floats
    bytes: Floats


def dense(throughput: pd.DataFrame, base_ns: int, bin_ns: int, *, receiver: bool = False) -> Dense:
    """Add the bins without bytes. Parameters and errors are those of `rates`."""
    step, remainder = divmod(bin_ns, base_ns)
    if remainder or step < 1:
        raise ValueError(f"bins of {bin_ns} ns cannot be made of bins of {base_ns} ns")
    where = throughput["where"]
    is_counted = (where == RECEIVER) if receiver else (where != RECEIVER) & (where != SENDER)
    mask = (is_counted & throughput["flow"].notna()).to_numpy()
    run, runs = pd.factorize(throughput["run"].to_numpy()[mask], sort=True)
    flow, flows = pd.factorize(throughput["flow"].array[mask], sort=True)
    bins = throughput["bin"].to_numpy()[mask] // step
    if not len(bins):
        return Dense(np.empty(0, dtype=np.int64), flows, np.empty(0), np.empty((0, 0)))
    length = int(bins.max()) + 1
    pair = run * len(flows) + flow
    present = np.flatnonzero(np.bincount(pair, minlength=len(runs) * len(flows)))
    number = np.full(len(runs) * len(flows), -1, dtype=np.int64)
    number[present] = np.arange(len(present))
    counts = np.bincount(
        number[pair] * length + bins, throughput["bytes"].to_numpy(dtype=float)[mask], minlength=len(present) * length
    )
    times: Floats = np.arange(length, dtype=np.float64) * (bin_ns / 1e9)
    return Dense(
        runs[present // len(flows)],
        flows.take(present % len(flows)),
        times,
        counts.reshape(-1, length).astype(float, copy=False),
    )


def mean_ci(frame: pd.DataFrame, by: Sequence[str], value: str, level: float = 0.95) -> pd.DataFrame:
    """Average over runs, with the interval of Student's t.

    Parameters
    ----------
    frame : DataFrame
        Each row is one observation.
    by : sequence of str
        Columns that define the groups.
    value : str
        Column to average.
    level : float
        Confidence level.

    Returns
    -------
    DataFrame
        The columns of `by`, then ``mean``, ``low``, ``high`` and ``n``, the number of observations. The interval of a
        single observation has width zero. Missing values (NaN) are left out; if only one of several is left, its
        interval contains all numbers.
    """
    grouped = frame.groupby(list(by), sort=True)[value].agg(["mean", "std", "count", "size"]).reset_index()
    half = np.nan_to_num(half_width(grouped["std"], grouped["count"], level))
    # one value of several observations says nothing about how much they vary
    half = np.where((grouped["count"] == 1) & (grouped["size"] > 1), np.inf, half)
    result = grouped[[*by, "mean"]].copy()
    result["low"], result["high"], result["n"] = grouped["mean"] - half, grouped["mean"] + half, grouped["size"]
    return result


def sizes(stats: pd.DataFrame) -> pd.DataFrame:
    """Return the means without their sign, with intervals of the same width; `stats` comes from `mean_ci`."""
    half = (stats["high"] - stats["low"]) / 2
    size = stats["mean"].abs()
    return stats.assign(mean=size, low=size - half, high=size + half)


def list_estimates(stats: pd.DataFrame, unit: str = "", template: str = "{}") -> str:
    """Return means and their intervals as text; `stats` comes from `mean_ci`, and its index names the cases."""
    suffix = f" {unit}" if unit else ""
    names = cases(stats["mean"], template)
    is_single = stats["n"] < 2 if "n" in stats else np.zeros(len(stats), bool)
    rows = zip(names.items(), stats["low"], stats["high"], is_single, strict=True)
    return ", ".join(
        f"{name}: {mean:.3g}{suffix}" + ("" if single else f" ({low:.3g} to {high:.3g})")
        for (name, mean), low, high, single in rows
    )


def goodput(flows: pd.DataFrame) -> pd.DataFrame:
    """Add each flow's ``group`` (see `role`) and ``gbps``, its size divided by its completion time."""
    return flows.assign(group=flows["flow"].map(role), gbps=8e-9 * flows["size_B"] / flows["fct_s"])


def jain(rates_of_flows: npt.ArrayLike) -> float:
    """Return Jain's fairness index, ``(sum x)^2 / (n sum x^2)``: 1 for equal shares, ``1/n`` for a single winner."""
    x = np.asarray(rates_of_flows, dtype=float)
    squares = float(np.sum(x**2))
    return float(np.sum(x)) ** 2 / (x.size * squares) if squares > 0 else 1.0


def cdf(values: npt.ArrayLike) -> pd.DataFrame:
    """Return the empirical distribution: ``value`` in rising order, and ``share`` of the values that are not larger."""
    x = np.sort(np.asarray(values, dtype=float))
    return pd.DataFrame({"value": x, "share": np.arange(1, x.size + 1) / max(x.size, 1)})


def targets(scenario: Scenario, flow: str, t_ns: npt.ArrayLike) -> npt.NDArray[np.str_]:
    """Return the link that a flow's timetable selects at given instants.

    Parameters
    ----------
    scenario : Scenario
        Scenario with the timetables and their phases.
    flow : str
        Name of the flow.
    t_ns : array_like of int, shape (n,)
        ns from the start of the scenario.

    Returns
    -------
    ndarray of str, shape (n,)
        Names of links, ``dark`` or ``bypass``. The instant of a boundary belongs to the slot that begins there.
    """
    index = [item.name for item in scenario.flows].index(flow)
    slots, first, phase = scenario.timetable(scenario.flows[index])
    times = np.asarray(t_ns, dtype=np.int64)
    names = np.array([slot.link for slot in slots] or [first])
    if not slots:
        return np.broadcast_to(names[0], times.shape)
    ends = np.cumsum([slot.duration for slot in slots], dtype=np.int64)
    since = np.where(times < phase, 0, (times - phase) % ends[-1])
    result: npt.NDArray[np.str_] = names[np.searchsorted(ends, since, side="right")]
    return result


def together(scenario: Scenario, flow: str, other: str, t_ns: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    """Return for each instant whether two flows are on the same link; see `targets`."""
    first, second = targets(scenario, flow, t_ns), targets(scenario, other, t_ns)
    return np.asarray((first == second) & (first != "dark") & (first != "bypass"))


def overlap(first: pd.DataFrame, second: pd.DataFrame) -> npt.NDArray[np.bool_]:
    """Return for each row whether the intervals ``low`` to ``high`` of two frames of equal length overlap."""
    a, b = first.reset_index(drop=True), second.reset_index(drop=True)
    return np.asarray((a["low"] <= b["high"]) & (b["low"] <= a["high"]))


def falls(t: Floats, values: Floats, share: float) -> Floats:
    """Return the instants at which a series falls in one step by more than a share of its previous value.

    Parameters
    ----------
    t, values : ndarray, shape (n,)
        Samples in order of time.
    share : float
        0.1 for a fall of more than 10 %.
    """
    if values.size < 2:
        return np.empty(0)
    fallen: Floats = t[1:][values[1:] < values[:-1] * (1 - share)]
    return fallen


def cycles(t: Floats, values: Floats, cycle: float) -> pd.DataFrame:
    """Return the highest and lowest value of each whole cycle of a series.

    Parameters
    ----------
    t, values : ndarray, shape (n,)
        Samples.
    cycle : float
        Length of a cycle, in the unit of `t`.

    Returns
    -------
    DataFrame
        ``cycle`` (from 0), ``peak``, ``valley``, ``samples``.
    """
    number = np.floor_divide(t, cycle).astype(np.int64)
    order = np.argsort(number, kind="stable")
    numbers, begins, samples = np.unique(number[order], return_index=True, return_counts=True)
    # fmax and fmin leave out missing values
    peak, valley = (extreme.reduceat(np.asarray(values)[order], begins) for extreme in (np.fmax, np.fmin))
    return pd.DataFrame({"cycle": numbers, "peak": peak, "valley": valley, "samples": samples})


def with_fields(frame: pd.DataFrame, scenarios: pd.DataFrame) -> pd.DataFrame:
    """Add to each row the fields of the scenario of its ``run`` (``seed``, ``cc``, ``period_ms``...)."""
    places = pd.Index(scenarios["run"]).get_indexer(pd.Index(frame["run"]))
    fields = {}
    for name in scenarios.columns.drop(["run", "id", "shipped"]):
        column = scenarios[name]
        # categories, because a frame has many rows for each run
        values = column.astype("category").array if isinstance(column.dtype, pd.StringDtype) else column.array
        fields[name] = pd.api.extensions.take(values, places, allow_fill=bool((places < 0).any()))
    return frame.assign(**fields)


def with_seeds(frame: pd.DataFrame, scenarios: pd.DataFrame) -> pd.DataFrame:
    """Add to each row the ``seed`` of its ``run``; `scenarios` is `Runs.scenarios`."""
    return frame.assign(seed=frame["run"].map(scenarios.set_index("run")["seed"]))


def completion(flows: pd.DataFrame) -> pd.DataFrame:
    """Compare the main and migrated flows of each run.

    Parameters
    ----------
    flows : DataFrame
        Columns ``run``, ``period_ms``, ``flow``, ``fct_s``, ``end_s``.

    Returns
    -------
    DataFrame
        ``run``, ``period_ms``, ``main_s`` and ``migrated_s`` (mean completion time of the group), ``prolongation_s``
        (their difference), ``both_s`` (end of the time in which flows of both groups run).
    """
    by_role = flows.assign(role=flows["flow"].map(role))
    grouped = by_role.groupby(["run", "period_ms", "role"], dropna=False)
    fct = grouped["fct_s"].mean().unstack("role")
    both = grouped["end_s"].max().unstack("role").min(axis=1)
    result = pd.DataFrame({"main_s": fct["main"], "migrated_s": fct["migrated"]})
    result["prolongation_s"] = result["migrated_s"] - result["main_s"]
    result["both_s"] = both
    return result.reset_index()


def at(t: Floats, values: Floats, grid: Floats) -> Floats:
    """Sample a step function: the last value at or before each point of a grid, NaN before the first value.

    Parameters
    ----------
    t, values : ndarray, shape (n,)
        Time and value of each step, in order of time.
    grid : ndarray, shape (m,)
        Times at which to sample.
    """
    last = np.searchsorted(t, grid, side="right") - 1
    sampled: Floats = np.where(last >= 0, values[np.maximum(last, 0)], np.nan)
    return sampled


def sample(tcp: pd.DataFrame, column: str, bin_ns: int) -> pd.DataFrame:
    """Sample a value that ACKs report, for each flow on the same grid; see `at`.

    Parameters
    ----------
    tcp : DataFrame
        Columns ``run``, ``flow``, ``t_ns`` and `column`, in order of time.
    column : str
        Column to sample.
    bin_ns : int
        Step of the grid. The grid begins at 0 and ends with the flow's last ACK.

    Returns
    -------
    DataFrame
        ``run``, ``flow``, ``t_s`` and `column`, from the first ACK on.
    """
    parts = []
    for (run, flow), of_flow in groups(tcp, ["run", "flow"]):
        grid = np.arange(0, of_flow["t_ns"].iloc[-1], bin_ns, dtype=np.float64)
        values = at(of_flow["t_ns"].to_numpy(dtype=float), of_flow[column].to_numpy(dtype=float), grid)
        parts.append(pd.DataFrame({"run": run, "flow": flow, "t_s": grid / 1e9, column: values}))
    return pd.concat(parts, ignore_index=True).dropna()


def autocorrelation(values: npt.ArrayLike, lag: int) -> float:
    """Return the correlation of a series with itself `lag` samples later; NaN if it is too short or constant."""
    x = np.asarray(values, dtype=float)
    if lag < 1 or x.size < lag + 3 or np.ptp(x[:-lag]) == 0 or np.ptp(x[lag:]) == 0:
        return float("nan")
    return float(np.corrcoef(x[:-lag], x[lag:])[0, 1])


def spearman(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """Return Spearman's rank correlation; NaN for fewer than three points, or if one side is constant."""
    a, b = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if a.size < 3 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return float("nan")
    # rounded, so that a complete order is exactly 1
    return round(float(np.corrcoef(stats.rankdata(a), stats.rankdata(b))[0, 1]), 12)
