# SPDX-License-Identifier: Apache-2.0
"""Intervals over seeds, and arithmetic that keeps them."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pandas as pd
import pytest

from rdcnlab.analysis import tables
from rdcnlab.analysis.intervals import (
    Estimate,
    estimates,
    greatest,
    jackknife,
    jackknives,
    least,
    over_seeds,
    same_sign,
)
from rdcnlab.analysis.measured import Measured, means


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


def test_a_rank_correlation_that_no_seed_changes_is_certain_and_another_is_not() -> None:
    def rank(of: pd.DataFrame) -> float:
        means = of.groupby("at")["x"].mean()
        return tables.spearman(means.index, means)

    frame = pd.DataFrame(
        {"seed": [0, 1, 2] * 3, "at": [1] * 3 + [2] * 3 + [3] * 3, "x": [1, 2, 3, 11, 12, 13, 21, 22, 23]}
    )
    assert ends(jackknife(frame, rank)) == (1, 1, 1)
    frame["x"] = [1, 2, 30, 11, 12, 13, 21, 22, 23]
    found = jackknife(frame, rank)
    assert found.low < found < found.high


def test_estimates_of_means() -> None:
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
