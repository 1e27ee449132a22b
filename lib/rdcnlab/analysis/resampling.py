# SPDX-License-Identifier: Apache-2.0
"""Intervals of statistics that are no means: they are computed again from parts of the seeds.

- A smooth function of means, such as a ratio or a share, is computed once without each seed. The pseudo-values
  ``n T - (n - 1) T_without`` take the place of the observations (jackknife: Tukey 1958; Miller 1974). For a mean they
  are the observations, so that this is the rule of `intervals.over_seeds`: `jackknife`.
- A statistic that jumps, such as a rank correlation, a quantile or the largest of several means, may be the same
  without each seed although its true value is another. It is computed from seeds that are drawn with replacement
  instead (bootstrap: Efron 1979), with the percentiles of Hesterberg 2015, Sec. 4.2: `bootstraps`.

An interval of the bootstrap is as long on one side as on the other. Percentiles alone would leave the truth out if the
statistic is the largest of several means: chance makes it too large in the data, and once more in each draw.

Fewer than `FEW` seeds do not show how much they vary. `bootstraps_of_means` then draws each mean from Student's t;
`bootstraps` makes the interval wider, as much as that of a mean would need.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Hashable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import special

from rdcnlab.analysis.intervals import LEVEL, Estimate, half_width

#: Number of random choices of seeds, if there are more choices than that.
DRAWS = 499
#: So many seeds say by themselves how much they vary.
FEW = 5
#: Student's interval over the bootstrap's, for a mean of normal numbers, by the number of seeds (300 samples each).
_WIDER = {2: 12.7, 3: 2.25, 4: 1.23}
#: Computes several numbers by name from a frame of observations.
Statistics = Callable[[pd.DataFrame], Mapping[Any, float] | pd.Series]
#: Means by the name of the averaged column: a frame with one row for each draw and one column for each group. A group
#: without observations in a draw is missing there (NaN).
Means = Mapping[str, pd.DataFrame]
#: Computes several numbers by name from means: for each name one number for each draw.
StatisticsOfMeans = Callable[[Means], Mapping[Any, npt.ArrayLike] | pd.DataFrame]
Floats = npt.NDArray[np.float64]


def jackknife(frame: pd.DataFrame, statistic: Callable[[pd.DataFrame], float], by: str = "seed") -> Estimate:
    """Compute a smooth statistic over all seeds, with its interval; `bootstraps` is for statistics that jump.

    Parameters
    ----------
    frame : DataFrame
        Observations, with the seed of each in column `by`.
    statistic : callable
        Computes a number from such a frame.
    by : str
        Name of the column with the seeds.

    Returns
    -------
    Estimate
        One seed gives no interval. If the statistic has no value without one of several seeds, the interval contains
        all numbers.
    """
    return jackknives(frame, lambda part: {"": statistic(part)}, by).get("", Estimate(math.nan))


def jackknives(frame: pd.DataFrame, statistics: Statistics, by: str = "seed") -> dict[Hashable, Estimate]:
    """Compute several statistics by name, as `jackknife` does for one."""
    full_values = dict(statistics(frame).items())
    seeds = frame[by].to_numpy()
    chosen = np.unique(seeds)
    n = len(chosen)
    if n < 2:
        return {name: Estimate(value) for name, value in full_values.items()}
    without = [dict(statistics(frame[seeds != seed]).items()) for seed in chosen]
    results = {}
    for name, value in full_values.items():
        reduced = np.array([part.get(name, math.nan) for part in without], dtype=float)
        half = float(half_width((n * value - (n - 1) * reduced).std(ddof=1), n))
        half = half if math.isfinite(half) else math.inf
        results[name] = Estimate(value) if math.isnan(value) else Estimate(value, value - half, value + half)
    return results


def bootstraps(frame: pd.DataFrame, statistics: Statistics, by: str = "seed") -> dict[Hashable, Estimate]:
    """Compute statistics that jump over all seeds, with their intervals. Parameters and results as for `jackknives`.

    They are computed from every choice of as many seeds with replacement, or from `DRAWS` random ones (the same each
    time) if there are more. A choice for which a statistic has no value counts at both of its ends.
    """
    full_values = dict(statistics(frame).items())
    seeds = frame[by].to_numpy()
    rows = [np.flatnonzero(seeds == seed) for seed in np.unique(seeds)]
    n = len(rows)
    if n < 2:
        return {name: Estimate(value) for name, value in full_values.items()}
    times, weights = _choices(n)
    parts = [
        statistics(frame.iloc[np.concatenate([rows[seed] for seed in np.repeat(np.arange(n), of_choice)])])
        for of_choice in times
    ]
    drawn = {name: [part.get(name, math.nan) for part in parts] for name in full_values}
    return _intervals(full_values, drawn, weights, _tail(n), _WIDER.get(n, 1.0))


def bootstrap_by_weight(n: int, statistic: Callable[[Floats], npt.ArrayLike]) -> Estimate:
    """Compute a statistic that jumps, as `bootstraps` does, for all draws at once.

    Parameters
    ----------
    n : int
        Number of seeds.
    statistic : callable
        Computes one number for each draw from an array of shape (draws, n): how often each seed counts.
    """
    value = float(np.asarray(statistic(np.ones((1, n))))[0])
    if n < 2:
        return Estimate(value)
    times, weights = _choices(n)
    drawn = statistic(times.astype(float))
    return _intervals({"": value}, {"": drawn}, weights, _tail(n), _WIDER.get(n, 1.0))[""]


def bootstraps_of_means(
    frame: pd.DataFrame, keys: str | list[str], values: list[str], statistics: StatisticsOfMeans, by: str = "seed"
) -> dict[Hashable, Estimate]:
    """Compute statistics of means over seeds, as `bootstraps` does, but for all draws at once.

    Parameters
    ----------
    frame : DataFrame
        Observations, with the seed of each in column `by`.
    keys : str or list of str
        Columns that define the groups.
    values : list of str
        Columns to average.
    statistics : callable
        Computes numbers by name from the means of all draws: by the name of each of `values` a frame, whose rows are
        draws and whose columns are groups. It is called once more with the means of all observations as a single row.
    by : str
        Name of the column with the seeds.

    Returns
    -------
    dict of Estimate
        By name. With fewer than `FEW` seeds each mean is drawn from its own Student's t, as if seeds were not paired.
    """
    full = frame.groupby(keys, observed=True)[values].mean()
    full_values = {
        name: float(value)
        for name, (value,) in _arrays(statistics, full.index, full.to_numpy().T[:, None], values).items()
    }
    n = frame[by].nunique()
    if n < 2:
        return {name: Estimate(value) for name, value in full_values.items()}
    grouped = frame.groupby([by, *([keys] if isinstance(keys, str) else keys)], observed=True)[values]
    sums, counts = grouped.sum().unstack(by, fill_value=0), grouped.count().unstack(by, fill_value=0)
    shape = (len(sums), len(values), n)
    total, number = (table.to_numpy(dtype=float).reshape(shape).transpose(1, 0, 2) for table in (sums, counts))
    if n < FEW:
        means, weights, tail = _means_from_t(total, number), np.full(DRAWS, 1 / DRAWS), (1 - LEVEL) / 2
    else:
        times, weights = _choices(n)
        tail = _tail(n)
        with np.errstate(invalid="ignore"):
            means = _sums(times, total) / _sums(times, number)
    return _intervals(full_values, _arrays(statistics, sums.index, means, values), weights, tail)


def _arrays(
    statistics: StatisticsOfMeans, groups: pd.Index, means: Floats, values: list[str]
) -> dict[Hashable, Floats]:
    """Return the statistics of means, an array of shape (values, draws, groups)."""
    frames = {value: pd.DataFrame(mean, columns=groups) for value, mean in zip(values, means, strict=True)}
    return {name: np.asarray(numbers, dtype=float) for name, numbers in statistics(frames).items()}


def _sums(times: npt.NDArray[np.int64], of_seeds: Floats) -> Floats:
    """Add up the numbers of the drawn seeds.

    Parameters
    ----------
    times : ndarray of int, shape (draws, seeds)
        How often each seed is drawn.
    of_seeds : ndarray, shape (values, groups, seeds)
        A number of each seed.

    Returns
    -------
    ndarray, shape (values, draws, groups)
        The sums. No matrix product: how that rounds depends on the machine and on the place in the matrix, and equal
        groups must have equal sums.
    """
    sums = np.zeros((of_seeds.shape[0], len(times), of_seeds.shape[1]))
    for of_seed, numbers in zip(times.T, np.moveaxis(of_seeds, 2, 0), strict=True):
        sums += of_seed[None, :, None] * numbers[:, None, :]
    return sums


def _means_from_t(total: Floats, number: Floats) -> Floats:
    """Draw each mean from Student's t around it; anything is possible if only one seed has it.

    Arguments have the shape (values, groups, seeds), the result (values, draws, groups).
    """
    random = np.random.default_rng(0)
    present = number > 0
    seeds = present.sum(axis=2)
    of_seeds = np.where(present, total / np.maximum(number, 1), 0)
    center = of_seeds.sum(axis=2) / np.maximum(seeds, 1)
    squares = (np.where(present, of_seeds - center[..., None], 0) ** 2).sum(axis=2)
    scale = np.sqrt(squares / np.maximum(seeds - 1, 1) / np.maximum(seeds, 1))
    # groups before values, which is the order in which numbers are drawn
    shape = (DRAWS, *center.T.shape)
    drawn = center.T + scale.T * random.standard_t(np.maximum(seeds.T - 1, 1), size=shape)
    anything = np.where(random.random(shape) < 0.5, -math.inf, math.inf)
    return np.where(seeds.T < 2, anything, drawn).transpose(2, 0, 1)


def _tail(n: int) -> float:
    """Return the probability beyond each percentile of the choices of `n` seeds (Hesterberg 2015, Sec. 4.2)."""
    return float(special.ndtr(math.sqrt(n / (n - 1)) * special.stdtrit(n - 1, (1 - LEVEL) / 2)))


def _intervals(
    full_values: Mapping[Hashable, float],
    drawn: Mapping[Hashable, npt.ArrayLike],
    weights: Floats,
    tail: float,
    wider: float = 1.0,
) -> dict[Hashable, Estimate]:
    """Return statistics with the intervals that follow from their values in all draws."""
    results = {}
    for name, value in full_values.items():
        if math.isnan(value):
            results[name] = Estimate(value)
            continue
        values = np.asarray(drawn.get(name, np.full(len(weights), math.nan)), dtype=float)
        first = _percentile(np.nan_to_num(values, nan=-math.inf, posinf=math.inf, neginf=-math.inf), weights, tail)
        last = -_percentile(-np.nan_to_num(values, nan=math.inf, posinf=math.inf, neginf=-math.inf), weights, tail)
        # the percentiles and the reversed ones: as far on each side as on the other
        half = wider * max(value - first, last - value, 0.0)
        results[name] = Estimate(value, value - half, value + half)
    return results


@functools.cache
def _choices(n: int) -> tuple[npt.NDArray[np.int64], Floats]:
    """Return how often each of `n` seeds occurs in choices of `n` with replacement, and each choice's probability."""
    if math.comb(2 * n - 1, n) <= DRAWS:
        choices = list(itertools.combinations_with_replacement(range(n), n))
        times = np.array([[choice.count(seed) for seed in range(n)] for choice in choices])
        orders = [math.factorial(n) / math.prod(map(math.factorial, of_choice)) for of_choice in times.tolist()]
        return times, np.array(orders) / n**n
    draws = np.random.default_rng(0).integers(n, size=(DRAWS, n))
    return (draws[:, :, None] == np.arange(n)).sum(axis=1), np.full(DRAWS, 1 / DRAWS)


def _percentile(values: Floats, weights: Floats, tail: float) -> float:
    """Return the smallest value that has at least the probability `tail` together with all smaller ones."""
    order = np.argsort(values, kind="stable")
    index = int(np.searchsorted(np.cumsum(weights[order]), tail * (1 - 1e-9)))
    return float(values[order][min(index, len(values) - 1)])
