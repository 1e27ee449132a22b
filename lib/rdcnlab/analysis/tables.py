# SPDX-License-Identifier: Apache-2.0
"""From tables to tables: bins, rates, means with intervals, fairness, timetables, windows.

All functions are pure. Data frames are tidy, one observation a row; columns are named in each docstring.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats

from rdcnlab.runs.parts import RECEIVER, SENDER
from rdcnlab.scenario import Scenario

Floats = npt.NDArray[np.float64]


def role(flow: str) -> str:
    """Return the group a flow belongs to by its name: what stands before the first ``-``."""
    return flow.split("-", 1)[0]


def groups(frame: pd.DataFrame, by: Sequence[str]) -> Iterator[tuple[tuple[Any, ...], pd.DataFrame]]:
    """Go through the groups of a frame, each with the tuple of its values of `by`."""
    for key, group in frame.groupby(list(by), sort=True):
        # a list of columns gives tuples, even of one; the stubs do not know
        yield cast(tuple[Any, ...], key), group


def cases(values: pd.Series[Any], template: str = "{}") -> dict[str, float]:
    """Return a series as numbers by name: its index, put into a template such as ``{:g} ms``."""
    names = [index if isinstance(index, tuple) else (index,) for index in values.index]
    return {template.format(*name): float(value) for name, value in zip(names, values, strict=True)}


def rates(throughput: pd.DataFrame, base_ns: int, bin_ns: int, *, receiver: bool = False) -> pd.DataFrame:
    """Turn counted bytes into rates, with zeros where nothing was seen.

    Parameters
    ----------
    throughput : DataFrame
        Columns ``run``, ``bin``, ``where``, ``flow``, ``bytes``.
    base_ns, bin_ns : int
        Width of the bins counted, and of those wanted; a multiple of the former.
    receiver : bool
        Count payload at the receiver; otherwise what the switch's links carried, overhead included.

    Returns
    -------
    DataFrame
        ``run``, ``flow``, ``t_s`` (start of the bin), ``rate_bps``. All runs go from 0 to the last bin of the longest,
        so that a mean over runs counts those that have ended as zero.

    Raises
    ------
    ValueError
        `bin_ns` is no multiple of `base_ns`.
    """
    counted = dense(throughput, base_ns, bin_ns, receiver=receiver)
    if not len(counted.bytes):
        return pd.DataFrame({"run": [], "flow": [], "t_s": [], "rate_bps": []})
    pairs, length = counted.bytes.shape
    return pd.DataFrame(
        {
            "run": np.repeat(counted.run, length),
            "flow": counted.flow.take(np.repeat(np.arange(pairs), length)),
            "t_s": np.tile(counted.t_s, pairs),
            "rate_bps": counted.bytes.ravel() * (8e9 / bin_ns),
        }
    )


@dataclass(frozen=True)
class Dense:
    """Bytes of each flow of each run, in bins of which none is left out.

    Parameters
    ----------
    run : ndarray of int, shape (n,)
        In rising order.
    flow : array, shape (n,)
        Names in the order of the alphabet, run by run.
    t_s : ndarray, shape (m,)
        Start of each bin.
    bytes : ndarray, shape (n, m)
        What was counted.
    """

    run: npt.NDArray[np.int64]
    flow: Any
    t_s: Floats
    bytes: Floats


def dense(throughput: pd.DataFrame, base_ns: int, bin_ns: int, *, receiver: bool = False) -> Dense:
    """Fill in the bins in which nothing was seen; parameters and errors as of `rates`."""
    step, rest = divmod(bin_ns, base_ns)
    if rest or step < 1:
        raise ValueError(f"bins of {bin_ns} ns cannot be made of bins of {base_ns} ns")
    where = throughput["where"]
    here = (where == RECEIVER) if receiver else (where != RECEIVER) & (where != SENDER)
    kept = (here & throughput["flow"].notna()).to_numpy()
    run, runs = pd.factorize(throughput["run"].to_numpy()[kept], sort=True)
    flow, flows = pd.factorize(throughput["flow"].array[kept], sort=True)
    bins = throughput["bin"].to_numpy()[kept] // step
    if not len(bins):
        return Dense(np.empty(0, dtype=np.int64), flows, np.empty(0), np.empty((0, 0)))
    length = int(bins.max()) + 1
    pair = run * len(flows) + flow
    there = np.flatnonzero(np.bincount(pair, minlength=len(runs) * len(flows)))
    number = np.full(len(runs) * len(flows), -1, dtype=np.int64)
    number[there] = np.arange(len(there))
    counted = np.bincount(
        number[pair] * length + bins, throughput["bytes"].to_numpy(dtype=float)[kept], minlength=len(there) * length
    )
    times: Floats = np.arange(length, dtype=np.float64) * (bin_ns / 1e9)
    return Dense(
        runs[there // len(flows)],
        flows.take(there % len(flows)),
        times,
        counted.reshape(-1, length).astype(float, copy=False),
    )


def mean_ci(frame: pd.DataFrame, by: Sequence[str], value: str, level: float = 0.95) -> pd.DataFrame:
    """Average over runs, with the interval of Student's t.

    Parameters
    ----------
    frame : DataFrame
        One row an observation.
    by : sequence of str
        Columns that tell groups apart.
    value : str
        Column to average.
    level : float
        Confidence level.

    Returns
    -------
    DataFrame
        The columns of `by`, then ``mean``, ``low``, ``high`` and ``n``. A single observation has an interval of its own
        width, zero.
    """
    grouped = frame.groupby(list(by), sort=True)[value].agg(["mean", "std", "count"]).reset_index()
    count = grouped["count"].to_numpy(dtype=float)
    error = grouped["std"].fillna(0).to_numpy() / np.sqrt(np.maximum(count, 1))
    half = np.where(count > 1, stats.t.ppf((1 + level) / 2, np.maximum(count - 1, 1)) * error, 0.0)
    result = grouped[[*by, "mean"]].copy()
    result["low"], result["high"], result["n"] = grouped["mean"] - half, grouped["mean"] + half, grouped["count"]
    return result


def sizes(stats: pd.DataFrame) -> pd.DataFrame:
    """Return the intervals of sizes, whatever their sign; `stats` has ``mean``, ``low``, ``high`` as from `mean_ci`."""
    half = (stats["high"] - stats["low"]) / 2
    size = stats["mean"].abs()
    return stats.assign(mean=size, low=size - half, high=size + half)


def margin(greater: pd.DataFrame, lesser: pd.DataFrame) -> float:
    """Return how far the lowest interval of some rows is above the highest one of others; negative where they overlap.

    Parameters
    ----------
    greater, lesser : DataFrame
        ``low`` and ``high``, as from `mean_ci`.
    """
    return float(greater["low"].min() - lesser["high"].max())


def listed(stats: pd.DataFrame, unit: str = "", template: str = "{}") -> str:
    """Return means and their intervals in words; `stats` as from `mean_ci`, named by its index."""
    after = f" {unit}" if unit else ""
    names = cases(stats["mean"], template)
    rows = zip(names.items(), stats["low"], stats["high"], strict=True)
    return ", ".join(f"{name}: {mean:.3g}{after} ({low:.3g} to {high:.3g})" for (name, mean), low, high in rows)


def goodput(flows: pd.DataFrame) -> pd.DataFrame:
    """Add each flow's ``group`` (see `role`) and ``gbps``, its size over its completion time."""
    return flows.assign(group=flows["flow"].map(role), gbps=8e-9 * flows["size_B"] / flows["fct_s"])


