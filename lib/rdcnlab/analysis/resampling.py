# SPDX-License-Identifier: Apache-2.0
"""Intervals of statistics that are no means: they are computed again from parts of the seeds.

- A smooth function of means, such as a ratio or a share, is computed once without each seed. The pseudo-values
  ``n T - (n - 1) T_without`` take the place of the observations (jackknife: Tukey 1958; Miller 1974). For a mean they
  are the observations, so that this is the rule of `intervals.over_seeds`: `jackknife`.
- A statistic that jumps, such as a rank correlation, a quantile or the largest of several means, may be the same
  without each seed although its true value is another. It is computed from seeds that are drawn with replacement
  instead (bootstrap: Efron 1979), with the percentiles of Hesterberg 2015, Sec. 4.2: `bootstrap`.

An interval of the bootstrap is as long on one side as on the other. Percentiles alone would leave the truth out if the
statistic is the largest of several means: chance makes it too large in the data, and once more in each draw.

Fewer than `FEW` seeds do not show how much they vary. `bootstraps_of_means` then draws each mean from Student's t;
`bootstrap` makes the interval wider, as much as that of a mean would need.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats

from rdcnlab.analysis.intervals import LEVEL, Estimate, half_width

#: Number of random choices of seeds, if there are more choices than that.
DRAWS = 499
#: So many seeds say by themselves how much they vary.
FEW = 5
#: Student's interval over the bootstrap's, for a mean of normal numbers, by the number of seeds (300 samples each).
_WIDER = {2: 12.7, 3: 2.25, 4: 1.23}
#: Computes several numbers by name from a frame of observations.
Statistics = Callable[[pd.DataFrame], Mapping[Any, float] | pd.Series]


def jackknife(frame: pd.DataFrame, statistic: Callable[[pd.DataFrame], float], by: str = "seed") -> Estimate:
    """Compute a smooth statistic over all seeds, with its interval; `bootstrap` is for statistics that jump.

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


def bootstrap(frame: pd.DataFrame, statistic: Callable[[pd.DataFrame], float], by: str = "seed") -> Estimate:
    """Compute a statistic that jumps over all seeds, with its interval. Parameters and results as for `jackknife`.

    The statistic is computed from every choice of as many seeds with replacement, or from `DRAWS` random ones (the same
    each time) if there are more. A choice for which it has no value counts at both ends.
    """
    return bootstraps(frame, lambda part: {"": statistic(part)}, by).get("", Estimate(math.nan))


def bootstraps(frame: pd.DataFrame, statistics: Statistics, by: str = "seed") -> dict[Hashable, Estimate]:
    """Compute several statistics by name, as `bootstrap` does for one."""
    full_values = dict(statistics(frame).items())
    seeds = frame[by].to_numpy()
    rows = [np.flatnonzero(seeds == seed) for seed in np.unique(seeds)]
    n = len(rows)
    if n < 2:
        return {name: Estimate(value) for name, value in full_values.items()}
    choices, weights = _choices(n)
    parts = [statistics(frame.iloc[np.concatenate([rows[seed] for seed in choice])]) for choice in choices]
    return _intervals(full_values, parts, weights, _tail(n), _WIDER.get(n, 1.0))


def bootstraps_of_means(
    frame: pd.DataFrame, keys: str | list[str], values: list[str], statistics: Statistics, by: str = "seed"
) -> dict[Hashable, Estimate]:
    """Compute statistics of means over seeds, as `bootstraps` does, but many times faster.

    Parameters
    ----------
    frame : DataFrame
        Observations, with the seed of each in column `by`.
    keys : str or list of str
        Columns that define the groups.
    values : list of str
        Columns to average.
    statistics : callable
        Computes numbers by name from the means: a frame whose index has the groups, and whose columns are `values`.
    by : str
        Name of the column with the seeds.

    Returns
    -------
    dict of Estimate
        By name. With fewer than `FEW` seeds each mean is drawn from its own Student's t, as if seeds were not paired.
    """
    full_values = dict(statistics(frame.groupby(keys, observed=True)[values].mean()).items())
    if frame[by].nunique() < 2:
        return {name: Estimate(value) for name, value in full_values.items()}
    grouped = frame.groupby([by, *([keys] if isinstance(keys, str) else keys)], observed=True)[values]
    sums, counts = grouped.sum().unstack(by, fill_value=0), grouped.count().unstack(by, fill_value=0)
    n = frame[by].nunique()
    shape = (len(sums), len(values), n)
    total, number = sums.to_numpy(dtype=float).reshape(shape), counts.to_numpy(dtype=float).reshape(shape)
    if n < FEW:
        means, weights, tail = _means_from_t(total, number), np.full(DRAWS, 1 / DRAWS), (1 - LEVEL) / 2
    else:
        choices, weights = _choices(n)
        tail = _tail(n)
        with np.errstate(invalid="ignore"):
            means = [total[..., seeds].sum(axis=2) / number[..., seeds].sum(axis=2) for seeds in map(list, choices)]
    parts = [statistics(pd.DataFrame(mean, index=sums.index, columns=values).dropna(how="all")) for mean in means]
    return _intervals(full_values, parts, weights, tail)


