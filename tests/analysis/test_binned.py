# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pandas as pd
import pytest

from rdcnlab.analysis import binned

MS = 1_000_000


def test_rates_are_dense_and_count_every_byte() -> None:
    counted = pd.DataFrame(
        {
            "run": 0,
            "bin": [0, 3, 3, 5, 5],
            "where": ["green", "green", "blue", "receiver", "green"],
            "flow": ["a", "a", "a", "a", "b"],
            "bytes": [1000, 500, 500, 700, 250],
        }
    )
    rates = binned.rates(counted, MS, 2 * MS)
    assert list(rates[rates["flow"] == "a"]["rate_bps"]) == [4e6, 4e6, 0]
    assert list(rates[rates["flow"] == "b"]["rate_bps"]) == [0, 0, 1e6]
    both = binned.rates(pd.concat([counted, counted[:1].assign(run=1)]), MS, 2 * MS)
    assert list(both[both["run"] == 1]["rate_bps"]) == [4e6, 0, 0]
    assert list(rates[rates["flow"] == "b"]["t_s"]) == [0, 0.002, 0.004]
    received = binned.rates(counted, MS, MS, receiver=True)
    assert received["rate_bps"].sum() * 1e-3 / 8 == pytest.approx(700)
    assert binned.rates(counted.iloc[:0], MS, MS).empty
    with pytest.raises(ValueError, match="cannot be made"):
        binned.rates(counted, 2 * MS, 3 * MS)
