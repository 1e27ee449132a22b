# SPDX-License-Identifier: Apache-2.0
"""Why a claim is undecided: which cases are open, how far their intervals reach on both sides of a bound, what decides.

A verdict changes at the bounds of the claim, and at the number that means "no effect". A case is open if one of these
is within its interval. An interval of a mean gets narrower with the square root of the number of runs, and for few runs
faster, because the quantile of Student's t falls, too. So the number of runs that is said is an upper limit. It is said
only for intervals that lie symmetrically around their number, as those of means do.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from rdcnlab.analysis.intervals import Estimate
from rdcnlab_papers.items.claims import Claim

#: Number of cases that are listed; a row lists the measurements of all.
_LISTED = 3
#: Share of an interval's width by which its halves may differ.
_ASYMMETRY = 0.1
_MOST = 1000


def why_open(claim: Claim, cases: Mapping[str, Estimate]) -> str:
    """Say which cases of a claim are open, and how far their intervals reach on both sides of a bound.

    Parameters
    ----------
    claim : Claim
        The claim.
    cases : dict of str to Estimate
        The numbers of the open cases.
    """
    reaches = []
    for case, value in cases.items():
        nearest = min(_bounds_within(claim, value), key=lambda bound: abs(bound - float(value)), default=None)
        if nearest is not None:
            reaches.append((case, f"{nearest - value.low:.3g} below to {value.high - nearest:.3g} above {nearest:g}"))
    if [case for case, _ in reaches] == [""]:
        return f"the interval reaches from {reaches[0][1]}"
    hidden = len(reaches) - _LISTED
    listed = ", ".join(f"{case} ({reach})" for case, reach in reaches[:_LISTED])
    return f"open: {listed}{f', and {hidden} more' if hidden > 0 else ''}" if reaches else ""


def runs_needed(claim: Claim, cases: Mapping[str, Estimate], *, all_of_them: bool) -> str:
    """Say how many runs decide if the numbers stay as they are; empty if an interval is not that of a mean.

    Parameters
    ----------
    claim : Claim
        The claim.
    cases : dict of str to Estimate
        The numbers of the open cases that must be decided.
    all_of_them : bool
        Whether all cases must be decided, or one of them.
    """
    factors = [_factor(claim, value) for value in cases.values()]
    if not factors or any(map(math.isnan, factors)):
        return ""
    factor = max(factors) if all_of_them else min(factors)
    if math.isinf(factor):
        return "no number of runs decides if the number stays, which is the bound itself"
    if factor > _MOST:
        return f"more than {_MOST} times as many runs are needed if the numbers stay"
    return f"at most {_two_digits(factor):g} times as many runs are needed if the numbers stay"


def _bounds_within(claim: Claim, value: Estimate) -> list[float]:
    bounds = [*claim.expect.bounds, *([] if claim.none is None else [claim.none])]
    return [bound for bound in bounds if value.low <= bound <= value.high]


def _factor(claim: Claim, value: Estimate) -> float:
    """Return how many times as many runs exclude all bounds from an interval; NaN if that cannot be said."""
    below, above = float(value) - value.low, value.high - float(value)
    if not math.isfinite(below + above) or abs(below - above) > _ASYMMETRY * (below + above):
        return math.nan
    distances = [bound - float(value) for bound in _bounds_within(claim, value)]
    return max(
        (math.inf if not d else ((above if d > 0 else below) / abs(d)) ** 2 for d in distances), default=math.nan
    )


def _two_digits(factor: float) -> float:
    """Return a factor, rounded up to two digits or one decimal place."""
    unit = 0.1 if factor < 10 else 10 ** (math.floor(math.log10(factor)) - 1)
    return round(math.ceil(factor / unit - 1e-9) * unit, 1)