def _means_from_t(total: npt.NDArray[np.float64], number: npt.NDArray[np.float64]) -> list[npt.NDArray[np.float64]]:
    """Draw each mean from Student's t around it; anything is possible if only one seed has it."""
    random = np.random.default_rng(0)
    present = number > 0
    seeds = present.sum(axis=2)
    of_seeds = np.where(present, total / np.maximum(number, 1), 0)
    center = of_seeds.sum(axis=2) / np.maximum(seeds, 1)
    squares = (np.where(present, of_seeds - center[..., None], 0) ** 2).sum(axis=2)
    scale = np.sqrt(squares / np.maximum(seeds - 1, 1) / np.maximum(seeds, 1))
    drawn = center + scale * random.standard_t(np.maximum(seeds - 1, 1), size=(DRAWS, *center.shape))
    anything = np.where(random.random((DRAWS, *center.shape)) < 0.5, -math.inf, math.inf)
    return [*np.where(seeds < 2, anything, drawn)]


def _tail(n: int) -> float:
    """Return the probability beyond each percentile of the choices of `n` seeds (Hesterberg 2015, Sec. 4.2)."""
    return float(stats.norm.cdf(math.sqrt(n / (n - 1)) * stats.t.ppf((1 - LEVEL) / 2, n - 1)))


def _intervals(
    full_values: Mapping[Hashable, float],
    parts: Sequence[Mapping[Any, float] | pd.Series[Any]],
    weights: npt.NDArray[np.float64],
    tail: float,
    wider: float = 1.0,
) -> dict[Hashable, Estimate]:
    """Return statistics with the intervals that follow from their values in parts of the data."""
    results = {}
    for name, value in full_values.items():
        if math.isnan(value):
            results[name] = Estimate(value)
            continue
        values = np.array([part.get(name, math.nan) for part in parts], dtype=float)
        first = _percentile(np.nan_to_num(values, nan=-math.inf, posinf=math.inf, neginf=-math.inf), weights, tail)
        last = -_percentile(-np.nan_to_num(values, nan=math.inf, posinf=math.inf, neginf=-math.inf), weights, tail)
        # the percentiles and the reversed ones: as far on each side as on the other
        half = wider * max(value - first, last - value, 0.0)
        results[name] = Estimate(value, value - half, value + half)
    return results


def _choices(n: int) -> tuple[list[tuple[int, ...]], npt.NDArray[np.float64]]:
    """Return choices of `n` of `n` seeds with replacement, and the probability of each."""
    if math.comb(2 * n - 1, n) <= DRAWS:
        choices = list(itertools.combinations_with_replacement(range(n), n))
        orders = [math.factorial(n) / math.prod(map(math.factorial, Counter(choice).values())) for choice in choices]
        return choices, np.array(orders) / n**n
    draws = np.random.default_rng(0).integers(n, size=(DRAWS, n))
    return [tuple(draw) for draw in draws.tolist()], np.full(DRAWS, 1 / DRAWS)


def _percentile(values: npt.NDArray[np.float64], weights: npt.NDArray[np.float64], tail: float) -> float:
    """Return the smallest value that has at least the probability `tail` together with all smaller ones."""
    order = np.argsort(values, kind="stable")
    place = int(np.searchsorted(np.cumsum(weights[order]), tail * (1 - 1e-9)))
    return float(values[order][min(place, len(values) - 1)])
