# SPDX-License-Identifier: Apache-2.0
"""The items' own logic, with the fluid model of `tests/fake_engine.py`. Tests in guests check the behaviour of TCP."""

from __future__ import annotations

from types import SimpleNamespace

import pandas as pd
import pytest

from rdcnlab.analysis.intervals import Estimate
from rdcnlab.engines import wall_limit_s
from rdcnlab.fields.errors import InputError
from rdcnlab.fields.units import NS_PER_S
from rdcnlab.runs.frame import Runs
from rdcnlab.runs.store import Store
from rdcnlab_papers import vargas
from rdcnlab_papers.analysis import sharing
from rdcnlab_papers.app.reproduce.plan import plan
from rdcnlab_papers.items.item import Item
from rdcnlab_papers.items.verdicts import Verdict, judge
from rdcnlab_papers.models import buffers, buffers_records, gaussian
from rdcnlab_papers.vargas.dataset import WORDS, is_single, of_table, study_hours
from rdcnlab_papers.vargas.fig3 import paper_table
from rdcnlab_papers.vargas.space import QUICK_S, first_settings, scenario, seconds, setting_of
from rdcnlab_papers.vargas.tab2 import SEEN
from tests.papers.items.shared import judged
from tests.papers.models.test_buffers import rows

#: Values of parameters that are quick.
SMALL: dict[str, dict[str, object]] = {
    "fig2": {"ecn_kB": [25, 100, 400], "drop_kB": [200, 800, 1800], "length_s": 1},
    "fig3": {"ecn_kB": [25, 100, 400], "drop_kB": [200, 1000, 1800], "length_s": 1},
    "engines": {"ecn_kB": [25, 100, 400], "drop_kB": [200, 800], "length_s": 1},
    "dataset": {"single": 4, "length_s": 1},
    "tab2": {"single": 20, "length_s": 1, "splits": 2},
}


@pytest.fixture(autouse=True)
def one_candidate(monkeypatch: pytest.MonkeyPatch) -> None:
    """Models of all kinds are linear here, which takes no time; `test_buffers.py` tests the others."""
    linear = {"ridge": buffers.candidates("shallow")["ridge"]}
    monkeypatch.setattr(buffers, "candidates", lambda kind, outcomes: linear)


@pytest.mark.usefixtures("fake_engine")
@pytest.mark.parametrize(("name", "column"), [*((name, "kernel") for name in SMALL), ("fig2", "ns3"), ("fig3", "ns3")])
def test_items_run_draw_and_judge_every_claim(name: str, column: str, store: Store) -> None:
    kind: type[Item] = getattr(vargas, name)
    runs = judged(
        kind(**SMALL[name], seeds=1, column=column),
        store,
        unclaimed=["r2-better-single", "r2-fluid-single", "r2-fluid-single-no-drops"],
    )
    assert {run.scenario.engine.kind for run in runs} == ({"kernel", "ns3"} if name == "engines" else {column})


@pytest.mark.usefixtures("fake_engine")
def test_seeds_of_a_setting_are_on_one_side_of_a_split(store: Store) -> None:
    item = vargas.tab2(single=12, length_s=1, splits=2, seeds=2)
    runs = item.run(store=store, progress=False)
    assert len(runs) == 24
    assert len(item.cases(runs)["single"]) == 12


