# SPDX-License-Identifier: Apache-2.0
"""Slowdown by size: the table has the quantiles of its groups, and flows that did not end are counted."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from rdcnlab.analysis.results.slowdown import Slowdown, _labels


def made(seeds: int) -> Slowdown:
    rng = np.random.default_rng(1)
    rows = [
        {"run": seed, "seed": seed, "by": "cubic", "flow": f"f{number}", "workload": "w", "size_B": size,
         "fct_s": 1.0, "ideal_s": 1.0, "group": label, "slowdown": 1 + rng.exponential(scale)}
        for seed in range(seeds)
        for size, label, scale in ((1000, "to 10 kB", 0.1), (10**6, "over 10 kB", 2.0))
        for number in range(100)
    ]  # fmt: skip
    values = pd.DataFrame(rows)
    values.loc[0, "slowdown"] = np.nan
    group = pd.Categorical(values["group"], _labels([10_000]), ordered=True)
    return Slowdown(values.assign(group=group), "cc", (10_000,))


def test_quantiles_are_those_of_each_group() -> None:
    slowdown = made(8)
    table = slowdown.table.set_index("size")
    assert list(table.index) == ["to 10 kB", "over 10 kB", "all"]
    for group in ("to 10 kB", "over 10 kB"):
        rows = slowdown.values  # noqa: PD011  (the field of this name)
        values = rows[rows["group"] == group]["slowdown"].dropna()
        # the logarithm of a quantile is the quantile of logarithms, but for the straight line between two values
        assert table.loc[group, "median"] == pytest.approx(np.median(values), rel=1e-3)
        assert table.loc[group, "p99"] == pytest.approx(np.quantile(values, 0.99), rel=1e-2)
        assert 0 < table.loc[group, "p99_low"] < table.loc[group, "p99"] < table.loc[group, "p99_high"]
    assert table.loc["to 10 kB", ["flows", "unfinished"]].tolist() == [800, 1]


def test_one_seed_has_no_interval() -> None:
    assert made(1).table[["median_low", "p99_high"]].isna().to_numpy().all()
