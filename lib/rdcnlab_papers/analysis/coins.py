# SPDX-License-Identifier: Apache-2.0
"""How many claims about a sign would hold by coin tosses: what a paper's score is compared with."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

#: Probability of the range that is stated.
_LEVEL = 0.95


@dataclass(frozen=True)
class Coins:
    """The number of claims that would hold by coin tosses: its expectation, and a range of 95 %, ends included."""

    expected: float
    low: int
    high: int

    def __str__(self) -> str:
        return f"{self.expected:.2g} ({self.low} to {self.high})"


def any_column(tosses: Iterable[int]) -> float:
    """Return the probability that a claim holds in at least one column.

    Parameters
    ----------
    tosses : iterable of int
        For each column the number of coins that must all fall on the claim's side there.

    Examples
    --------
    >>> any_column([1, 1, 1])  # 1 - 2^-3
    0.875
    >>> any_column([2])
    0.25
    """
    return 1 - math.prod(1 - 0.5**number for number in tosses)


def toss(probabilities: Sequence[float]) -> Coins:
    """Return how many claims hold if each holds by itself with its probability.

    The range leaves out at most 2.5 % on either side.

    Examples
    --------
    >>> print(toss([0.5] * 100))
    50 (40 to 60)
    """
    below = np.cumsum(_distribution(probabilities))
    tail = (1 - _LEVEL) / 2
    # a sum of probabilities is not exact
    low = int(np.searchsorted(below, tail + 1e-12, side="right"))
    high = int(np.searchsorted(below, 1 - tail - 1e-12))
    return Coins(float(sum(probabilities)), low, min(high, len(probabilities)))


def _distribution(probabilities: Sequence[float]) -> npt.NDArray[np.float64]:
    """Return the probability of each number of claims, from none to all."""
    numbers = np.ones(1)
    for probability in probabilities:
        numbers = np.convolve(numbers, [1 - probability, probability])
    return numbers
