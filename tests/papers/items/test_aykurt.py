# SPDX-License-Identifier: Apache-2.0
"""The items' own logic, with the fluid model of `tests/fake_engine.py`. Tests in guests check the behaviour of TCP."""

from __future__ import annotations

import pandas as pd
import pytest

from rdcnlab.fields.errors import InputError
from rdcnlab.runs.store import Store
from rdcnlab.scenario import Scenario
from rdcnlab_papers import aykurt, select
from rdcnlab_papers.analysis.moves import drops_by_moves
from rdcnlab_papers.aykurt.space import Point
from rdcnlab_papers.aykurt.tab1 import AXES, OTHERS, ask, refuses
from rdcnlab_papers.aykurt.tab2 import volumes
from rdcnlab_papers.items.item import Item
from tests.papers.items.shared import judged

SMALL: dict[str, dict[str, object]] = {
    "tab1": {},
    "fig3": {"size": "256 MB"},
    **{name: {"seeds": 2} for name in ("fig4", "fig5", "fig8a", "fig8b", "fig9", "tab2")},
    "fig15": {"cc": ["cubic", "reno"]},
    "general": {"count_of_scenarios": 80},
    "buffer": {"sizes_kB": [1000, 2500], "shared_kB": [2500], "single_kB": [2500], "seeds": 1},
    "nights": {"days_us": [4100, 9100], "seeds": 1},
    "offloads": {"cc": ["reno"], "periods_ms": [10, 100], "seeds": 1},
    "discards": {"buffers_kB": [1000, 2750], "without_kB": [2750], "periods_ms": [50], "seeds": 1},
    "moderation": {"rtts_us": [42, 170], "waits_us": [100, 150], "seeds": 1},
    "tab3": {"beyond": [], "cc": ["cubic", "bbr", "reno"], "periods_ms": [50], "epochs": 1},
    **{name: {"seeds": 1} for name in ("fig6a", "fig6b", "fig7", "fig10", "fig11", "fig13", "fig14")},
}


@pytest.mark.usefixtures("fake_engine")
@pytest.mark.parametrize("kind", aykurt.items(), ids=lambda kind: kind.id)
def test_items_run_draw_and_judge_every_claim(kind: type[Item], store: Store) -> None:
    item = kind(**SMALL[kind.id])
    assert item.stored_runs(store) is None
    runs = judged(item, store)
    rows = item.rows(runs)
    # no run of this engine is cut off, so nothing is known of such runs
    assert "not run" not in {row.verdict for row in rows if row.claim != "cut-off"}, rows
    stored = item.stored_runs(store)
    assert stored is not None
    assert item.rows(stored) == rows
    assert f"{len(runs)} runs" in item.provenance(runs)


@pytest.mark.usefixtures("fake_engine")
def test_fig4_sees_the_fluid_models_saw_tooth(store: Store) -> None:
    """The model shares equally: 10 Gb/s on different links, 5 on one link, equal completion times, no trend."""
    item = aykurt.fig4(seeds=1, others=[], periods_ms=[50, 25, 10])
    verdicts = {row.claim: row.verdict for row in item.rows(item.run(store=store, progress=False))}
    assert verdicts["saw-tooth-peak"] == verdicts["saw-tooth-valley"] == verdicts["fair-at-50"] == "reproduced"
    assert verdicts["equal-at-50"] == "reproduced"
    assert verdicts["apart-below-10"] == "differs"
    assert verdicts["below-at-1"] == "not run"
    assert verdicts["other-variants"] == "not run"


@pytest.mark.parametrize(
    ("parameters", "field", "allowed"),
    [
        ({"sizee": "2 GB"}, "sizee", "periods_ms"),
        ({"periods_ms": [7]}, "periods_ms[0]", "50"),
        ({"periods_ms": []}, "periods_ms", "at least 1"),
        ({"profile": "fast"}, "profile", "quick"),
        ({"seeds": 0}, "seeds", "from 1"),
        ({"cc": "vegas"}, "cc", "westwood"),
        ({"size": "1 GB"}, "size", "2 GB"),
    ],
)
def test_wrong_parameters_are_refused(parameters: dict[str, object], field: str, allowed: str) -> None:
    with pytest.raises(InputError) as caught:
        aykurt.fig4(**parameters)
    assert any(problem.field == field and allowed in problem.allowed for problem in caught.value.problems), caught.value