def jain(rates_of_flows: npt.ArrayLike) -> float:
    """Return Jain's fairness index, ``(sum x)^2 / (n sum x^2)``: 1 for equal shares, ``1/n`` for a single winner."""
    x = np.asarray(rates_of_flows, dtype=float)
    squares = float(np.sum(x**2))
    return float(np.sum(x)) ** 2 / (x.size * squares) if squares > 0 else 1.0


def cdf(values: npt.ArrayLike) -> pd.DataFrame:
    """Return the empirical distribution: ``value`` in rising order and ``share`` of values not above it."""
    x = np.sort(np.asarray(values, dtype=float))
    return pd.DataFrame({"value": x, "share": np.arange(1, x.size + 1) / max(x.size, 1)})


def targets(scenario: Scenario, flow: str, t_ns: npt.ArrayLike) -> npt.NDArray[np.str_]:
    """Return where a flow's timetable points at given instants.

    Parameters
    ----------
    scenario : Scenario
        Gives timetables and their phases.
    flow : str
        Name of the flow.
    t_ns : array_like of int, shape (n,)
        ns from the start of the scenario.

    Returns
    -------
    ndarray of str, shape (n,)
        Names of links, ``dark`` or ``bypass``. A boundary belongs to the slot that begins.
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
    """Return at which instants two flows are on one link; see `targets`."""
    first, second = targets(scenario, flow, t_ns), targets(scenario, other, t_ns)
    return np.asarray((first == second) & (first != "dark") & (first != "bypass"))


def overlap(first: pd.DataFrame, second: pd.DataFrame) -> npt.NDArray[np.bool_]:
    """Return for each row whether the intervals ``low`` to ``high`` of two frames of equal length overlap."""
    a, b = first.reset_index(drop=True), second.reset_index(drop=True)
    return np.asarray((a["low"] <= b["high"]) & (b["low"] <= a["high"]))


def falls(t: Floats, values: Floats, share: float) -> Floats:
    """Return the instants at which a series falls by more than a share of its last value in one step.

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
    grouped = pd.Series(values).groupby(number).agg(["max", "min", "size"])
    return (
        grouped.rename(columns={"max": "peak", "min": "valley", "size": "samples"}).rename_axis("cycle").reset_index()
    )


