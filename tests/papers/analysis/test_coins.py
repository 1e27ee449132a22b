# SPDX-License-Identifier: Apache-2.0
"""What coin tosses would give, against closed forms."""

from __future__ import annotations

import math

import pytest

from rdcnlab_papers.analysis import coins
from rdcnlab_papers.analysis.coins import Coins


@pytest.mark.parametrize(
    ("tosses", "probability"),
    [
        ([1, 1, 1], 1 - 2**-3),
        ([1], 1 / 2),
        # three cases in each of two columns: 1 - (7/8)^2
        ([3, 3], 15 / 64),
        ([2, 1], 1 - 3 / 4 * 1 / 2),
        ([], 0),
    ],
)
def test_a_claim_holds_in_a_column_if_all_its_coins_fall_on_one_side(tosses: list[int], probability: float) -> None:
    assert coins.any_column(tosses) == pytest.approx(probability)


def test_the_range_of_equal_coins_is_that_of_the_binomial_distribution() -> None:
    def up_to(number: int) -> float:
        return sum(math.comb(20, k) for k in range(number + 1)) / 2**20

    found = coins.toss([0.5] * 20)
    assert found == Coins(10, 6, 14)
    assert up_to(found.low - 1) <= 0.025 < up_to(found.low)
    assert up_to(found.high - 1) < 0.975 <= up_to(found.high)


def test_of_claims_with_other_probabilities_the_expectations_add_up() -> None:
    assert coins.toss([0.875, 0.75]).expected == pytest.approx(1.625)
    # none with 1/32, one with 10/32, both with 21/32
    assert coins.toss([0.875, 0.75]) == Coins(1.625, 0, 2)
    assert coins.toss([]) == Coins(0, 0, 0)
    assert coins.toss([1.0, 0.0]) == Coins(1, 1, 1)
