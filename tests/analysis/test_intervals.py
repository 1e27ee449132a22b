# SPDX-License-Identifier: Apache-2.0
"""Intervals over seeds, and arithmetic that keeps them."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from rdcnlab.analysis import tables
from rdcnlab.analysis.intervals import Estimate, estimates, greatest, least, over_seeds, same_sign
from rdcnlab.analysis.resampling import bootstrap_by_weight, bootstraps, bootstraps_of_means, jackknife, jackknives


def bootstrap(frame: pd.DataFrame, statistic: Callable[[pd.DataFrame], float]) -> Estimate:
    """The interval of one statistic."""
    return bootstraps(frame, lambda part: {"": statistic(part)})[""]


def ends(number: float) -> tuple[float, ...]:
    assert isinstance(number, Estimate)
    return (float(number), number.low, number.high)


def test_arithmetic_keeps_intervals() -> None:
    a, b = Estimate(4, 3, 5), Estimate(2, 1, 2.5)
    assert ends(a + b) == (6, 4, 7.5)
    assert ends(a - b) == (2, 0.5, 4)
    assert ends(a * b) == (8, 3, 12.5)
    assert ends(a / b) == (2, 1.2, 5)
    assert ends(1 - a) == (-3, -4, -2)
    assert ends(8 / b) == (4, 3.2, 8)
    assert ends(-2 * a) == (-8, -10, -6)
    assert ends(abs(Estimate(-1, -3, 1))) == (1, 0, 3)
    assert ends(abs(-a)) == ends(a)
    assert ends(a / Estimate(1, -1, 3)) == (4, -math.inf, math.inf)
    assert ends(least([a, b])) == (2, 1, 2.5)
    assert ends(greatest([a, Estimate(3.5, 1, 9)])) == (4, 3, 9)


@pytest.mark.parametrize("exact", [3.0, 3, np.float64(3), np.int64(3)])
def test_numbers_of_numpy_keep_them_too(exact: float) -> None:
    assert ends(exact * Estimate(2, 1, 4)) == (6, 3, 12)
    assert ends(Estimate(2, 1, 4) * exact) == (6, 3, 12)
    assert ends(exact - Estimate(2, 1, 4)) == (1, -1, 2)
    assert ends(exact / Estimate(2, 1, 4)) == (1.5, 0.75, 3)


def test_a_number_without_interval_gives_none() -> None:
    alone = Estimate(3)
    assert not alone.known
    assert not (alone - Estimate(2, 1, 3)).known
    assert not least([alone, Estimate(4, 3, 5)]).known
    assert str(alone) == "3"
    assert ends(pickle.loads(pickle.dumps(Estimate(2, 1, 3)))) == (2, 1, 3)
    assert ends(Estimate(0.99, 0.9, 1.1).within(-1, 1)) == (0.99, 0.9, 1)


def test_a_mean_has_students_interval() -> None:
    # t with 3 degrees of freedom is 3.182; the standard error of these is 0.6455
    assert ends(over_seeds([1, 2, 3, 4])) == pytest.approx((2.5, 2.5 - 2.054, 2.5 + 2.054), abs=1e-3)
    assert not over_seeds([1.0]).known
    assert math.isnan(over_seeds([]))


def test_the_jackknife_of_a_mean_is_the_same_rule() -> None:
    frame = pd.DataFrame({"seed": [0, 1, 2, 3], "x": [1.0, 2.0, 3.0, 4.0]})
    assert ends(jackknife(frame, lambda of: of["x"].mean())) == pytest.approx(ends(over_seeds(frame["x"])))
    by_name = jackknives(frame, lambda of: of[["x"]].mean())
    assert ends(by_name["x"]) == pytest.approx(ends(over_seeds(frame["x"])))
    assert not jackknife(frame[:1], lambda of: of["x"].mean()).known


def test_a_seed_is_one_observation_however_many_rows_it_has() -> None:
    frame = pd.DataFrame({"seed": np.repeat([0, 1, 2, 3], 1000), "x": np.repeat([1.0, 2.0, 3.0, 4.0], 1000)})
    assert ends(jackknife(frame, lambda of: of["x"].mean())) == pytest.approx(ends(over_seeds([1, 2, 3, 4])))


def rank(of: pd.DataFrame) -> float:
    means = of.groupby("at")["x"].mean()
    return tables.spearman(means.index, means)


def test_a_rank_correlation_that_no_seed_changes_is_certain_and_another_is_not() -> None:
    frame = pd.DataFrame(
        {"seed": [0, 1, 2] * 3, "at": [1] * 3 + [2] * 3 + [3] * 3, "x": [1, 2, 3, 11, 12, 13, 21, 22, 23]}
    )
    assert ends(bootstrap(frame, rank)) == (1, 1, 1)
    # the third seed alone has another order, which none of the three can hide by being left out
    frame["x"] = [1, 2, 30, 11, 12, 13, 21, 22, 23]
    assert ends(bootstrap(frame, rank).within(-1, 1)) == (1, -1, 1)


def test_an_order_that_holds_without_each_seed_may_still_be_open() -> None:
    """The jackknife of such an order has width zero, although two of five seeds have the other order."""
    frame = pd.DataFrame({"seed": [*range(5)] * 3, "at": np.repeat([1, 2, 3], 5)})
    frame["x"] = [5, 5, 5, 5, 5, 9, 9, 9, 4, 4, 20, 20, 20, 20, 20]
    without = jackknife(frame, rank)
    assert without.low == without.high
    found = bootstrap(frame, rank)
    assert found == 1
    assert found.low <= 0.5


@pytest.mark.parametrize("seeds", [6, 8])
def test_the_bootstrap_of_means_is_that_of_the_frame(seeds: int) -> None:
    x = np.random.default_rng(2).normal(size=3 * seeds) + np.repeat([0, 0.5, 1], seeds)
    frame = pd.DataFrame({"seed": [*range(seeds)] * 3, "at": np.repeat([1, 2, 3], seeds), "x": x}).drop(index=1)
    found = bootstraps_of_means(frame, "at", ["x"], lambda mean: {"": tables.spearmans(mean["x"].columns, mean["x"])})
    assert ends(found[""]) == ends(bootstrap(frame, rank))


def test_equal_groups_have_equal_means_in_every_draw() -> None:
    """A matrix product may round them differently, and ranks would tell them apart."""
    x = np.random.default_rng(5).normal(size=11)
    frame = pd.DataFrame({"seed": [*range(11)] * 40, "at": np.repeat(np.arange(40), 11), "x": np.tile(x, 40)})
    found = bootstraps_of_means(frame, "at", ["x"], lambda mean: {"": np.ptp(mean["x"].to_numpy(), axis=1)})
    assert ends(found[""]) == (0, 0, 0)


@pytest.mark.parametrize("seeds", [2, 3, 7, 12])
def test_a_statistic_of_weights_is_that_of_the_frame(seeds: int) -> None:
    x = np.random.default_rng(6).normal(size=seeds)
    frame = pd.DataFrame({"seed": range(seeds), "x": x})
    expected = bootstrap(frame, lambda of: of["x"].mean())
    found = bootstrap_by_weight(seeds, lambda weights: weights @ x / seeds)
    assert ends(found) == pytest.approx(ends(expected))


@pytest.mark.parametrize("seeds", [2, 3, 4, 5])
def test_the_bootstrap_of_few_seeds_is_as_wide_as_students_interval(seeds: int) -> None:
    """In the mean over 300 samples; without the factors it would have 8, 44, 81 and 100 % of the width."""
    widths = []
    for sample in np.random.default_rng(3).normal(size=(300, seeds)):
        frame = pd.DataFrame({"seed": range(seeds), "x": sample})
        found, students = bootstrap(frame, lambda of: of["x"].mean()), over_seeds(sample)
        widths.append((found.high - found.low) / (students.high - students.low))
    assert np.mean(widths) == pytest.approx(1, abs=0.1)


def test_an_order_that_three_seeds_share_is_open_if_their_means_are_close() -> None:
    pytest.importorskip("rdcnlab_papers")
    from rdcnlab_papers.analysis.measured import trend

    frame = pd.DataFrame({"seed": [0, 1, 2] * 3, "at": np.repeat([1, 2, 3], 3)})
    frame["x"] = [1, 2, 3, 1.1, 2.1, 3.1, 20, 21, 22]
    found = trend(frame, "at", "x")
    assert found == 1
    assert found.low < 0.9
    frame["x"] = [1.0, 1.1, 1.2, 5, 5.1, 5.2, 20, 20.1, 20.2]
    assert ends(trend(frame, "at", "x")) == (1, 1, 1)


def test_the_largest_of_equal_means_is_not_surely_above_the_smallest() -> None:
    """Chance makes the largest too large, in the data and again in each draw: percentiles alone would leave 0 out."""
    random = np.random.default_rng(4)
    lows = []
    for _ in range(20):
        frame = pd.DataFrame({"seed": [*range(6)] * 4, "at": np.repeat([1, 2, 3, 4], 6), "x": random.normal(size=24)})
        found = bootstraps_of_means(frame, "at", ["x"], lambda mean: {"": np.ptp(mean["x"].to_numpy(), axis=1)})
        lows.append(found[""].low)
    assert np.mean(np.array(lows) <= 0) >= 0.9


def test_without_rows_or_without_a_value_nothing_is_known() -> None:
    pytest.importorskip("rdcnlab_papers")
    from rdcnlab_papers.analysis.measured import trend

    empty = pd.DataFrame({"seed": [], "at": [], "x": []})
    constant = pd.DataFrame({"seed": [0, 1] * 3, "at": [1, 1, 2, 2, 3, 3], "x": 5.0})
    for found in (trend(empty, "at", "x"), trend(constant, "at", "x"), bootstrap(constant, rank)):
        assert math.isnan(found)
        assert not found.known


def test_one_value_of_several_runs_has_an_interval_of_all_numbers() -> None:
    pytest.importorskip("rdcnlab_papers")
    from rdcnlab_papers.analysis.measured import means

    stats = means(pd.DataFrame({"case": ["a", "a", "b"], "x": [1.0, np.nan, 2.0]}), "case", "x")
    assert ends(estimates(stats)["a"]) == (1, -math.inf, math.inf)
    assert not estimates(stats)["b"].known


def test_the_bootstrap_of_a_mean_of_many_seeds_is_about_students_interval() -> None:
    x = np.random.default_rng(1).normal(size=20)
    frame = pd.DataFrame({"seed": range(20), "x": x})
    found, students = bootstrap(frame, lambda of: of["x"].mean()), over_seeds(x)
    assert found.high - found.low == pytest.approx(students.high - students.low, rel=0.1)
    assert ends(bootstrap(frame, lambda of: of["x"].mean())) == ends(found)


def test_a_choice_of_seeds_without_a_value_leaves_everything_open() -> None:
    frame = pd.DataFrame({"seed": [0, 1, 2], "x": [1.0, 2.0, np.nan]})
    assert ends(bootstrap(frame, lambda of: of["x"].mean())) == (1.5, -math.inf, math.inf)
    assert ends(jackknife(frame, lambda of: np.nan if len(of) < 3 else 1.0)) == (1, -math.inf, math.inf)
    assert ends(over_seeds([np.nan, 2.0])) == (2, -math.inf, math.inf)


def test_an_unknown_number_makes_the_extreme_unknown_wherever_it_stands() -> None:
    known, unknown = Estimate(5, 4, 6), Estimate(math.nan)
    for numbers in ([known, unknown], [unknown, known]):
        assert math.isnan(least(numbers))
        assert math.isnan(greatest(numbers).high)
    assert ends(0 * Estimate(1, -math.inf, math.inf)) == (0, -math.inf, math.inf)


def test_estimates_of_means() -> None:
    pytest.importorskip("rdcnlab_papers")
    from rdcnlab_papers.analysis.measured import Measured, means

    frame = pd.DataFrame({"case": ["a", "a", "b"], "x": [1.0, 3.0, 5.0]})
    found = estimates(means(frame, "case", "x"))
    assert found["a"].known
    assert not found["b"].known
    measured = Measured.by_case(means(frame, "case", "x"), "case {}")
    assert measured.text("s") == "case a: 2 s (-10.71 to 14.71), case b: 5 s"


def test_two_numbers_have_one_sign_if_the_smaller_is_surely_on_the_side_of_the_larger() -> None:
    assert ends(same_sign(Estimate(-6, -7, -5), Estimate(-3, -4, -2))) == (3, 2, 4)
    assert ends(same_sign(Estimate(1, -1, 3), Estimate(6, 5, 7))) == (1, -1, 3)
    assert ends(same_sign(Estimate(-1, -2, -0.5), Estimate(6, 5, 7))) == (-1, -2, -0.5)