@pytest.mark.parametrize("axis", AXES)
def test_the_space_has_the_tables_values_and_no_others(axis: str) -> None:
    assert all(ask(axis, value) is not None for value in AXES[axis])
    assert all(refuses(axis, value) for value in OTHERS[axis])
    assert not any(refuses(axis, value) for value in AXES[axis] if axis != "downtime_ms")


def test_points_are_scenarios() -> None:
    scenario = Point(cc="bbr", period_ms=100, downtime_ms=10, flows=8, size="16 MB").scenario()
    assert [flow.name for flow in scenario.flows] == [
        f"{role}-{n}" for n in range(1, 5) for role in ("main", "migrated")
    ]
    assert {flow.size for flow in scenario.flows} == {16 * 2**20}
    migrated = scenario.flows[1]
    assert [(slot.duration, slot.link) for slot in migrated.slots] == [
        (90_000_000, "blue"),
        (10_000_000, "dark"),
        (90_000_000, "green"),
        (10_000_000, "dark"),
    ]
    assert (migrated.src, migrated.dst, scenario.flows[0].src) == ("s2", "r2", "s1")
    assert Point(flows=1).scenario().flows[0].path == "blue"
    with pytest.raises(InputError, match="downtime_ms: 10 is not possible; it must be less than period_ms"):
        Point(period_ms=10, downtime_ms=10)
    mixed = Point(cc="cubic", main_cc="bbr").scenario()
    assert [flow.cc for flow in mixed.flows] == ["bbr", "cubic"]


def test_bursts_come_from_a_third_server_and_meet_the_main_flow() -> None:
    scenario = Point(protocol="UDP", cc="reno", period_ms=50).scenario()
    main, _, bursts = scenario.flows
    assert (bursts.protocol, bursts.cc, bursts.burst, bursts.interval) == ("udp", None, 128, 25_000_000)
    assert (bursts.src, bursts.dst, bursts.path) == ("s3", main.dst, main.path)
    assert bursts.size == 400 * 128 * (9000 - 28)


@pytest.mark.parametrize("group", ["main", "migrated"])
def test_small_flows_are_a_gigabyte_in_all(group: str) -> None:
    drawn = [volumes(seed, group) for seed in range(30)]
    assert {sum(of_seed) for of_seed in drawn} == {1024}
    assert all(1 <= len(of_seed) <= 20 for of_seed in drawn)
    assert {volume for of_seed in drawn for volume in of_seed} == {2**n for n in range(9)}
    assert len({tuple(of_seed) for of_seed in drawn}) == 30
    assert volumes(0, "main") != volumes(0, "migrated")
    scenario = aykurt.tab2(seeds=1).scenarios()[0]
    first, second = (flow for flow in scenario.flows if flow.name in ("main-1", "main-2"))
    assert (first.start, second.start, first.initiator) == (0, 10_000_000, "dst")


@pytest.mark.usefixtures("fake_engine")
@pytest.mark.parametrize("kind", [aykurt.fig6a, aykurt.fig7, aykurt.fig10, aykurt.tab2], ids=lambda kind: kind.id)
def test_causes_are_of_claims_and_can_be_looked_at(kind: type[Item], store: Store) -> None:
    item = kind(seeds=1)
    missing = item.explain(store=store, progress=False)
    assert set(missing.frame["verdict there"]) == {"not run"}
    assert not store.hashes()
    explained = item.explain(run=True, store=store, progress=False)
    assert "not run" not in set(explained.frame["verdict there"])
    assert explained == item.explain(store=store, progress=False)
    assert len(explained) == len(missing) == len(item.causes())
    assert set(explained.frame.index) <= {claim.id for claim in item.claims.claims}
    assert (explained.frame["there"] != "").all()


