# SPDX-License-Identifier: Apache-2.0
"""Random numbers of a scenario."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from itertools import count, takewhile


def draw(seed: int, purpose: str, upper: int) -> int:
    """Return a whole number from 0 to `upper`, drawn for one purpose.

    This is a hash and not a generator. It is equal in every version of every library, and one draw does not depend on
    how many others come before it.
    """
    digest = hashlib.sha256(f"{seed} {purpose}".encode()).digest()
    return int.from_bytes(digest[:16], "big") % (upper + 1)


def poisson_instants(seed: int, purpose: str, mean: int, end: int) -> list[int]:
    """Draw the instants of a Poisson process in ns, in rising order, from 0 to `end`, without `end` itself.

    Parameters
    ----------
    seed : int
        Seed of the scenario.
    purpose : str
        What the instants are for; another purpose has other instants.
    mean : int
        Mean time between two instants in ns.
    end : int
        The first instant that is too late.
    """
    return list(takewhile(lambda instant: instant < end, poisson_process(seed, purpose, mean)))


def poisson_process(seed: int, purpose: str, mean: float) -> Iterator[int]:
    """Yield the instants of a Poisson process in ns without end; the parameters are those of `poisson_instants`."""
    instant = 0
    for number in count():
        # the share is never 0, and the time between two instants is at least 1 ns
        share = (draw(seed, f"{purpose} {number}", 2**53 - 1) + 1) / 2**53
        instant += max(round(-math.log(share) * mean), 1)
        yield instant


def values_with_sum(seed: int, purpose: str, values: Sequence[int], *, total: int, most: int) -> list[int]:
    """Draw values with a given sum.

    Each value is drawn from those that do not exceed the rest of the sum, all equally likely. If `most` values do not
    reach the sum, all values are drawn again.

    Parameters
    ----------
    seed : int
        Seed of the scenario.
    purpose : str
        What the values are for; another purpose has other values.
    values : sequence of int
        The values to draw from; the smallest one divides `total`.
    total : int
        Sum of the result.
    most : int
        Largest length of the result.
    """
    for attempt in count():
        sample: list[int] = []
        while sum(sample) < total and len(sample) < most:
            fitting = [value for value in values if value <= total - sum(sample)]
            digest = hashlib.sha256(f"{seed} {purpose} {attempt} {len(sample)}".encode()).digest()
            sample.append(fitting[int.from_bytes(digest[:8], "big") % len(fitting)])
        if sum(sample) == total:
            return sample
    raise AssertionError("unreachable")
