# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from rdcnlab.analysis import tables
from rdcnlab.runs.frame import Runs
from rdcnlab.scenario import Scenario


def test_interval_of_students_t() -> None:
    frame = pd.DataFrame({"g": ["a"] * 3 + ["b"], "x": [1.0, 2.0, 3.0, 7.0]})
    a, b = tables.mean_ci(frame, ["g"], "x").to_dict("records")
    # t(0.975, 2) = 4.302653, s = 1, n = 3
    assert a["low"] == pytest.approx(2 - 4.302653 / 3**0.5, abs=1e-6)
    assert a["high"] == pytest.approx(2 + 4.302653 / 3**0.5, abs=1e-6)
    assert (b["low"], b["mean"], b["high"], b["n"]) == (7, 7, 7, 1)


@pytest.mark.parametrize("by", [["g"], ["g", "h"]])
def test_means_by_group_are_those_of_the_table(by: list[str]) -> None:
    frame = pd.DataFrame({"g": pd.Categorical(["b", "a", "b"]), "h": [1, 2, 1], "x": [1.0, 2.0, float("nan")]})
    pd.testing.assert_frame_equal(tables.means_by(frame, by, "x"), tables.mean_ci(frame, by, "x").set_index(by))


@given(st.lists(st.floats(0, 1e10), min_size=1, max_size=20))
def test_jain_is_between_one_nth_and_one(rates: list[float]) -> None:
    assert 1 / len(rates) - 1e-9 <= tables.jain(rates) <= 1 + 1e-9


def test_jain() -> None:
    assert tables.jain([5, 5]) == 1
    assert tables.jain([10, 0]) == 0.5
    assert tables.jain([0, 0]) == 1


def test_cdf() -> None:
    frame = tables.cdf([3, 1, 2, 2])
    assert list(frame["value"]) == [1, 2, 2, 3]
    assert list(frame["share"]) == [0.25, 0.5, 0.75, 1]


def test_completion() -> None:
    flows = pd.DataFrame(
        {
            "run": 0,
            "period_ms": 50.0,
            "flow": ["main-1", "main-2", "migrated-1", "migrated-2"],
            "fct_s": [1.0, 2, 3, 4],
            "end_s": [1.0, 2, 3, 4],
        }
    )
    (row,) = tables.completion(flows).to_dict("records")
    assert (row["main_s"], row["migrated_s"], row["prolongation_s"], row["both_s"]) == (1.5, 3.5, 2, 2)


def test_spearman() -> None:
    assert tables.spearman([1, 2, 3], [9, 4, 1]) == pytest.approx(-1)
    assert np.isnan(tables.spearman([1, 2], [1, 2]))
    assert np.isnan(tables.spearman([1, 2, 3], [5, 5, 5]))


def test_spearman_of_many_rows_is_that_of_each() -> None:
    """Ties have their mean rank; a point that lacks a coordinate is left out."""
    random = np.random.default_rng(7)
    x, y = random.integers(5, size=(50, 8)).astype(float), random.integers(5, size=(50, 8)).astype(float)
    expected = [stats.spearmanr(*row).statistic for row in zip(x, y, strict=True)]
    assert tables.spearmans(x, y) == pytest.approx(np.array(expected), nan_ok=True)
    x[:, 3] = np.nan
    assert tables.spearmans(x, y) == pytest.approx(
        tables.spearmans(np.delete(x, 3, 1), np.delete(y, 3, 1)), nan_ok=True
    )
    assert tables.spearmans(np.arange(8), y) == pytest.approx(tables.spearmans(np.tile(np.arange(8), (50, 1)), y))


def test_cases_names_by_index() -> None:
    assert tables.cases(pd.Series({50.0: 1.0, 1.0: 2.0}), "{:g} ms") == {"50 ms": 1, "1 ms": 2}
    assert tables.cases(pd.Series({("a", 1): True}), "{} {}") == {"a 1": 1}


@pytest.mark.parametrize("width_ns", [1_000_000, 5_000_000])
def test_curves_do_not_depend_on_the_bins_that_were_counted_in(two_flows: Scenario, width_ns: int) -> None:
    """A flow at 10 Gb/s is drawn at 10 Gb/s."""
    pytest.importorskip("rdcnlab_papers")
    from rdcnlab_papers.analysis import competition

    class Counted(list[Any]):
        throughput = pd.DataFrame(
            {
                "run": 0,
                "bin": range(20_000_000 // width_ns),
                "where": "green",
                "flow": "main",
                "bytes": width_ns * 10 // 8,
            }
        )
        scenarios = pd.DataFrame({"run": [0], "id": ["x"], "shipped": [False], "period_ms": [50.0]})

    runs = Counted([SimpleNamespace(scenario=two_flows.with_(**{"probes.bin": width_ns}))])
    curve = competition.mean_curves(cast(Runs, runs), 5_000_000)
    assert curve["t_s"].tolist() == [0, 0.005, 0.01, 0.015]
    assert curve["mean"].tolist() == [10e9] * 4
