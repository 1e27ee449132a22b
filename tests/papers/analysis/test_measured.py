# SPDX-License-Identifier: Apache-2.0
"""Measurements for claims, on made-up tables whose answers are known by hand."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any, cast

import pandas as pd
import pytest

from rdcnlab.runs.frame import Runs
from rdcnlab.scenario import Scenario
from rdcnlab_papers.analysis import calibration, folded, goodput
from rdcnlab_papers.analysis.folded import Case
from rdcnlab_papers.analysis.measured import (
    Measured,
    ahead,
    distance_above,
    highest,
    lowest,
    margins,
    percent_above,
    trend,
)

#: Three cases with an interval of one on both sides.
STATS = pd.DataFrame({"mean": [10.0, 8.0, 5.0], "n": 3}, index=["a", "b", "c"])
STATS = STATS.assign(low=STATS["mean"] - 1, high=STATS["mean"] + 1)


def number(measured: Measured) -> tuple[float, float, float]:
    """Return the only number of a measurement, with its interval."""
    (found,) = measured.cases.values()
    return (float(found), found.low, found.high)  # type: ignore[attr-defined]


def test_a_case_is_over_another_by_the_ratio_of_the_means() -> None:
    # 9 to 11 over 4 to 6
    assert number(percent_above(STATS, "a", "c")) == pytest.approx((100, 100 * (9 / 6 - 1), 100 * (11 / 4 - 1)))
    assert percent_above(STATS, "a", "d") == Measured()


def test_one_is_above_others_if_its_interval_is_above_theirs() -> None:
    assert number(ahead(STATS, "a", "c")) == (5, 3, 7)
    # the intervals of a and b touch at 9
    assert number(ahead(STATS, "a", "b")) == (2, 0, 4)
    assert number(lowest(STATS, "c")) == (3, 1, 5)
    assert number(lowest(STATS, "a")) == (-5, -7, -3)
    assert number(highest(STATS, ["a", "b"], "")) == (3, 1, 5)
    assert highest(STATS, ["a", "d"], "").cases == {}
    assert distance_above(STATS[:0], STATS) == ahead(STATS, "a", "d") == Measured()


def test_margins_are_those_of_cases_that_both_tables_have() -> None:
    less = STATS.loc[["b", "c"]] - [1, 0, 1, 1]
    assert margins(STATS, less, template="case {}") == {"case b": 1, "case c": 1}
    by_two = STATS.set_axis(pd.MultiIndex.from_tuples([(1.0, 50), (1.0, 25), (2.0, 50)]))
    assert margins(by_two, by_two[:1], template="{:g} ms, {} ms") == {"1 ms, 50 ms": 0}


def test_a_trend_is_that_of_the_means_over_seeds() -> None:
    frame = pd.DataFrame({"seed": [0, 1] * 3, "at": [1, 1, 2, 2, 3, 3], "x": [9, 9, 5, 6, 1, 2]})
    found = trend(frame, "at", "x")
    # two seeds that differ by 1 do not exclude that neighbours change places
    assert (found, found.low) == (-1, -1)
    assert -1 < found.high < 0
    found = trend(frame.assign(x=[9, 9, 5, 5, 1, 1]), "at", "x")
    assert (found, found.low, found.high) == (-1, -1, -1)
    assert math.isnan(trend(frame[:4], "at", "x"))  # two points have no trend


class Counted(list[Any]):
    """Runs with given tables."""

    flows: pd.DataFrame
    events: pd.DataFrame
    scenarios: pd.DataFrame


def small_flows(gbps: dict[tuple[int, int, str], list[float]]) -> Runs:
    """Return runs with flows of a second at given rates, by seed, period in ms, and group."""
    keys = list(dict.fromkeys((seed, period) for seed, period, _ in gbps))
    runs = Counted(SimpleNamespace(scenario=SimpleNamespace(seed=seed)) for seed, _ in keys)
    rows = [
        {"run": keys.index((seed, period)), "period_ms": float(period), "flow": f"{group}-{index}", "fct_s": 1.0,
         "size_B": rate * 1e9 / 8}
        for (seed, period, group), rates in gbps.items()
        for index, rate in enumerate(rates)
    ]  # fmt: skip
    runs.flows = pd.DataFrame(rows)
    runs.scenarios = pd.DataFrame({"run": range(len(keys)), "seed": [seed for seed, _ in keys]})
    return cast(Runs, runs)


def test_changes_between_periods_are_those_of_runs_of_equal_seeds() -> None:
    """A seed with large flows has three times the rate of the other, and both lose a tenth: the change is certain."""
    runs = small_flows({(0, 50, "main"): [1], (0, 10, "main"): [0.9], (1, 50, "main"): [3], (1, 10, "main"): [2.7]})
    (change,) = goodput.changes(runs, "main").itertuples()
    assert change.Index == "50 to 10 ms"
    assert (change.mean, change.low, change.high) == pytest.approx((-10, -10, -10))


def test_one_average_must_fit_all_means_or_each_mean_takes_its_own() -> None:
    """Flows of 1 and 3 Gb/s that take 3 s and 1 s: the mean of rates is 2, volume over summed time 1.5."""
    runs = small_flows({(0, 50, "main"): [3, 3], (0, 50, "migrated"): [2, 2]})
    first = runs.flows.index[0]
    runs.flows.loc[first, ["fct_s"]] = 3.0
    fitted = goodput.one_fits(runs, {("main", 50): 2.0, ("migrated", 50): 2.0})
    assert fitted.cases == {
        "by one average (mean of rates)": pytest.approx(0),
        "each by some average": pytest.approx(0),
    }
    mixed = goodput.one_fits(runs, {("main", 50): 1.5, ("migrated", 50): 2.0})
    assert next(iter(mixed.cases)) == "by one average (volume over summed time)"
    assert list(mixed.cases.values()) == pytest.approx([0, 0])
    wrong = goodput.one_fits(runs, {("main", 50): 1.0, ("migrated", 50): 2.0})
    assert list(wrong.cases.values()) == pytest.approx([50, 50])


def test_quiet_days_are_those_without_any_event() -> None:
    counted = pd.DataFrame({"run": [0, 0, 0, 0, 1, 1], "count": [0, 0, 0, 5, 0, 1]})
    (share,) = folded.quiet_shares({"tdtcp": counted}).values()
    # 75 and 50 % of the days of a run
    assert share == pytest.approx(62.5)
    assert (share.low, share.high) == (0, 100)  # two runs say little


def test_retransmissions_are_counted_for_each_drop_of_any_kind(two_flows: Scenario) -> None:
    runs = Counted()
    runs.events = pd.DataFrame({"event": ["drop_tail", "drop_dark", "retransmit", "retransmit", "retransmit", "slot"]})
    none = Counted()
    none.events = runs.events[2:]
    cases = [Case("cubic", cast(Runs, runs), two_flows), Case("tdtcp", cast(Runs, none), two_flows)]
    found = folded.retransmissions_for_each_loss(cases)
    assert found["cubic"] == 1.5
    assert math.isnan(found["tdtcp"])


def test_the_values_that_satisfy_statements_are_counted_and_named() -> None:
    states = pd.DataFrame(
        {"peaks": ["fails", "holds", "holds", "open"], "loss": ["holds", "holds", "holds", "holds"]},
        index=[1.0, 2.0, 3.0, 4.0],
    )
    found = calibration.count_satisfied(states, "MB", "why")
    assert found.cases == {"": 2}
    assert found.note == "2 to 3 MB for sure; open at 4 MB; peaks fails at 1 MB; why"
    assert calibration.count_satisfied(states[:1], "MB").note == "no value for sure; peaks fails at 1 MB"
