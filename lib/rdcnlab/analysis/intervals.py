# SPDX-License-Identifier: Apache-2.0
"""95 % intervals over seeds: one rule for every number that is compared with a paper.

The rule is Student's t. A seed is one observation, however many bins, flows or days its run has.

- A mean over seeds has the usual interval, ``mean ± t(n - 1) s / sqrt(n)``: `over_seeds`, `tables.mean_ci`.
- A smooth function of means, such as a ratio or a share, is computed once from all seeds and once without each
  seed. The pseudo-values ``n T - (n - 1) T_without`` take the place of the observations (jackknife: Tukey 1958;
  Miller 1974). For a mean they are the observations, so that this is the same rule: `jackknife`.
- A statistic that jumps, such as a rank correlation, a quantile or the largest of several means, may be the same
  without each seed although its true value is another. It is computed from seeds drawn with replacement instead
  (bootstrap: Efron 1979), with the percentiles of Hesterberg 2015, Sec. 4.2: `bootstrap`, `bootstraps_of_means`. The
  interval contains the percentiles and the reversed ones, because the largest of several means is too large in every
  draw. Fewer than `FEW` seeds cannot say how much they vary: their means are drawn from Student's t instead, or the
  interval is made wider, as much as that of a mean needs.
- A sum, difference, product or ratio of numbers with intervals has the interval of all results that the two intervals
  allow: the arithmetic of `Estimate`. So a difference of two means is above zero only if their intervals do not
  overlap. That is wider than the interval of a difference need be, and never narrower.

One seed gives a number, but no interval.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats

#: Confidence level of all intervals.
LEVEL = 0.95
#: Number of random choices of seeds, if there are more choices than that.
DRAWS = 499
#: So many seeds say by themselves how much they vary.
FEW = 5
#: Student's interval over the bootstrap's, for a mean of normal numbers, by the number of seeds (300 samples each).
_WIDER = {2: 12.7, 3: 2.25, 4: 1.23}
#: Computes several numbers by name from a frame of observations.
Statistics = Callable[[pd.DataFrame], Mapping[Any, float] | pd.Series]


class Estimate(float):
    """A number with its 95 % interval over seeds. It is a float, and arithmetic with it keeps the interval.

    Parameters
    ----------
    value : float
        The number.
    low, high : float
        Ends of the interval; NaN if there is none.

    Examples
    --------
    >>> with_tdtcp, without = Estimate(5.0, 4.9, 5.1), Estimate(4.0, 3.9, 4.1)
    >>> 100 * (with_tdtcp / without - 1)
    25 (19.5 to 30.8)
    """

    low: float
    high: float
    #: numpy's numbers leave arithmetic with an estimate to the estimate; otherwise the interval would be lost.
    __array_ufunc__ = None

    def __new__(cls, value: float, low: float = math.nan, high: float = math.nan) -> Self:
        """Make a number with an interval, or without one."""
        estimate = super().__new__(cls, value)
        estimate.low, estimate.high = float(low), float(high)
        return estimate

    def __reduce__(self) -> tuple[type[Estimate], tuple[float, float, float]]:
        return Estimate, (float(self), self.low, self.high)

    @property
    def known(self) -> bool:
        """Whether there is an interval."""
        return not (math.isnan(self.low) or math.isnan(self.high))

    def within(self, low: float, high: float) -> Estimate:
        """Return the estimate with an interval that does not leave the range of possible values."""
        return Estimate(self, min(max(self.low, low), high), max(min(self.high, high), low)) if self.known else self

    def __repr__(self) -> str:
        number = f"{float(self):.4g}"
        return f"{number} ({self.low:.3g} to {self.high:.3g})" if self.known else number

    __str__ = __repr__

    def __neg__(self) -> Estimate:
        return Estimate(-float(self), -self.high, -self.low)

    def __abs__(self) -> Estimate:
        ends = abs(self.low), abs(self.high)
        return Estimate(abs(float(self)), 0.0 if self.low < 0 < self.high else min(ends), max(ends))

    def __add__(self, other: float) -> Estimate:
        low, high = _ends(other)
        return Estimate(float(self) + float(other), self.low + low, self.high + high)

    __radd__ = __add__

    def __sub__(self, other: float) -> Estimate:
        low, high = _ends(other)
        return Estimate(float(self) - float(other), self.low - high, self.high - low)

    def __rsub__(self, other: float) -> Estimate:
        return -self + other

    def __mul__(self, other: float) -> Estimate:
        return _spanned(float(self) * float(other), _ends(self), _ends(other), lambda a, b: a * b)

    __rmul__ = __mul__

    def __truediv__(self, other: float) -> Estimate:
        return _ratio(self, other)

    def __rtruediv__(self, other: float) -> Estimate:
        return _ratio(other, self)


def _ends(number: float) -> tuple[float, float]:
    """Return the interval of an estimate; any other number is exact."""
    return (number.low, number.high) if isinstance(number, Estimate) else (float(number), float(number))


def _spanned(
    value: float, first: tuple[float, float], second: tuple[float, float], result: Callable[[float, float], float]
) -> Estimate:
    if any(map(math.isnan, (*first, *second))):
        return Estimate(value)
    ends = [result(a, b) for a in first for b in second]
    # zero times infinity: the result may be any number
    return Estimate(value, -math.inf, math.inf) if any(map(math.isnan, ends)) else Estimate(value, min(ends), max(ends))


def _ratio(numerator: float, denominator: float) -> Estimate:
    low, high = _ends(denominator)
    value = float(numerator) / float(denominator) if float(denominator) else math.nan
    if low <= 0 <= high:
        return Estimate(value, -math.inf, math.inf)
    return _spanned(value, _ends(numerator), (low, high), lambda a, b: a / b)


def least(numbers: Iterable[float]) -> Estimate:
    """Return the smallest of some numbers; the ends of its interval are the smallest ends.

    A number or an end that is not known (NaN) makes that of the result unknown.
    """
    return _extreme(numbers, np.min)


def greatest(numbers: Iterable[float]) -> Estimate:
    """Return the largest of some numbers, as `least` does the smallest."""
    return _extreme(numbers, np.max)


def _extreme(numbers: Iterable[float], choose: Callable[[list[float]], float]) -> Estimate:
    values = list(numbers)
    return Estimate(choose([*map(float, values)]), *(choose([*ends]) for ends in zip(*map(_ends, values), strict=True)))


def same_sign(first: Estimate, second: Estimate) -> Estimate:
    """Return the smaller of two numbers, counted positive in the direction of the larger one (by absolute value).

    It is above zero if both numbers have the same sign.
    """
    smaller, larger = sorted((first, second), key=lambda number: abs(float(number)))
    return -smaller if larger < 0 else smaller


def half_width(deviation: npt.ArrayLike, count: npt.ArrayLike, level: float = LEVEL) -> npt.NDArray[np.float64]:
    """Return half the width of the interval of a mean; NaN for a single observation.

    Parameters
    ----------
    deviation : array_like
        Standard deviation of the observations.
    count : array_like
        Number of observations.
    level : float
        Confidence level.
    """
    n = np.asarray(count, dtype=float)
    t = stats.t.ppf((1 + level) / 2, np.maximum(n - 1, 1))
    half: npt.NDArray[np.float64] = np.where(n > 1, t * np.asarray(deviation) / np.sqrt(np.maximum(n, 1)), np.nan)
    return half


def over_seeds(values: npt.ArrayLike) -> Estimate:
    """Average one value of each seed, with the interval of Student's t.

    Missing values (NaN) are left out. If only one of several is left, its interval contains all numbers.
    """
    x = np.asarray(values, dtype=float)
    seeds, x = x.size, x[~np.isnan(x)]
    if not x.size:
        return Estimate(math.nan)
    mean = float(x.mean())
    if x.size == 1 < seeds:
        return Estimate(mean, -math.inf, math.inf)
    half = float(half_width(x.std(ddof=1) if x.size > 1 else 0.0, x.size))
    return Estimate(mean, mean - half, mean + half)


def estimates(table: pd.DataFrame) -> dict[Any, Estimate]:
    """Return the estimate of each row of a frame with ``mean``, ``low``, ``high``, by the frame's index.

    A mean of a single run (``n`` is 1) has no interval.
    """
    is_single = table["n"] < 2 if "n" in table else pd.Series(data=False, index=table.index)
    low, high = table["low"].mask(is_single), table["high"].mask(is_single)
    return {name: Estimate(*ends) for name, *ends in zip(table.index, table["mean"], low, high, strict=True)}


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