@pytest.mark.usefixtures("fake_engine")
def test_models_are_trained_once_for_figure_score_and_shipping(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    item = vargas.tab2(single=18, length_s=1, splits=2)
    runs = item.run(store=store, progress=False)
    first = item.scores(runs)
    monkeypatch.setattr(buffers, "examine", None)
    pd.testing.assert_frame_equal(item.scores(runs), first)
    item.plot(runs)
    item.score(runs)
    (path,) = item.models(runs)
    assert "sharing-scores" in path.name
    assert path.with_suffix(".json").exists()
    with pytest.raises(TypeError):
        vargas.tab2(single=18, length_s=1, splits=3).scores(runs)


@pytest.fixture
def predictor(monkeypatch: pytest.MonkeyPatch) -> gaussian.Predictor:
    """A model of outcomes of a formula, as the shipped one."""
    made = gaussian.predictor(rows(40))
    monkeypatch.setattr(gaussian, "best", lambda: made)
    return made


@pytest.mark.usefixtures("fake_engine", "predictor")
def test_the_tuner_shows_the_outcomes_that_are_not_close(store: Store) -> None:
    item = vargas.tuner(objectives=3, length_s=1)
    runs = judged(item, store)
    compared = item.compare(runs)
    assert len(compared) == 3 * 4
    assert set(compared["close"]) == {True, False}
    assert (compared["close"] | ~compared["within"]).all()
    measured = item.measure(runs)
    assert f"{compared['within'].sum()} of 12 outcomes" in measured["within"].note
    assert f"{compared['close'].sum()} of 12 outcomes" in measured["close"].note
    for ax in item.plot(runs).axes:
        points = compared[compared["outcome"].map(WORDS) == ax.get_title()]
        assert ax.get_xlim() == ax.get_ylim()
        filled = {
            line.get_markerfacecolor(): len(line.get_xdata()) for line in ax.lines if line.get_marker() == "o"  # type: ignore[arg-type]
        }  # fmt: skip
        assert filled.pop("white", 0) == (~points["close"]).sum()
        assert sum(filled.values()) == points["close"].sum()


@pytest.mark.usefixtures("fake_engine", "own_models")
def test_a_tuner_without_a_model_trains_one_on_the_data_set_of_its_profile(store: Store) -> None:
    """So the quick profile of all items needs nothing that is shipped, and its plan has all runs."""
    item = vargas.tuner(objectives=2, length_s=1)
    assert item.points() == []
    (data,) = item.learns_from()
    assert data == vargas.dataset()
    (job,) = plan([vargas.tuner], {}, store)
    assert job.missing == len(data.points()) == gaussian.LEAST_ROWS
    runs = item.run(store=store, progress=False)
    assert gaussian.best().about["rows"] == gaussian.LEAST_ROWS
    assert gaussian.best().length_s == QUICK_S
    assert {run.scenario.hash for run in runs} == {scenario.hash for scenario in item.scenarios()}
    assert item.learns_from() == []
    (job,) = plan([vargas.tuner], {"objectives": 2, "length_s": 1}, store)
    assert job.missing == 0


@pytest.mark.parametrize("profile", ["quick", "paper"])
def test_proposals_run_as_long_as_what_the_model_was_trained_on(monkeypatch: pytest.MonkeyPatch, profile: str) -> None:
    """With a burst of drops at the start, outcomes of a short run are not those of a long one."""
    item = vargas.tuner(objectives=2, profile=profile)
    equal = gaussian.predictor(rows(20).assign(length_s=7.0))
    monkeypatch.setattr(gaussian, "best", lambda: equal)
    assert {point.limit for point in item.points()} == {7 * NS_PER_S}
    # lengths that follow the RTT, as in the data set of the paper's profile
    several = gaussian.predictor(rows(20).assign(length_s=[10.0, 16.0] * 10))
    monkeypatch.setattr(gaussian, "best", lambda: several)
    usual = {seconds(sharing.setting(point)["rtt_ms"]) * NS_PER_S for point in item.points()}
    assert {point.limit for point in item.points()} == usual


def test_some_settings_lie_between_the_conditions_of_the_table() -> None:
    """They have rates and RTTs of their own, which do not follow the thresholds."""
    settings = pd.DataFrame(vargas.dataset(profile="paper").settings)
    between = settings[~of_table(settings)]
    assert len(between) == 70
    assert pd.DataFrame(first_settings(50, between=True)).equals(between.reset_index(drop=True)[:50])
    assert between["rate_gbps"].between(5, 25).all()
    assert between["rtt_ms"].between(25, 100).all()
    assert between[["rate_gbps", "rtt_ms"]].drop_duplicates().shape[0] > 63
    assert (
        between.corr(method="spearman").loc[["rate_gbps", "rtt_ms"], ["ecn_kB", "min_kB", "max_kB"]].abs().max().max()
        < 0.3
    )
    assert not [setting for setting in vargas.dataset().settings if setting.rate_gbps != 5]


@pytest.mark.usefixtures("own_models")
def test_coverage_between_the_conditions_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    item = vargas.tab2(profile="paper", several=30, single=5, between=20)
    settings = pd.DataFrame(item.settings).astype(float).assign(**dict.fromkeys(sharing.OUTCOMES, 1.0))
    monkeypatch.setattr(sharing, "outcomes", lambda runs: settings.assign(seed=0, length_s=8.0))
    monkeypatch.setattr(gaussian, "coverage", lambda rows: rows[list(sharing.OUTCOMES)].mul(of_table(rows), axis=0))
    cases = item.cases(Runs([]))
    assert len(cases["all"]) == len(item.settings)
    assert (~of_table(cases["all"])).sum() == 20
    assert of_table(cases["several"]).all()
    measured = item.measure(Runs([]))
    assert set(measured["intervals-hold"].cases.values()) == {100}
    assert set(measured["intervals-hold-single"].cases.values()) == {100}
    assert set(measured["intervals-hold-between"].cases.values()) == {0}


@pytest.mark.usefixtures("own_models")
def test_a_level_that_no_curve_reaches_leaves_the_ratio_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    item = vargas.tab2(profile="paper", several=200, single=0, between=0)
    settings = pd.DataFrame(item.settings).astype(float).assign(**dict.fromkeys(sharing.OUTCOMES, 1.0))
    monkeypatch.setattr(sharing, "outcomes", lambda runs: settings.assign(seed=0, length_s=8.0))
    monkeypatch.setattr(buffers_records, "scores", lambda *_: None)
    monkeypatch.setattr(buffers_records, "coverage", lambda *_: None)
    curve = pd.DataFrame({"runs": [20, 80], "r2": [0.5, 0.7]})
    curves = pd.concat([curve.assign(seed=seed, active=active) for seed in range(5) for active in (True, False)])
    monkeypatch.setattr(buffers_records, "learning", lambda rows: "learning")
    monkeypatch.setattr(buffers_records, "read", {"learning": curves}.get)
    monkeypatch.setattr(type(item), "records", lambda self, runs: {"learning": "learning"})
    measured = item.measure(Runs([]))["active-saves"]
    assert measured.note == "mean R2 with 80 runs: active 0.700, random 0.700"
    (ratio,) = measured.cases.values()
    assert isinstance(ratio, Estimate)
    (claim,) = (claim for claim in item.claims.claims if claim.id == "active-saves")
    assert judge(claim, measured).verdict == Verdict.UNDECIDED


def test_the_study_has_a_cost_only_if_all_conditions_were_run(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = pd.DataFrame(first_settings(60)).astype(float)
    runs = [SimpleNamespace(provenance={"wall_s": 36.0})] * 60
    monkeypatch.setattr(sharing, "outcomes", lambda runs: settings.iloc[: len(runs)])
    assert study_hours(runs) == pytest.approx(100)  # type: ignore[arg-type]
    assert study_hours(runs[:3]) is None  # type: ignore[arg-type]


def test_what_is_run_is_what_was_predicted() -> None:
    """A proposal's rate and RTT need not be whole numbers."""
    asked = pd.Series(
        {"rate_gbps": 7.31, "rtt_ms": 37.5, "ecn_kB": 40.0, "min_kB": 200.0, "max_kB": 400.0, "probability": 5.0}
    )
    assert sharing.setting(scenario(setting_of(asked))) == pytest.approx(asked.to_dict())


def test_the_paper_profile_has_the_papers_grid() -> None:
    grid = vargas.fig2(profile="paper", seeds=1).points()
    assert len(grid) == 120
    assert {each.network.link("shared").rate for each in grid} == {5_000_000_000}
    assert len(vargas.fig2(profile="paper", seeds=1, column="ns3").points()) == 40
    same = {each.hash for each in grid}
    assert same < {point.hash for point in vargas.fig3(profile="paper", seeds=1).points()}
    assert {each.with_(**{"engine.kind": "kernel"}).hash for each in vargas.fig2(
        profile="paper", seeds=1, column="ns3").scenarios()} < same  # fmt: skip
    assert len(vargas.dataset(profile="paper").settings) >= 1000


def test_the_paper_profile_has_enough_settings_to_train_on(
    monkeypatch: pytest.MonkeyPatch,
    own_models: None,
) -> None:
    """11 are 1 % of the paper's 10 000 over nine conditions; 400 of 600 are for training and 200 for the score."""
    item = vargas.tab2(profile="paper", splits=2)
    settings = pd.DataFrame(item.settings).astype(float).assign(**dict.fromkeys(sharing.OUTCOMES, 0.0))
    settings["share"], settings["drops"] = settings["max_kB"] / 18, settings["ecn_kB"]
    monkeypatch.setattr(sharing, "outcomes", lambda runs: settings.assign(seed=0, length_s=8.0))
    monkeypatch.setattr(buffers_records, "coverage", lambda rows: None)
    monkeypatch.setattr(buffers_records, "learning", lambda rows: None)
    cases = item.cases(Runs([]))
    later = cases["later"]
    assert set(later.index) < set(cases["several"].index)
    assert 300 < len(later) < 600 - SEEN
    assert not {setting_of(row) for _, row in later.iterrows()} & {*first_settings(SEEN)}
    assert not is_single(later).any()
    train = item.scores(Runs([])).groupby("case")["train"].first()
    assert set(train[["shallow-single", "deep-single", "better-single"]]) == {round(10_000 / 9 / 100)}
    assert set(train.filter(like="several").drop(list(train.filter(like="as-many").index))) == {30}
    assert set(train.filter(like="as-many")) == {400}
    assert len(train.filter(like="as-many")) == 6


def test_the_column_of_ns3_has_runs_that_can_end() -> None:
    """One seed each; a run may take as long as ns-3 needs; early drop is compared at thresholds of that grid, too."""
    for column, seeds in (("kernel", 3), ("ns3", 1)):
        figure = vargas.fig3(profile="paper", column=column)
        assert {scenario.seed for scenario in figure.points()} == set(range(seeds))
        assert vargas.fig3(profile="paper", column=column, seeds=2).count == 2
        assert {(setting.ecn_kB, setting.max_kB) for setting in figure.early} == {
            (150, threshold) for threshold in (400, 600, 1200, 1800)
        }
        assert {setting.max_kB for setting in figure.early} <= {setting.max_kB for setting in figure.settings}
        assert wall_limit_s(figure.scenarios()[:1]) == (14_400 if column == "ns3" else 1800)


def test_the_paper_s_table_agrees_with_its_own_statement_on_few_drops() -> None:
    """Where the drop threshold is below the ECN threshold its table has fewer than 1000 drops: in 117 of 120 cells."""
    table = paper_table()
    assert table.shape == (10, 12)
    right = [(table.loc[ecn, drop] < 1000) == (drop < ecn) for ecn in table.index for drop in table.columns]
    assert sum(right) == 117


@pytest.mark.parametrize(
    ("name", "parameters", "field", "allowed"),
    [
        ("fig2", {"ecn_kB": [2000]}, "ecn_kB[0]", "1800"),
        ("fig3", {"rtt_ms": 0}, "rtt_ms", "1 to 1000"),
        ("fig2", {"rate_gbps": 400}, "rate_gbps", "90"),
        ("dataset", {"column": "4.15"}, "column", "ns3"),
    ],
)
def test_wrong_parameters_are_refused(name: str, parameters: dict[str, object], field: str, allowed: str) -> None:
    with pytest.raises(InputError) as caught:
        getattr(vargas, name)(**parameters)
    assert any(problem.field == field and allowed in problem.allowed for problem in caught.value.problems), caught.value
