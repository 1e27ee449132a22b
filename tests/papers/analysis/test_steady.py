# SPDX-License-Identifier: Apache-2.0
"""The error of a mean of dependent observations is stated as it is, and series that are too short are found out."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from rdcnlab_papers.analysis import steady


def autoregressive(count: int, share: float, seed: int) -> npt.NDArray[np.float64]:
    """Return values with mean 0 and variance 1, of which each keeps a share of the one before."""
    noise = np.random.default_rng(seed).normal(size=count)
    x = np.empty(count)
    x[0] = noise[0]
    for k in range(1, count):
        x[k] = share * x[k - 1] + np.sqrt(1 - share**2) * noise[k]
    return x


@pytest.mark.parametrize(("share", "count"), [(0.0, 60), (0.5, 60), (0.8, 120), (0.8, 1000), (0.95, 4000)])
def test_the_interval_has_the_mean_in_it(share: float, count: int) -> None:
    """Of 300 series, 95 % should: 89 to 99 % are four standard deviations of such a count, and a bias of 1 %."""
    found = [steady.steady(autoregressive(count, share, seed), 10, start=0) for seed in range(300)]
    held = np.mean([abs(each.mean) <= each.error for each in found if each.enough])
    assert 0.89 <= held <= 0.99
    assert np.mean([each.enough for each in found]) > 0.8


def test_independent_values_would_claim_too_much_of_dependent_ones() -> None:
    """With a share of 0.95 the mean has (1 + 0.95) / (1 - 0.95) = 39 times the variance of independent values."""
    x = autoregressive(4000, 0.95, 1)
    error = steady.steady(x, 10, start=0).error
    naive = 1.96 * x.std() / np.sqrt(len(x))
    assert 3 < error / naive < 12  # the square root of 39 is 6.2


def test_most_short_dependent_series_are_not_enough() -> None:
    """60 values that are alike for 50: an error cannot be told."""
    doubts = [steady.steady(autoregressive(60, 0.98, seed), 0.1, start=0).doubt for seed in range(40)]
    assert sum("independent observations" in doubt for doubt in doubts) > 20
    assert all(doubts)


def test_a_warm_up_is_left_out() -> None:
    decay = 20 * np.exp(-np.arange(600) / 10)
    found = steady.steady(decay + autoregressive(600, 0.3, 2), 0.5)
    assert 20 <= found.start <= 60
    assert found.enough
    assert abs(found.mean) < 0.3


@pytest.mark.parametrize(("first", "rest"), [(10.0, 4.0), (4.0, 0.1), (1e6, 0.3)])
def test_a_warm_up_ends_where_a_constant_begins(first: float, rest: float) -> None:
    assert steady.warm_up([first] * 5 + [rest] * 70) == 5


def test_a_trend_is_never_enough() -> None:
    assert steady.steady(np.linspace(0, 10, 400), 10).doubt == "still warming up"
    assert not steady.steady(np.linspace(0, 10, 400) + autoregressive(400, 0.0, 3), 1).enough


def test_an_error_above_the_tolerance_is_not_enough() -> None:
    x = autoregressive(400, 0.0, 4)
    assert steady.steady(x, 0.5, start=0).enough
    assert "more than" in steady.steady(x, 0.01, start=0).doubt


def test_a_drift_that_stays_within_the_tolerance_does_not_matter() -> None:
    """64 values fall by 7.4 in all: they are correlated, but the mean is known to 20, though not to 7."""
    drift = np.linspace(207.4, 200.0, 64)
    found = steady.steady(drift, 20, start=0)
    assert (found.enough, found.error, found.worth) == (True, pytest.approx(7.4), 0)
    assert "independent observations" in steady.steady(drift, 7, start=0).doubt
    assert not steady.steady(drift[:7], 20, start=0).enough
    assert steady.steady(drift, 20).doubt == "still warming up"


def test_a_constant_is_steady_at_once() -> None:
    found = steady.steady(np.full(64, 3.0), 0.1)
    assert (found.mean, found.error, found.start, found.enough) == (3.0, 0.0, 0, True)


@pytest.mark.parametrize("count", [0, 1, 7])
def test_a_few_values_are_never_enough(count: int) -> None:
    assert not steady.steady(np.ones(count), 1).enough
