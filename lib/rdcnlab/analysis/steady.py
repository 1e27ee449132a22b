# SPDX-License-Identifier: Apache-2.0
"""Test whether a run was long enough: its warm-up, the mean after it with its error, and reasons for doubt.

A run is one realisation. Its observations, one for each bin of time, depend on each other. So the error of their mean
is not that of independent observations. The method of batch means (Law, Simulation Modeling and Analysis, 5th ed., Sec.
9.5.3) divides the observations into a few long batches whose means are nearly independent:

1. *Warm-up.* The beginning that is left out is the one for which the standard error of the rest is smallest (MSER;
   White 1997). At most half of the observations may be left out. If the minimum is there, the run is still warming up.
2. *Batches.* There are `MOST` batches. As long as the means of neighbouring batches are correlated, pairs of batches
   are joined (von Neumann's test at 5 %, one-sided). With fewer than `LEAST` batches the run is too short.
3. *Error.* The 95 % interval of Student's t over the means of batches. It must be below a tolerance. If batches are
   correlated, but the range of all observations after the warm-up is within the tolerance, the error is that range.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rdcnlab.analysis.intervals import half_width

Floats = npt.NDArray[np.float64]

#: Numbers of batches: Law recommends 20 to 40 to begin with, and at least 5 to 10 for an interval.
MOST, LEAST = 32, 8
#: One-sided 5 % point of the normal distribution.
_QUANTILE = 1.645
#: Differences below this share of sums are rounding errors: 64-bit numbers have 16 digits, sums of thousands 12.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Steady:
    """The mean of a run after its warm-up.

    Parameters
    ----------
    mean : float
        Mean of the observations that count.
    error : float
        Half the width of its 95 % interval, or the range of nearly constant observations; NaN if it is unknown.
    start : int
        Number of observations that are left out as the warm-up.
    batches : int
        Number of batches that the error is computed from; 0 if it is unknown or a range.
    doubt : str
        Why the run is too short; empty if it is long enough.
    """

    mean: float
    error: float
    start: int
    batches: int
    doubt: str

    @property
    def enough(self) -> bool:
        """Whether the run is long enough."""
        return not self.doubt


def steady(values: npt.ArrayLike, tolerance: float, *, start: int | None = None) -> Steady:
    """Return the mean of a series after its warm-up, with its error, and whether the series is long enough.

    Parameters
    ----------
    values : array_like, shape (n,)
        Observations at equal distances in time.
    tolerance : float
        Largest allowed error, in the unit of the observations.
    start : int, optional
        Length of the warm-up in observations; by default it is found.

    Examples
    --------
    >>> result = steady([9.0, 3.0] + [1.0, 1.2, 0.8, 1.0] * 40, tolerance=0.1)
    >>> result.start, round(result.mean, 3), result.enough
    (2, 1.0, True)
    """
    x = np.asarray(values, dtype=float)
    first, doubt = (warm_up(x), "") if start is None else (start, "")
    if start is None and first >= len(x) // 2:
        doubt = "still warming up"
    settled = x[first:]
    mean = float(settled.mean()) if len(settled) else math.nan
    means = _independent(settled)
    if means is None:
        reach = float(np.ptp(settled)) if len(settled) >= LEAST else math.inf
        if not doubt and reach <= tolerance:
            # a drift within the tolerance cannot move the mean by more than that
            return Steady(mean, reach, first, 0, "")
        return Steady(mean, math.nan, first, 0, doubt or f"fewer than {LEAST} independent batches")
    error = float(half_width(means.std(ddof=1), len(means)))
    if not doubt and error > tolerance:
        doubt = f"error of {error:.3g}, more than {tolerance:.3g}"
    return Steady(mean, error, first, len(means), doubt)


def warm_up(values: npt.ArrayLike) -> int:
    """Return the length of the warm-up, at most half: without it, the standard error of the mean is smallest."""
    x = np.asarray(values, dtype=float)
    n, most = len(x), len(x) // 2
    if most < 1:
        return 0
    # sums over the rest, for each possible beginning of it
    remaining = n - np.arange(most + 1)
    shifted = x - x.mean()  # smaller numbers lose less in the difference below
    sums = shifted[::-1].cumsum()[::-1][: most + 1]
    squares = (shifted**2)[::-1].cumsum()[::-1][: most + 1]
    variation = squares - sums**2 / remaining
    # a constant rest has none; what rounding leaves would choose any beginning of it
    variation[variation <= _ROUNDING * squares] = 0
    return int(np.argmin(variation / remaining**2))


def batches(values: npt.ArrayLike, count: int) -> Floats:
    """Return the means of `count` batches of equal length; left-over observations at the beginning are not used."""
    x = np.asarray(values, dtype=float)
    length = len(x) // count
    means: Floats = x[len(x) - count * length :].reshape(count, length).mean(axis=1)
    return means


def correlated(means: npt.ArrayLike) -> bool:
    """Return whether neighbouring values are correlated more than chance explains, by von Neumann's ratio.

    Of n independent values, sum (x[i+1] - x[i])^2 / (2 sum (x[i] - mean)^2) is nearly normal with mean 1 and variance
    (n - 2) / (n^2 - 1). It is smaller if neighbours are alike.
    """
    x = np.asarray(means, dtype=float)
    total = float(((x - x.mean()) ** 2).sum())
    if total == 0:
        return False
    ratio = float((np.diff(x) ** 2).sum()) / (2 * total)
    return ratio < 1 - _QUANTILE * math.sqrt((len(x) - 2) / (len(x) ** 2 - 1))


def _independent(x: Floats) -> Floats | None:
    """Return means of as many batches as are independent; None if there are fewer than `LEAST`."""
    count = MOST
    while count >= LEAST:
        if len(x) >= count:
            means = batches(x, count)
            if not correlated(means):
                return means
        count //= 2
    return None
