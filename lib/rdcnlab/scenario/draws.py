# SPDX-License-Identifier: Apache-2.0
"""Random numbers of a scenario."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from itertools import count


def draw(seed: int, purpose: str, upper: int) -> int:
    """Return a whole number from 0 to `upper`, drawn for one purpose.

    This is a hash and not a generator. It is equal in every version of every library, and one draw does not depend on
    how many others come before it.
    """
    digest = hashlib.sha256(f"{seed} {purpose}".encode()).digest()
    return int.from_bytes(digest[:16], "big") % (upper + 1)


def poisson_instants(seed: int, purpose: str, mean: int, end: int) -> list[int]:
    """Draw the instants of a Poisson process in ns, in rising order, from 0 up to but without `end`.

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
    instants: list[int] = []
    now = 0
    for number in count():
        # the share is never 0, and the time between two instants is at least 1 ns
        share = (draw(seed, f"{purpose} {number}", 2**53 - 1) + 1) / 2**53
        now += max(round(-math.log(share) * mean), 1)
        if now >= end:
            break
        instants.append(now)
    return instants


def values_with_sum(seed: int, purpose: str, values: Sequence[int], *, total: int, most: int) -> list[int]:
    """Draw values with a given sum.

    Each one is one of those that still fit, all equally likely. If `most` values do not reach the sum, all are drawn
    anew.

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
        drawn: list[int] = []
        while sum(drawn) < total and len(drawn) < most:
            fitting = [value for value in values if value <= total - sum(drawn)]
            digest = hashlib.sha256(f"{seed} {purpose} {attempt} {len(drawn)}".encode()).digest()
            drawn.append(fitting[int.from_bytes(digest[:8], "big") % len(fitting)])
        if sum(drawn) == total:
            return drawn
    raise AssertionError("unreachable")
