# SPDX-License-Identifier: Apache-2.0
"""Compute tables from tables: groups, means with intervals, goodput, fairness, completion times, rank correlation.

All functions are pure. Data frames are tidy: each row is one observation. Each docstring names the columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pandas as pd

from rdcnlab.analysis.intervals import half_width


def role(flow: str) -> str:
    """Return the group of a flow: its name up to the first ``-``, or without one, its name without digits at its end.

    Examples
    --------
    >>> role("migrated-3"), role("c1-3"), role("f12"), role("7")
    ('migrated', 'c1', 'f', '7')
    """
    first, dash, _ = flow.partition("-")
    return first if dash else first.rstrip("0123456789").rstrip("_") or first


def mean_rates(
    flows: pd.DataFrame, limits_s: float | npt.NDArray[Any] | pd.Series[Any], *, unit: float
) -> pd.Series[float]:
    """Return the mean rate at which each flow delivered its payload. One that did not finish has one until the limit.

    Parameters
    ----------
    flows : DataFrame
        ``start_s``, ``end_s``, ``fct_s``, ``received_B``.
    limits_s : float or array of float
        Limit of the run of each row in s.
    unit : float
        Factor from bit/s: 1e-9 for Gb/s.
    """
    # datagrams have no completion time; the time in which they were sent is theirs
    known = flows["fct_s"].fillna(flows["end_s"] - flows["start_s"]) if "end_s" in flows else flows["fct_s"]
    seconds = known.fillna(limits_s - flows["start_s"])
    return 8 * unit * flows["received_B"] / seconds


def groups(frame: pd.DataFrame, by: Sequence[str]) -> Iterator[tuple[tuple[Any, ...], pd.DataFrame]]:
    """Iterate over the groups of a frame, each with the tuple of its values of `by`."""
    for key, group in frame.groupby(list(by), sort=True):
        # a list of columns gives tuples, also a list of one column; the type stubs do not say so
        yield cast(tuple[Any, ...], key), group


def cases(values: pd.Series[Any], template: str = "{}") -> dict[str, float]:
    """Return the numbers of a series by name. The name is its index, formatted by a template such as ``{:g} ms``."""
    names = [index if isinstance(index, tuple) else (index,) for index in values.index]
    return {template.format(*name): float(value) for name, value in zip(names, values, strict=True)}


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
    index, columns = _stats(frame, by, value, level)
    # only the columns of the index: the averaged column may be one of them
    cases = {name: index.get_level_values(place) for place, name in enumerate(by)}
    return pd.DataFrame({**cases, **columns})


def means_by(frame: pd.DataFrame, by: Sequence[str], value: str) -> pd.DataFrame:
    """Average over runs, as `mean_ci` does; the groups are the index."""
    index, columns = _stats(frame, by, value)
    return pd.DataFrame(columns, index=index)


def _stats(
    frame: pd.DataFrame, by: Sequence[str], value: str, level: float = 0.95
) -> tuple[pd.Index[Any], dict[str, Any]]:
    """Return the groups of `mean_ci`, and its other columns."""
    grouped = frame.groupby(list(by), sort=True)[value]
    # `agg` with a list of names takes three times as long
    means = grouped.mean()
    mean = means.to_numpy()
    std, count, size = (numbers.to_numpy() for numbers in (grouped.std(), grouped.count(), grouped.size()))
    half = np.nan_to_num(half_width(std, count, level))
    # one value of several observations says nothing about how much they vary
    half = np.where((count == 1) & (size > 1), np.inf, half)
    return means.index, {"mean": mean, "low": mean - half, "high": mean + half, "n": size}


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


def with_fields(frame: pd.DataFrame, scenarios: pd.DataFrame) -> pd.DataFrame:
    """Add to each row the fields of the scenario of its ``run`` (``seed``, ``cc``, ``period_ms``...)."""
    indices = pd.Index(scenarios["run"]).get_indexer(pd.Index(frame["run"]))
    fields = {}
    for name in scenarios.columns.drop(["run", "id", "shipped"]):
        column = scenarios[name]
        # categories, because a frame has many rows for each run
        values = column.astype("category").array if isinstance(column.dtype, pd.StringDtype) else column.array
        fields[name] = pd.api.extensions.take(values, indices, allow_fill=bool((indices < 0).any()))
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


def spearman(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """Return Spearman's rank correlation; NaN for fewer than three points, or if one side is constant."""
    return float(spearmans(x, y)[0])


def spearmans(x: npt.ArrayLike, y: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return Spearman's rank correlation of each row of `x` with the same row of `y`.

    Parameters
    ----------
    x, y : array_like, shape (n, m) or (m,)
        The points of each row; one row may belong to all rows of the other argument. Points that lack a coordinate
        (NaN) are left out.

    Returns
    -------
    ndarray, shape (n,)
        NaN for fewer than three points, or if one side is constant.
    """
    a, b = np.broadcast_arrays(np.atleast_2d(np.asarray(x, dtype=float)), np.atleast_2d(np.asarray(y, dtype=float)))
    is_missing = np.isnan(a) | np.isnan(b)
    ranks_a, ranks_b = (pd.DataFrame(np.where(is_missing, np.nan, side)).rank(axis=1).to_numpy() for side in (a, b))
    points = (~is_missing).sum(axis=1)
    # ranks have the mean (n + 1) / 2
    ranks_a, ranks_b = (np.nan_to_num(ranks - (points[:, None] + 1) / 2) for ranks in (ranks_a, ranks_b))
    product = np.sqrt((ranks_a**2).sum(axis=1) * (ranks_b**2).sum(axis=1))
    correlation = np.full(len(points), np.nan)
    np.divide((ranks_a * ranks_b).sum(axis=1), product, out=correlation, where=(points > 2) & (product > 0))
    # rounded, so that a complete order is exactly 1
    return np.round(correlation, 12)
