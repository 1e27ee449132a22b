# SPDX-License-Identifier: Apache-2.0
"""Columns that take values of a calibration: absent before it, complete after it. Values here are made up."""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from rdcnlab.fields.errors import InputError
from rdcnlab.system import places
from rdcnlab_papers import aykurt, dogar, select
from rdcnlab_papers.aykurt import calibration
from rdcnlab_papers.aykurt.calibration import Card
from rdcnlab_papers.dogar import testbeds
from rdcnlab_papers.items import calibrated, claims
from rdcnlab_papers.items.item import Item
from tests.papers.items.test_claims import test_each_cause_has_its_words

CARD = Card(42, 75)
JUDGED = {
    "aykurt": ["fig3", "fig4", "fig5", "fig6a", "fig6b", "fig7", "fig8a", "fig8b", "fig9", "tab2", "fig10", "fig11"],
    "dogar": [f"fig{number}" for number in range(3, 14)],
}


@pytest.fixture
def papers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The claims of the papers in a folder without calibrated values."""
    for path in places.papers().glob("*.yaml"):
        shutil.copy(path, tmp_path)
    monkeypatch.setattr(places, "papers", lambda: tmp_path)
    claims.paper.cache_clear()
    yield tmp_path
    claims.paper.cache_clear()


@pytest.fixture
def taken(papers: Path) -> Path:
    """The same with values."""
    calibrated.write("aykurt", "cards", CARD._asdict(), CARD.changes, "x")
    wait = {"offload.coalesce": f"{CARD.wait_us} us"}
    calibrated.write("dogar", "cards", {"wait_us": CARD.wait_us, "meeting_ms": 0.6}, wait, "x")
    return papers


def with_cards() -> dict[str, list[str]]:
    """Return the items of each paper that are judged in the column."""
    kinds = select(list(JUDGED))
    listed = [kind for kind in kinds if "cards" in [column.id for column in kind.columns()]]
    return {paper: [kind.id for kind in listed if kind.paper == paper] for paper in JUDGED}


@pytest.mark.usefixtures("papers")
def test_before_its_calibration_a_paper_has_no_such_column() -> None:
    assert with_cards() == {"aykurt": [], "dogar": []}
    for kind in (aykurt.fig3, aykurt.fig6a, dogar.fig3):
        with pytest.raises(InputError, match="there is no column 'cards'"):
            kind(column="cards")
    assert aykurt.fig3(column="4.15").column == "4.15", "an item that lists no column may choose any"
    with pytest.raises(FileNotFoundError, match="aykurt-cards"):
        calibrated.values("aykurt", "cards")


@pytest.mark.usefixtures("taken")
def test_after_it_items_are_judged_with_its_values() -> None:
    assert with_cards() == JUDGED
    for scenario in aykurt.fig6a(column="cards", seeds=1).scenarios():
        assert (scenario.offload.tso, scenario.offload.gro, scenario.offload.coalesce) == (65_535, True, 75_000)
        assert (scenario.transport.like, scenario.limit) == ("4.15", 240 * 10**9)
        assert {host.delay for host in scenario.network.hosts} == {5040}
    for scenario in dogar.fig3(column="cards", profile="paper", seeds=1).scenarios():
        assert (scenario.offload.tso, scenario.offload.gro, scenario.offload.coalesce) == (65_535, True, 75_000)
        assert (scenario.transport.like, scenario.limit) == ("4.9", 6 * 10**9)
    inputs = dogar.fig3(column="cards").inputs
    assert inputs == testbeds.inputs("calibrated")._replace(change_ms=0.6)


@pytest.mark.usefixtures("taken")
def test_numbers_of_runs_and_what_is_not_counted() -> None:
    counts = {name: getattr(aykurt, name)(profile="paper", column="cards").count for name in JUDGED["aykurt"]}
    assert counts == {name: 10 if name in ("fig7", "fig9") else 30 for name in counts}
    assert {getattr(dogar, name)(profile="paper", column="cards").count for name in JUDGED["dogar"]} == {10}
    cases = {
        "aykurt": {("fig3", claim) for claim in ("fct", "rtt-bbr", "rtt-others")},
        "dogar": {("fig7", "bbr-largest"), ("fig9", "bbr-number")},
    }
    for paper, expected in cases.items():
        found = {
            (item.id, claim.id)
            for item in claims.paper(paper).items
            for claim in item.claims
            if "cards" in claim.calibrates
        }
        assert found == expected
    fct = next(claim for claim in aykurt.fig3().claims.claims if claim.id == "fct")
    assert (list(fct.reasons("cards")), fct.reasons("6.12")) == (["used to calibrate"], {})


@pytest.mark.usefixtures("taken")
@pytest.mark.parametrize("kind", [kind for kind in select(list(JUDGED)) if kind.id in JUDGED[kind.paper]], ids=str)
def test_each_cause_has_its_words_there_too(kind: type[Item]) -> None:
    test_each_cause_has_its_words(kind)


@pytest.mark.usefixtures("taken")
def test_with_segmentation_offload_dogar_needs_the_flows_of_events() -> None:
    item, usual = (dogar.fig3(column=column, seeds=1) for column in ("cards", "calibrated"))
    assert list(item.parts_of(item.scenarios()[0])) == ["events", "flows"]
    assert item.read_parts["events"].columns == ("t_ns", "event", "flow")
    assert list(usual.parts_of(usual.scenarios()[0])) == ["events"]
    assert usual.read_parts["events"].columns == ("t_ns", "event")


def test_the_grid_contains_the_preset_and_what_drivers_begin_with() -> None:
    scenario = aykurt.fig3(column="6.12").scenarios()[0]
    card = {**Card(170, 50).changes, "offload.gro": True}
    assert {host.delay for host in scenario.with_(**card).network.hosts} == {37_040}
    assert {host.delay for host in scenario.network.hosts} == {37_040}
    assert len(calibration.GRID) == 48
    judged = {one.seed for one in aykurt.fig3(profile="paper").scenarios()}
    assert not judged & set(calibration.SEEDS)
    assert len(calibration.scenarios(Card(170, 50), calibration.SEEDS)) == 4 * 5


def test_distances_are_in_tolerances_of_the_worst_variant() -> None:
    table = pd.DataFrame(
        {"fct_s": [3.47, 3.47 * 1.02, 3.47], "srtt_us": [1000, 300 * 1.15, 2500 * 1.15]}, ["cubic", "bbr", "reno"]
    )
    found = calibration.distances(table)
    assert found["fct"] == pytest.approx(math.log(1.02) / math.log(1.01))
    assert found["rtt-bbr"] == found["rtt-others"] == pytest.approx(1)
    assert calibration.loss(found) == pytest.approx(2 + found["fct"] ** 2)
    assert calibration.loss(calibration.distances(table.assign(fct_s=math.inf))) == math.inf


def test_of_points_that_fit_as_well_the_shortest_wait_is_taken_then_the_longest_rtt() -> None:
    losses = {Card(42, 100): 1.0, Card(60, 75): 1.2, Card(85, 75): 1.25, Card(170, 75): 1.26, Card(42, 50): 9.0}
    assert calibration.best(losses) == Card(85, 75)
