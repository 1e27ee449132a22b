# SPDX-License-Identifier: Apache-2.0
"""The paper's equations give the numbers of its Table I, and the constants are those of the kernel's source."""

from __future__ import annotations

import pytest

from rdcnlab.analysis import cubic
from rdcnlab_papers.analysis import cost


@pytest.mark.parametrize(
    ("rtt_ms", "window", "time_s"), [(10, 87, 3.5), (50, 431, 6), (180, 1550, 9.2), (500, 4316.3, 13)]
)
def test_the_equations_give_table_1(rtt_ms: int, window: float, time_s: float) -> None:
    found = cubic.full_window(100e6, rtt_ms / 1e3)
    assert found == pytest.approx(window, rel=0.01)
    assert cubic.recovery_time(found) == pytest.approx(time_s, rel=0.01)


def test_the_function_starts_at_the_reduced_window_and_returns_at_k() -> None:
    for beta in (cubic.BETA, cubic.BETA_OF_LINUX):
        model = cubic.Cubic(431.0, beta)
        assert model.at(0.0) == pytest.approx((1 - beta) * 431)
        assert model.at(model.recovery_s) == pytest.approx(431)
        # after K it grows as it grew before
        assert model.at(2 * model.recovery_s) - 431 == pytest.approx(431 - model.at(0.0))


def test_linux_takes_longer_by_the_cube_root_of_one_and_a_half() -> None:
    ratio = cubic.recovery_time(431, cubic.BETA_OF_LINUX) / cubic.recovery_time(431)
    assert ratio == pytest.approx(1.5 ** (1 / 3), rel=2e-3)


def test_a_loss_below_the_plateau_makes_the_next_plateau_smaller() -> None:
    """717 of 1024 remain, so the mean of before and after is 0.85 of the window before."""
    assert cubic.plateaus([461, 455, 455]) == pytest.approx([461, 455 * (1 + 717 / 1024) / 2, 455])


def test_the_rule_of_thumb_has_the_units_it_states() -> None:
    """50 ms more than 50 ms: half of the rate is lacking while CUBIC grows by 431 segments, for (431 / 0.4)^(1/3) s."""
    assert cost.growth_s(0.05, 0.05, 100e6, "cubic") == pytest.approx(10.26, abs=0.02)
    assert cost.least_period_s(0.05, 0.05, 100e6, "cubic", 0.1) == pytest.approx(0.5 * 10.26 / 0.2, rel=0.01)
    # Reno: 431 round trips of 100 ms; BBR: its window for the smallest RTT
    assert cost.growth_s(0.05, 0.05, 100e6, "reno") == pytest.approx(43.2, abs=0.1)
    assert cost.growth_s(0.05, 0.05, 100e6, "bbr") == 10


def test_the_rest_of_a_recovery_is_where_the_function_is_flat() -> None:
    model = cubic.Cubic(431.0)
    assert model.at(model.recovery_s - cubic.rest_of_recovery(431, 0.98)) == pytest.approx(0.98 * 431)
