# SPDX-License-Identifier: Apache-2.0
"""Samples of network updates, on tables made by hand."""

from __future__ import annotations

import pandas as pd
import pytest

from rdcnlab.analysis import bounds, updates


def samples(**values: list[float]) -> pd.DataFrame:
    return pd.DataFrame([{"cc": cc, "seed": 0, "value": each} for cc, of in values.items() for each in of])


def test_quantiles_are_samples() -> None:
    points = updates.quantiles(samples(bbr=[5, 1, 4, 2, 3]), (0.2, 0.5, 0.8, 1.0))
    assert points["value"].tolist() == [1, 3, 4, 5]


def test_the_order_names_each_pair_and_share() -> None:
    points = updates.quantiles(samples(bbr=[1, 2], dctcp=[3, 1], cubic=[9, 8]), (0.5, 1.0))
    assert {name: float(value) for name, value in updates.order(points, ("bbr", "dctcp", "cubic")).items()} == {
        "dctcp over bbr at 50%": 0,
        "dctcp over bbr at 100%": 1,
        "cubic over dctcp at 50%": 7,
        "cubic over dctcp at 100%": 6,
    }
    assert updates.order(points, ("bbr", "reno")) == {}
    without = points[points["share"] == 1].drop(columns="share")
    assert list(updates.order(without, ("bbr", "cubic"))) == ["cubic over bbr"]


def test_a_variant_is_compared_with_itself_in_another_setting() -> None:
    small, large = (updates.quantiles(samples(bbr=of, cubic=[1]), (1.0,)) for of in ([5, 7], [1, 4]))
    assert {name: float(value) for name, value in updates.between(small, large, ("bbr",)).items()} == {"bbr at 100%": 3}


def test_the_spread_is_that_of_the_extremes() -> None:
    points = updates.quantiles(samples(bbr=[90], dctcp=[100], cubic=[110]), (1.0,))
    assert float(updates.spread(points)[1.0]) == pytest.approx(20)


def test_the_change_of_means_has_no_sign() -> None:
    change = updates.change_of_means(samples(bbr=[1, 3], cubic=[5]), samples(bbr=[4], cubic=[4]))
    assert dict(zip(change["cc"], change["value"], strict=True)) == {"bbr": 50, "cubic": 25}


def test_equation_5() -> None:
    assert bounds.longest_queue(10e9, 250e-6) == 937_500
    assert bounds.longest_queue(10e9, 400e-6) == pytest.approx(1_500_000)
    # two windows that fill a link each leave one of them waiting; the bound has two more
    full = bounds.capacity(10e9, 250e-6)
    assert bounds.standing_queue([full, full], 10e9, 250e-6) == full
    assert bounds.standing_queue([full / 4, full / 4], 10e9, 250e-6) == 0
    assert bounds.standing_queue([2 * full, 2 * full], 10e9, 250e-6) == bounds.longest_queue(10e9, 250e-6)
    with pytest.raises(ValueError, match="above 0"):
        bounds.capacity(0, 1)