def with_fields(frame: pd.DataFrame, scenarios: pd.DataFrame) -> pd.DataFrame:
    """Add the fields of each row's scenario (``seed``, ``cc``, ``period_ms``...) by its ``run``."""
    places = pd.Index(scenarios["run"]).get_indexer(pd.Index(frame["run"]))
    more = {}
    for name in scenarios.columns.drop(["run", "id", "shipped"]):
        column = scenarios[name]
        # a frame has many rows of each run
        values = column.astype("category").array if isinstance(column.dtype, pd.StringDtype) else column.array
        more[name] = pd.api.extensions.take(values, places, allow_fill=bool((places < 0).any()))
    return frame.assign(**more)


def completion(flows: pd.DataFrame) -> pd.DataFrame:
    """Compare main and migrated flows of each run.

    Parameters
    ----------
    flows : DataFrame
        Columns ``run``, ``period_ms``, ``flow``, ``fct_s``, ``end_s``.

    Returns
    -------
    DataFrame
        ``run``, ``period_ms``, ``main_s`` and ``migrated_s`` (mean completion time of the group), ``prolongation_s``
        (their difference), ``both_s`` (until when flows of both groups run).
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
    """Sample a step function: the last value at or before each point of a grid, NaN before the first.

    Parameters
    ----------
    t, values : ndarray, shape (n,)
        Steps in order of time.
    grid : ndarray, shape (m,)
        Where to sample.
    """
    last = np.searchsorted(t, grid, side="right") - 1
    sampled: Floats = np.where(last >= 0, values[np.maximum(last, 0)], np.nan)
    return sampled


def sample(tcp: pd.DataFrame, column: str, bin_ns: int) -> pd.DataFrame:
    """Sample what ACKs tell of each flow on one grid; see `at`.

    Parameters
    ----------
    tcp : DataFrame
        Columns ``run``, ``flow``, ``t_ns`` and `column`, in order of time.
    column : str
        What to sample.
    bin_ns : int
        Width of the grid, which begins at 0 and ends with the flow's last ACK.

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
    """Return the correlation of a series with itself `lag` samples later; NaN where it is too short or constant."""
    x = np.asarray(values, dtype=float)
    if lag < 1 or x.size < lag + 3 or np.ptp(x[:-lag]) == 0 or np.ptp(x[lag:]) == 0:
        return float("nan")
    return float(np.corrcoef(x[:-lag], x[lag:])[0, 1])


def spearman(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """Return Spearman's rank correlation; NaN for fewer than three points, or where one side is constant."""
    a, b = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if a.size < 3 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return float("nan")
    return float(stats.spearmanr(a, b).statistic)
