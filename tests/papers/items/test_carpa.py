# SPDX-License-Identifier: Apache-2.0
"""The items' own logic, with the fluid model of `tests/fake_engine.py`. Tests in guests check the behaviour of TCP."""

from __future__ import annotations

import pytest

from rdcnlab.runs.store import Store
from rdcnlab_papers import carpa
from rdcnlab_papers.carpa import space
from rdcnlab_papers.items.item import Item
from tests.papers.items.shared import judged, refused

#: Values of parameters that are quick; wide bins, with which the fluid model is fast.
SMALL: dict[str, dict[str, object]] = {
    "tab1": {"rtts_ms": [10], "changes": {"probes.bin": "100 ms"}},
    "fig2": {"limit_s": 20, "changes": {"probes.bin": "100 ms"}},
    "fig3": {"limit_s": 20, "changes": {"probes.bin": "100 ms"}},
    "fig4": {"changes": {"probes.bin": "100 ms"}},
    "fig6": {"extras_ms": [10, 50], "groups": 2},
    "fig7": {"counts": [1, 2], "groups": 2},
    "fig8": {"rtts_ms": [10]},
    "fig9": {"periods_s": [0.6, 2.0]},
    "fig10": {},
    "fig11": {},
    "difference": {"rtts_ms": [10], "extras_ms": [10, 50], "tested_ms": [50]},
    "cost": {"rtts_ms": [20], "counts": [1]},
}


@pytest.mark.usefixtures("fake_engine")
@pytest.mark.parametrize(
    ("kind", "column"), [(kind, column.id) for kind in carpa.items() for column in kind.columns()], ids=str
)
def test_items_run_draw_and_judge_every_claim(kind: type[Item], column: str, store: Store) -> None:
    runs = judged(kind(**SMALL[kind.id], seeds=1, column=column), store)
    assert {run.scenario.transport.like for run in runs} == {"4.4" if column == "4.4" else None}


def test_the_paper_profile_has_the_papers_numbers_of_runs() -> None:
    asked = carpa.fig8(profile="paper", rtts_ms=[10]).points()
    assert sum(not each.flows[0].slots for each in asked) == 20
    assert len(asked) == 20 + 5 * 15
    assert {each.flows[0].size for each in asked} == {2 * 2**30}
    grouped = carpa.fig6(profile="paper").points()
    assert len(grouped) == 25
    assert {len(each.flows) for each in grouped} == {20}
    whole = carpa.fig7(profile="paper", settle_s=400, every_s=200, counts=[1, 9]).points()
    assert {each.limit for each in whole} == {1000 * 10**9}
    assert max(len(each.flows) for each in whole) == 180


def test_figures_share_runs() -> None:
    hashes = {
        name: {scenario.hash for scenario in kind(profile="paper").scenarios()}
        for name, kind in (("6", carpa.fig6), ("7", carpa.fig7), ("8", carpa.fig8), ("9", carpa.fig9))
    }
    assert len(hashes["6"] & hashes["7"]) == 5
    assert len(hashes["8"] & hashes["9"]) == 95
    two, three = ({each.hash for each in kind().scenarios()} for kind in (carpa.fig2, carpa.fig3))
    assert three < two


def test_the_calibrated_column_has_the_rtt_and_the_difference_that_figure_8_needs() -> None:
    usual, calibrated = (carpa.fig8(profile="paper", column=column) for column in ("6.12", "calibrated"))
    assert (usual.rtts, calibrated.rtts) == ((1, 10, 50), (10,))
    moved = [scenario for scenario in calibrated.scenarios() if scenario.flows[0].slots]
    assert {scenario.network.link("long").delay for scenario in moved} == {25_000_000}
    # flows that are not moved never pass the longer path, so both columns have the same runs
    assert {scenario.hash for scenario in calibrated.scenarios()} - {scenario.hash for scenario in moved} < {
        scenario.hash for scenario in usual.scenarios()
    }
    assert {one.network.link("long").delay for one in carpa.fig8(column="calibrated", extra_ms=30).scenarios()} == {
        15_000_000
    }


def test_a_column_has_the_papers_times_of_moves() -> None:
    item = carpa.fig6(profile="paper", column="timetable")
    assert item.sizes == (4, 400, 200)
    assert {scenario.limit for scenario in item.scenarios()} == {1000 * 10**9}
    assert item.groups is None
    assert carpa.fig6(profile="paper", column="timetable", groups=20).sizes == (20, 400, 200)
    assert carpa.fig6(column="timetable").sizes == carpa.fig6().sizes, "the quick profile is short in each column"


def test_seeds_draw_the_rtts_of_groups_and_the_starts() -> None:
    one, other = (space.moving_groups(50, 1, seed=seed, settle_s=120, every_s=60) for seed in (0, 1))
    assert one.network != other.network
    assert one.start_times() != other.start_times()
    assert max(one.start_times()) <= 30 * 10**9


@pytest.mark.parametrize(
    ("kind", "parameters", "field", "allowed"),
    [
        (carpa.fig6, {"extras_ms": []}, "extras_ms", "at least 1"),
        (carpa.fig7, {"counts": [1, 10]}, "counts[1]", "9"),
        (carpa.fig8, {"periods_s": [0]}, "periods_s[0]", "0.01"),
        (carpa.fig9, {"column": "4.15"}, "column", "4.4"),
        (carpa.fig6, {"every_s": 200}, "settle_s", "at least every_s, 200"),
    ],
)
def test_wrong_parameters_are_refused(
    kind: type[Item], parameters: dict[str, object], field: str, allowed: str
) -> None:
    refused(kind, parameters, field, allowed)


def test_random_points_of_the_rule_are_drawn_from_the_seed() -> None:
    item = carpa.cost(profile="paper")
    assert item.draw(1) == item.draw(1)
    assert item.draw(1) != item.draw(2)
    assert len(item.draw(1)) == 20
    assert all(5 <= place.rtt_ms <= 200 and 0.2 <= place.period_s <= 40 for place in item.draw(3))