@pytest.mark.usefixtures("fake_engine")
def test_the_quick_profile_shows_the_stored_experiments_of_the_paper_profile(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(aykurt.fig7, "count_for_causes", 1)
    paper = aykurt.fig7(profile="paper").explain(run=True, store=store, progress=False)
    runs = len(list(store))
    assert aykurt.fig7().explain(store=store, progress=False) == paper
    assert len(list(store)) == runs
    # other parameters make other experiments
    own = aykurt.fig7(size="256 MB")
    assert [cause.shown_by for cause in own.explanation()] == [cause.shown_by for cause in own.causes()]


@pytest.mark.usefixtures("fake_engine")
def test_a_mean_by_time_is_that_of_all_bytes(store: Store) -> None:
    item = aykurt.tab2(seeds=1, periods_ms=[50], average="time")
    runs = item.run(store=store, progress=False)
    main = runs.flows[runs.flows["flow"].str.startswith("main")]
    measured = item.measure(runs)["main-at-50"].cases
    assert list(measured.values()) == pytest.approx([8e-9 * main["size_B"].sum() / main["fct_s"].sum()])


def test_profiles() -> None:
    assert len(aykurt.fig4(profile="paper").scenarios()) == 4 * 5 * 30
    assert len(aykurt.fig4().scenarios()) == 5 * 3 + 3 * 5
    assert len(aykurt.fig3(profile="paper").scenarios()) == 4 * 3 * 30
    for kind in select():
        hashes = [scenario.hash for scenario in kind(profile="paper").scenarios()]
        # the smallest scenario of table I has the first value of six axes; no other item asks for a scenario twice
        assert len(hashes) - len(set(hashes)) == (5 if kind is aykurt.tab1 else 0)


def test_drops_by_moves(two_flows: Scenario) -> None:
    events = pd.DataFrame(
        {
            "t_ns": [1_000, 50_000_000, 50_500_000, 60_000_000, 70_000_000],
            "event": ["drop_tail", "slot", "drop_tail", "drop_tail", "drop_dark"],
        }
    )
    assert drops_by_moves(two_flows, events) == 2
    assert drops_by_moves(two_flows.with_(period=None), events) == 0


def test_select() -> None:
    assert select(["aykurt"]) == aykurt.items()
    assert select(["aykurt/fig4", "aykurt/fig4"]) == [aykurt.fig4]
    for wrong in ("paris", "aykurt/fig99"):
        with pytest.raises(InputError, match="aykurt"):
            select([wrong])


@pytest.mark.usefixtures("fake_engine")
def test_further_seeds_of_table_iii_only_test_the_network(store: Store) -> None:
    item = aykurt.tab3(**SMALL["tab3"])
    tested = item.tested_more()
    assert (item.count, tested.count, item.first_test) == (2, 3, 1)
    assert {scenario.seed for scenario in tested.scenarios()} == {0, 1, 2}
    runs = tested.run(store=store, progress=False)
    training, _ = item.exam(runs, "plain").data()
    assert set(training.about["seed"]) == {0}
    graded = item.exam(runs, "plain").graded(drawn=False)
    assert set(graded["seed"]) == {1, 2}
    assert set(graded["right"]) <= {0, 100}
    (cause,) = [cause for cause in item.causes() if cause.claim == "accuracy" and cause.shown_by == tested]
    assert cause.look is not None
    assert set(cause.look(runs).cases) == {"all", "seeds of the verdict", "further seeds"}


def test_flows_that_stay_have_bursts_and_no_stream() -> None:
    stays = aykurt.fig10(cc=("bbr",), seeds=1, stays=True).scenarios()
    assert [[str(flow.path) for flow in scenario.flows[:2]] for scenario in stays] == [["green", "green"]] * 2
    assert [len(scenario.flows) for scenario in stays] == [3, 2]
