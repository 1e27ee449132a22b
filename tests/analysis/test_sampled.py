# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest

from rdcnlab.analysis import sampled


def test_falls_and_cycles_and_sampling() -> None:
    t, values = np.arange(6.0), np.array([10, 20, 14, 14.0, 13.9, 30])
    assert list(sampled.falls(t, values, 0.1)) == [2]
    assert sampled.falls(t[:1], values[:1], 0.1).size == 0
    teeth = sampled.cycles(t, values, 3)
    assert list(teeth["peak"]) == [20, 30]
    assert list(teeth["valley"]) == [10, 13.9]
    held = sampled.at(np.array([1.0, 2.0]), np.array([5.0, 6.0]), np.array([0.5, 1.0, 1.9, 3.0]))
    assert np.isnan(held[0])
    assert list(held[1:]) == [5, 5, 6]


def test_autocorrelation_finds_a_period_and_refuses_what_is_too_short() -> None:
    saw = np.tile(np.arange(20.0), 5)
    assert sampled.autocorrelation(saw, 20) == pytest.approx(1)
    assert sampled.autocorrelation(saw, 10) < 0
    assert np.isnan(sampled.autocorrelation(saw[:22], 20))
    assert np.isnan(sampled.autocorrelation(np.ones(50), 5))
