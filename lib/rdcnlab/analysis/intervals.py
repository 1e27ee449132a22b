# SPDX-License-Identifier: Apache-2.0
"""95 % intervals over seeds: one rule for every number that is compared with a paper.

The rule is Student's t. A seed is one observation, however many bins, flows or days its run has.

- A mean over seeds has the usual interval, ``mean ± t(n - 1) s / sqrt(n)``: `over_seeds`, `tables.mean_ci`.
- Any other statistic is computed again from parts of the data; see `rdcnlab.analysis.resampling`.
- A sum, difference, product or ratio of numbers with intervals has the interval of all results that the two intervals
  allow: the arithmetic of `Estimate`. So a difference of two means is above zero only if their intervals do not
  overlap. That is wider than the interval of a difference need be, and never narrower.

One seed gives a number, but no interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd

#: Confidence level of all intervals.
LEVEL = 0.95


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
    from scipy import special  # takes as long as all of pandas, and rates need no interval

    n = np.asarray(count, dtype=float)
    t = special.stdtrit(np.maximum(n - 1, 1), (1 + level) / 2)
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
    low, high = (table[end].to_numpy(dtype=float) for end in ("low", "high"))
    if "n" in table:
        is_single = table["n"].to_numpy() < 2
        low, high = np.where(is_single, math.nan, low), np.where(is_single, math.nan, high)
    ends = zip(table["mean"].tolist(), low.tolist(), high.tolist(), strict=True)
    return {name: Estimate(*numbers) for name, numbers in zip(table.index, ends, strict=True)}
