# SPDX-License-Identifier: Apache-2.0
"""Rates, shares and fairness of a main and a migrated flow, on made-up tables whose answers are known by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pandas as pd
import pytest

from rdcnlab.analysis import tables
from rdcnlab.analysis.intervals import Estimate
from rdcnlab.runs.frame import Runs
from rdcnlab.scenario import Scenario
from rdcnlab_papers.analysis import competition, marks, meetings, rivals, windows

MS = 1_000_000


def seen(slots: list[list[tuple[float, float]]], runs: int = 1) -> pd.DataFrame:
    """Return a table as `competition.phases` has it: shared slots of 5 ms, with the two flows' rates in every ms.

    The last ms of five is the last fifth.
    """
    rows = [
        {"run": run, "flow": flow, "t_s": (begin + ms) / 1000, "gbps": rate, "phase": "shared", "since_ms": ms,
         "late": ms == 4, "main_runs": True, "migrated_runs": True, "both_run": True}
        for run in range(runs)
        for begin, slot in zip(range(100, 100 + 10 * len(slots), 10), slots, strict=True)
        for ms, rates in enumerate(slot)
        for flow, rate in zip(rivals.FLOWS, rates, strict=True)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def test_fairness_is_that_of_each_slot_and_not_of_the_means() -> None:
    """Each flow takes every other slot: the mean rates are equal (Jain 1), but no slot is fair (Jain 0.5)."""
    slots = [[(10.0, 0.0)] * 5, [(0.0, 10.0)] * 5]
    assert competition.shared_rates(seen(slots))["mean"].tolist() == [5, 5]
    found = competition.fairness(seen(slots, runs=2))
    assert (found, found.low, found.high) == (0.5, 0.5, 0.5)
    # 8 and 2 of 10: 100 / (2 * 68)
    assert competition.fairness(seen([[(8.0, 2.0)] * 5, [(5.0, 5.0)] * 5])) == pytest.approx((100 / 136 + 1) / 2)


def test_a_slot_that_a_flow_does_not_finish_has_no_fairness() -> None:
    assert competition.fairness(seen([[(5.0, 5.0)] * 5, [(10.0, 0.0)] * 3])) == 1


def test_a_share_is_that_of_whole_slots_or_of_their_last_fifth() -> None:
    """The migrated flow gets all of the link in the last of five ms and half before."""
    slots = [[*[(5.0, 5.0)] * 4, (0.0, 10.0)]]
    assert competition.shares(seen(slots), "migrated") == pytest.approx(60)
    assert competition.shares(seen(slots), "migrated", late=True) == pytest.approx(100)
    two = pd.concat([seen(slots), seen([[(5.0, 5.0)] * 5]).assign(run=1)])
    found = competition.shares(two, "migrated")
    # 60 and 50 %: t(0.975, 1) = 12.706, s = 7.071
    assert (found, found.high) == (pytest.approx(55), pytest.approx(55 + 12.706 * 5, abs=0.01))


def test_rates_on_a_link_are_means_of_runs() -> None:
    two = pd.concat([seen([[(4.0, 6.0)] * 5]), seen([[(6.0, 4.0)] * 5]).assign(run=1)])
    stats = competition.shared_rates(two)
    assert stats["mean"].to_dict() == {"main": 5, "migrated": 5}
    assert (stats["n"] == 2).all()
    assert competition.peaks(two.assign(phase="apart"))["mean"].to_dict() == {"main": 5, "migrated": 5}
    after = two.assign(migrated_runs=False, both_run=False)
    assert competition.alone(after, "main") == 5


def windows_of(curves: dict[int, list[float]]) -> pd.DataFrame:
    """Return windows of a migrated flow every 100 ms, by seed, at a period of 50 ms."""
    parts = [
        pd.DataFrame(
            {"run": seed, "seed": seed, "period_ms": 50.0, "flow": "migrated", "cwnd_B": of,
             "t_s": [0.1 * step for step in range(len(of))]}
        )
        for seed, of in curves.items()
    ]  # fmt: skip
    return pd.concat(parts)


def test_growth_is_that_of_the_mean_curve_without_its_first_cycle() -> None:
    """Two runs peak at different times, so that the mean curve is at most 60 before the end at 0.35 s, and 90 after."""
    curves = windows_of({0: [500, 100, 20, 60, 80, 90], 1: [500, 20, 100, 20, 80, 90]})
    ended = pd.DataFrame({"period_ms": 50.0, "seed": [0, 1], "main": [0.3, 0.4]})
    (found,) = windows.mean_growth(curves, ended).values()
    # not that of each run, which is 100 before the end
    assert found == pytest.approx(90 / 60)


def test_growth_of_single_runs_is_the_share_of_those_whose_largest_window_comes_after_the_main_flows_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    curves = windows_of({0: [500, 20, 60, 80, 501], 1: [500, 20, 60, 80, 499]})
    index = pd.MultiIndex.from_product([[0, 1], [50.0]], names=["run", "period_ms"])
    monkeypatch.setattr(windows, "ends", lambda _: pd.DataFrame({"main": 0.25}, index=index))
    assert windows.growth(curves, ()).to_dict() == {50: 50}


def test_a_migrated_flow_that_ends_first_has_not_grown() -> None:
    ended = pd.DataFrame({"period_ms": 50.0, "seed": [0], "main": [1.0]})
    assert windows.mean_growth(windows_of({0: [500, 20, 60]}), ended) == {50: 0}


def test_only_instants_at_which_half_of_the_flows_run_count() -> None:
    """One of three flows goes on after 0.3 s, with a larger window."""
    curves = windows_of({0: [9, 9, 20, 30], 1: [9, 9, 20, 30], 2: [9, 9, 20, 30, 900]})
    ended = pd.DataFrame({"period_ms": 50.0, "seed": [0, 1, 2], "main": 0.25})
    assert windows.mean_growth(curves, ended)[50] == pytest.approx(30 / 20)


def test_marks_and_retransmissions_are_correlated_over_all_points() -> None:
    """At each period they rise together, but the period with more marks has fewer retransmissions."""
    rows = pd.DataFrame(
        {"period_ms": [50, 50, 50, 1, 1, 1], "threshold_kB": [5, 10, 15] * 2,
         "marked": [1, 2, 3, 10, 11, 12], "retransmits": [90, 91, 92, 1, 2, 3]}
    )  # fmt: skip
    assert marks.against_by_period(rows).tolist() == pytest.approx([1, 1])
    # ranks 1 to 6 against 4, 5, 6, 1, 2, 3: 1 - 6 * 54 / 210
    of_points = rows.groupby(marks.POINT)[marks.NUMBERS].mean()
    mean = {name: of_points[[name]].T for name in marks.NUMBERS}
    assert marks.against_retransmissions(mean)[""] == pytest.approx(1 - 324 / 210)
    assert {period: list(more) for period, more in marks.more_at_5(mean).items()} == {1: [-1], 50: [-1]}


class Counted(list[Any]):
    """Runs of one scenario with given tables."""

    flows: pd.DataFrame
    queues: pd.DataFrame
    throughput: pd.DataFrame


def pair(scenario: Scenario, drops_ms: list[int], until_s: float) -> Runs:
    runs = Counted([SimpleNamespace(scenario=scenario)])
    runs.flows = pd.DataFrame(
        {"run": 0, "period_ms": 50.0, "flow": ["main", "migrated"], "end_s": [until_s, until_s + 1]}
    )
    runs.queues = pd.DataFrame({"run": 0, "bin": drops_ms, "link": "green", "drops": 3})
    return cast(Runs, runs)


def test_while_flows_share_a_link_only_this_link_counts(two_flows: Scenario) -> None:
    """The migrated flow moves onto green at 50 ms. What blue still sends then does not count."""
    runs = Counted([SimpleNamespace(scenario=two_flows)])
    rows = [(49, "blue", 100), (51, "blue", 70), (51, "green", 30), (101, "green", 40), (101, "blue", 60)]
    runs.throughput = pd.DataFrame(
        [{"run": 0, "bin": at, "where": where, "flow": "migrated", "bytes": count} for at, where, count in rows]
    )
    left = competition._competing(cast(Runs, runs), MS)
    assert left.groupby("bin")["bytes"].sum().to_dict() == {49: 100, 51: 30, 101: 100}


def test_meetings_are_whole_slots_on_one_link(two_flows: Scenario) -> None:
    """The flow moves onto the other one's link at 50 ms, away at 100 ms, and so on; the main flow ends at 240 ms."""
    met = meetings.meetings(pair(two_flows, [], 0.24))
    assert (met["begin_ns"] // MS).tolist() == [50, 150]
    assert (met["end_ns"] // MS).tolist() == [100, 200]
    assert set(met["link"]) == {"green"}


def test_a_meeting_with_a_drop_is_one_in_which_the_shared_link_drops(two_flows: Scenario) -> None:
    """Of three meetings (50, 150 and 250 ms) one has two bins with drops, one has its drop after it, one none."""
    runs = pair(two_flows, [60, 61, 205], 0.31)
    assert meetings.with_drops(runs)["percent"].tolist() == pytest.approx([100 / 3])
    elsewhere = pair(two_flows, [60], 0.31)
    elsewhere.queues["link"] = "blue"
    assert meetings.with_drops(elsewhere)["percent"].tolist() == [0]


def test_a_meeting_with_a_fall_is_one_in_which_or_just_after_which_a_window_falls(two_flows: Scenario) -> None:
    """Of three meetings (50, 150 and 250 ms) one has a fall 4 ms after it, one a fall 6 ms after it, one none."""
    falls = pd.DataFrame({"run": 0, "flow": "main", "t_ns": [104 * MS, 206 * MS]})
    assert meetings.with_falls(pair(two_flows, [], 0.31), falls)["percent"].tolist() == pytest.approx([100 / 3])


def test_shares_of_falls_are_those_of_each_run() -> None:
    falls = pd.DataFrame({"run": [0, 0, 0, 0, 1], "following": [True, True, True, False, True]})
    assert windows.following_share(falls)["percent"].tolist() == [75, 100]


def test_seeds_are_those_of_the_rows_runs() -> None:
    rows = tables.with_seeds(pd.DataFrame({"run": [1, 0]}), pd.DataFrame({"run": [0, 1], "seed": [7, 8]}))
    assert rows["seed"].tolist() == [8, 7]


def test_estimates_are_kept() -> None:
    assert isinstance(competition.fairness(seen([[(5.0, 5.0)] * 5], runs=3)), Estimate)


def test_the_migrated_flow_ends_first_in_a_share_of_the_runs_of_each_pair(two_flows: Scenario) -> None:
    runs = Counted([SimpleNamespace(scenario=two_flows)] * 4)
    runs.flows = pd.DataFrame(
        {"run": [0, 0, 1, 1, 2, 2, 3, 3], "flow": ["main", "migrated"] * 4,
         "fct_s": [2, 1, 1, 2, 1, 3, 1, 1], "end_s": [2, 1, 1, 2, 1, 3, 1, 1]}
    )  # fmt: skip
    assert rivals.ends_first(cast(Runs, runs)).cases == {"cubic, cubic": 25}
