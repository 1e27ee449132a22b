# SPDX-License-Identifier: Apache-2.0
"""The items' own logic, with the fluid model of `tests/fake_engine.py`. Tests in guests check the behaviour of TCP."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from rdcnlab.analysis.timetables import together
from rdcnlab.runs.store import Store
from rdcnlab_papers import dogar
from rdcnlab_papers.analysis import bounds
from rdcnlab_papers.dogar import calibration, space
from rdcnlab_papers.dogar.space import GROUPS, LARGE, SMALL, Inputs, Setting
from rdcnlab_papers.items.item import Item
from tests.papers.items.shared import judged, refused

#: Values of parameters that are quick; the fluid model is fast with few bins.
SMALL_ITEMS: dict[str, dict[str, object]] = {
    "eq5": {"windows": [1.0, 2.0, 3.0]},
    "failures": {"variants": ["cubic", "dctcp"]},
    "inputs": {},
}


@pytest.mark.usefixtures("fake_engine")
@pytest.mark.parametrize(
    ("kind", "column"), [(kind, column.id) for kind in dogar.items() for column in kind.columns()], ids=str
)
def test_items_run_draw_and_judge_every_claim(kind: type[Item], column: str, store: Store) -> None:
    runs = judged(kind(**SMALL_ITEMS.get(kind.id, {}), seeds=1, column=column), store)
    like = "4.9" if column in ("4.9", "calibrated", "cards") else None
    assert {run.scenario.transport.like for run in runs} == {like}
    assert {run.scenario.engine.kind for run in runs} == {"ns3" if column == "ns3" else "kernel"}


def test_the_paper_profile_has_the_papers_values() -> None:
    asked = dogar.fig3(profile="paper").points()
    assert len(asked) == 3 * 5
    for each in asked:
        assert {flow.cc for flow in each.flows} in ({"cubic"}, {"bbr"}, {"dctcp"})
        assert len(each.flows) == 4
        assert each.network.mtu == 1500
        assert {(link.rate, link.buffer_bytes(1500)) for link in each.network.links} == {(10**10, 1_000_000)}
    assert {link.buffer_bytes(1500) for point in dogar.fig6().points() for link in point.network.links} == {200_000}
    consistent, inconsistent = dogar.fig7(profile="paper").points()[0], dogar.fig12(profile="paper").points()[0]
    assert inconsistent.flows[-1].slots[0].duration - consistent.flows[-1].slots[0].duration == 100_000_000


def test_the_calibrated_column_has_its_own_inputs_and_parameters_replace_them() -> None:
    item = dogar.fig9(profile="paper", column="calibrated")
    asked = item.scenarios()
    assert len(asked) == 2 * 3 * 3
    for each in asked:
        assert len(each.flows) == 2
        assert {host.rate for host in each.network.hosts} == {9_500_000_000}
        assert each.network.link("l_n").ecn_threshold == each.network.link("l_n").buffer_bytes(1500) // 10
        assert [any(slot.link == "dark" for slot in flow.slots) for flow in each.flows] == [False, True]
        assert each.limit == 6 * 10**9
    usual = dogar.fig9(column="6.12")
    assert usual.inputs == Inputs()
    assert dogar.fig9(column="calibrated", per_group=3, dark_ms=0).inputs == item.inputs._replace(
        per_group=3, dark_ms=0
    )
    assert usual.with_parameters(column="calibrated").inputs == item.inputs
    assert item.without_gap().times * item.without_gap().inputs.change_ms == pytest.approx(item.inputs.change_ms)


def test_the_calibrated_column_has_inconsistent_updates_too() -> None:
    late, consistent = (dogar.fig10(profile="paper", column="calibrated").points()[number] for number in (0, 9))
    ends = [each.flows[-1].slots[0].duration for each in (late, consistent)]
    assert ends[0] - ends[1] == 100_000_000
    assert [slot.duration for slot in late.flows[-1].slots if slot.link == "dark"] == [300_000_000] * 5


def test_numbers_are_counted_where_inputs_were_fixed_but_for_those_that_calibrate() -> None:
    claims = {claim.id: claim for claim in dogar.fig7().claims.claims}
    assert list(claims["numbers"].reasons("6.12")) == ["decided by our inputs"]
    assert claims["numbers"].reasons("calibrated") == {}
    assert list(claims["bbr-largest"].reasons("calibrated")) == ["used to calibrate"]


@pytest.mark.parametrize(
    ("costs", "gap"),
    [
        ({100: 11.0, 200: 29.5, 300: 30.2, 400: 30.2}, 200),
        ({100: 11.0, 300: 32.7, 400: 32.7}, 300),
        ({100: 27.5, 300: 32.7, 400: 31.6}, 100),
    ],
)
def test_of_gaps_that_cost_the_same_the_shortest_is_taken(costs: dict[int, float], gap: int) -> None:
    assert calibration.shortest_of_nearest(costs) == gap


@pytest.mark.parametrize(("start", "end"), [(0.3, 0.45), (0.45, 0.45), (0.7, 0.45)])
def test_step_3_goes_to_the_nearest_number(start: float, end: float) -> None:
    assert calibration.walk(start, lambda meeting: calibration.LOST * meeting / 0.46) == end


def test_figures_share_runs() -> None:
    hashes = {
        kind.id: {scenario.hash for scenario in kind(profile="paper").scenarios()}
        for kind in dogar.items()
        if kind.id != "eq5"
    }
    assert hashes["fig3"] == hashes["fig5"] == hashes["fig7"]
    assert hashes["fig4"] == hashes["fig8"] == hashes["fig9"] == hashes["fig3"] | hashes["fig6"]
    assert hashes["fig10"] == hashes["fig13"] == hashes["fig11"] | hashes["fig3"]
    assert len(hashes["fig2"] & hashes["fig3"]) == 9  # an update every second, three of five seeds


@pytest.mark.parametrize("longest_ms", [0, 1, 400, 1000])
def test_the_route_of_fm_changes_after_that_of_fn_and_before_the_next_update(longest_ms: int) -> None:
    first, second = space.instants(7, 50, 10**9, longest_ms * 10**6, 10**9)
    assert first == [(number + 1) * 10**9 for number in range(50)]
    takes = np.array(second) - np.array(first)
    assert takes.min() >= 0
    assert takes.max() < max(longest_ms * 10**6, 1)
    if longest_ms:
        assert 0.35 < takes.mean() / (longest_ms * 10**6) < 0.65
    assert all(later < earlier for later, earlier in zip(second, first[1:], strict=False))
    assert all(before < after for before, after in pairwise(second))


def test_groups_share_a_link_only_during_updates() -> None:
    at = np.arange(0, 6 * 10**9, 10**6)
    once = space.updates("cubic", seed=1, count=5, inputs=Inputs(change_ms=0))
    assert not together(once, "fn-1", "fm-2", at).any()
    taking = space.updates("cubic", seed=1, count=5)
    begins, ends = space.instants(1, 5, 10**9, 10**9, 10**9)
    shared = together(taking, "fn-1", "fm-2", at)
    expected = [any(b <= t < e for b, e in zip(begins, ends, strict=True)) for t in at]
    assert (shared == expected).all()
    still = space.updates("cubic", seed=1, interval_s=None, count=2)
    assert {flow.path for flow in still.flows} == {first for first, _ in GROUPS.values()}


def test_inconsistent_updates_have_a_late_part() -> None:
    consistent, switches, groups = (
        space.updates("bbr", seed=3, count=3, setting=Setting(LARGE, apart)) for apart in ("no", "switches", "groups")
    )
    assert switches.network.node("right").late == 100_000_000
    assert switches.flows == consistent.flows
    assert groups.network == consistent.network
    later = [of.flows[-1].slots[0].duration for of in (consistent, groups)]
    assert later[1] - later[0] == 100_000_000


def test_the_scale_shortens_all_times_and_nothing_else() -> None:
    whole, fifth = (space.updates("cubic", seed=2, count=4, scale=scale) for scale in (1.0, 0.2))
    assert whole.limit == 5 * fifth.limit == 5 * 10**9
    assert whole.network == fifth.network
    assert len(whole.flows[0].slots) == len(fifth.flows[0].slots)


def test_red_and_marks_follow_the_buffer_and_the_rtt_is_that_of_the_cables() -> None:
    scenario = space.updates("dctcp", seed=0, count=1, setting=Setting(SMALL), inputs=Inputs(rtt_us=500))
    link = scenario.network.link("l_n")
    assert link.red is not None
    assert (link.red.min, link.red.max, link.ecn_threshold) == (60_000, 180_000, 60_000)
    hosts = [scenario.network.host(name).delay for name in ("s1", "r1")]
    assert 2 * (sum(hosts) + link.delay) == 500_000


def test_a_failed_link_carries_nothing_and_is_noticed_after_a_while() -> None:
    at = np.arange(0, 4 * 10**9, 10**7)
    failed = space.failure("cubic", "l_m", seed=0, count=2, notice_ms=50)
    (group,) = {flow.name.split("-")[0] for flow in failed.flows if flow.slots}
    assert group == "fm"
    assert [slot.link for slot in failed.flows[-1].slots] == ["l_m", "dark", "l_n"]
    assert [slot.duration for slot in failed.flows[-1].slots] == [10**9, 5 * 10**7, 95 * 10**7]
    assert together(failed, "fn-1", "fm-1", at).mean() == pytest.approx(0.475, abs=0.01)


def test_windows_of_equation_5_are_limited_by_the_receiver() -> None:
    scenario = space.meetings(250, 1.0, Inputs(per_group=1))
    assert scenario.transport.half_rcvbuf == 1
    payload = bounds.capacity(10e9, 250e-6) * 1448 / 1538
    assert scenario.transport.rmem[2] == pytest.approx(2 * payload, abs=2)
    at = np.arange(0, scenario.limit, 10**6)
    assert together(scenario, "fn-1", "fm-1", at).sum() == 40


@pytest.mark.parametrize(
    ("kind", "parameters", "field", "allowed"),
    [
        (dogar.fig2, {"intervals_s": []}, "intervals_s", "at least 1"),
        (dogar.fig3, {"variants": ["reno"]}, "variants[0]", "cubic"),
        (dogar.fig3, {"change_ms": -1}, "change_ms", "0"),
        (dogar.fig9, {"column": "4.15"}, "column", "4.9"),
        (dogar.eq5, {"windows": [0]}, "windows[0]", "0.1"),
    ],
)
def test_wrong_parameters_are_refused(
    kind: type[Item], parameters: dict[str, object], field: str, allowed: str
) -> None:
    refused(kind, parameters, field, allowed)


def test_a_gap_without_a_rule_comes_before_each_new_route() -> None:
    gaps = space.updates("bbr", seed=1, count=3, inputs=Inputs(change_ms=0, dark_ms=20))
    whole = space.updates("bbr", seed=1, count=3, inputs=Inputs(change_ms=0))
    first, links = gaps.flows[0], [slot.link for slot in gaps.flows[0].slots]
    assert links == ["l_n", "dark", "l_m", "dark", "l_n", "dark", "l_m"]
    assert [slot.duration for slot in first.slots[1:5]] == [2 * 10**7, 98 * 10**7, 2 * 10**7, 98 * 10**7]
    assert sum(slot.duration for slot in first.slots) == sum(slot.duration for slot in whole.flows[0].slots)


@pytest.mark.usefixtures("fake_engine")
@pytest.mark.parametrize(
    ("most", "verdict"),
    [
        ({"bbr": 100, "dctcp": 200, "cubic": 300}, "reproduced"),
        ({"bbr": 200, "dctcp": 100, "cubic": 300}, "differs"),
        ({"bbr": 100, "dctcp": 300, "cubic": 200}, "differs"),
    ],
)
def test_an_order_is_judged_on_every_pair(
    most: dict[str, int], verdict: str, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [
        {"run": 0, "cc": cc, "seed": seed, "value": value + step}
        for cc, value in most.items()
        for seed in range(4)
        for step in range(5)
    ]
    monkeypatch.setattr(dogar.fig3, "samples", lambda self, runs: pd.DataFrame(rows))
    item = dogar.fig3(seeds=1)
    scores = {row.claim: row.verdict for row in item.rows(item.run(store=store, progress=False))}
    assert scores == {"order": verdict, "numbers": "differs"}


@pytest.mark.usefixtures("fake_engine")
def test_losses_are_compared_with_the_text_and_the_large_buffer(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def lost(self: object, runs: object, setting: Setting | None = None) -> pd.DataFrame:
        small = setting is None or setting.buffer_kB == SMALL
        number = {"bbr": 18336, "cubic": 7865, "dctcp": 3693} if small else {"bbr": 9, "cubic": 1, "dctcp": 0}
        return pd.DataFrame(
            [{"cc": cc, "seed": seed, "value": float(of)} for cc, of in number.items() for seed in (0, 1)]
        )

    monkeypatch.setattr(dogar.fig9, "lost", lost)
    item = dogar.fig9(seeds=1)
    scores = {row.claim: row.verdict for row in item.rows(item.run(store=store, progress=False))}
    assert scores == {
        "order": "reproduced", "none-in-large": "differs", "numbers": "reproduced", "bbr-number": "reproduced",
    }  # fmt: skip
