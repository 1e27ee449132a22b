# SPDX-License-Identifier: Apache-2.0
"""The model of the prolongation, on synthetic tables: test data do not leak into training, and scores are correct."""

from __future__ import annotations

import inspect

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import ParameterGrid

from rdcnlab_papers.aykurt.space import Point
from rdcnlab_papers.models import fct


@pytest.fixture
def data() -> pd.DataFrame:
    """The prolongation is 10 / day + night, plus noise; there are 8 seeds of 24 scenarios."""
    draw = np.random.default_rng(1)
    scenarios = [
        {"migrated": migrated, "main": main, "day_ms": day, "night_ms": night}
        for migrated in ("cubic", "reno")
        for main in ("cubic", "reno", "westwood")
        for day in (9.0, 45.0)
        for night in (0.0, 1.0)
    ]
    rows = pd.DataFrame([scenario for scenario in scenarios for _ in range(8)])
    rows["scenario"] = rows.groupby(list(fct.INPUTS)).ngroup()
    rows[fct.TARGET] = 10 / rows["day_ms"] + rows["night_ms"] + draw.normal(0, 0.05, len(rows))
    return rows


def test_what_a_model_is_told_tells_no_run_from_another() -> None:
    scenario = Point(cc="reno", main_cc="cubic", period_ms=10, downtime_ms=1).scenario()
    assert fct.inputs(scenario) == {"migrated": "reno", "main": "cubic", "day_ms": 9.0, "night_ms": 1.0}
    assert fct.inputs(scenario.with_(seed=7)) == fct.inputs(scenario)
    assert tuple(fct.inputs(scenario)) == fct.INPUTS
    assert fct.inputs(Point(period_ms=25).scenario())["night_ms"] == 0


def test_uneven_timetables_are_refused() -> None:
    uneven = Point(period_ms=10).scenario(**{"flows.migrated.path": [["1 ms", "blue"], ["2 ms", "green"]]})
    with pytest.raises(ValueError, match="all alike"):
        fct.inputs(uneven)


@pytest.mark.parametrize("folds", ["runs", "scenarios", "times"])
def test_held_out_rows_are_not_trained_on(data: pd.DataFrame, folds: fct.Folds) -> None:
    whole = fct.splits(data, folds, 5)
    assert sorted(row for _, test in whole for row in test) == list(range(len(data)))
    for train, test in whole:
        assert not set(train) & set(test)
        shared = set(data.iloc[train]["scenario"]) & set(data.iloc[test]["scenario"])
        assert bool(shared) == (folds == "runs")


def test_a_fold_of_times_is_a_day_and_a_night_that_no_training_row_has(data: pd.DataFrame) -> None:
    whole = fct.splits(data, "times")
    assert len(whole) == 4
    for train, test in whole:
        asked = data.iloc[test][["day_ms", "night_ms"]].drop_duplicates()
        assert len(asked) == 1
        assert not (data.iloc[train][["day_ms", "night_ms"]] == asked.iloc[0]).all(axis=1).any()


def test_what_can_be_explained_is_the_variance_between_scenarios(data: pd.DataFrame) -> None:
    """Noise has a deviation of 0.05 s. Without it everything can be explained; with noise alone, nothing."""
    means = data.groupby("scenario")[fct.TARGET].transform("mean")
    assert fct.explainable(data.assign(**{fct.TARGET: means})) == pytest.approx(1)
    assert fct.explainable(data) == pytest.approx(1 - 0.05**2 / data[fct.TARGET].var(), abs=0.002)
    assert fct.explainable(data.assign(**{fct.TARGET: data[fct.TARGET] - means})) == pytest.approx(0, abs=0.15)
    assert np.isnan(fct.explainable(data.drop_duplicates("scenario")))


def test_a_table_of_pairs_knows_nothing_of_times(data: pd.DataFrame) -> None:
    """Pairs differ by noise only, so held-out times are predicted by the mean of all others: worse than the mean."""
    assert fct.by_table(data, ("migrated", "main"), "times").r2 < 0


def test_scores_are_near_what_the_noise_leaves_and_nothing_for_shuffled_labels(data: pd.DataFrame) -> None:
    model = fct.forest(n_estimators=50)
    good = fct.score(data, model)
    # the variance of the targets is 0.45, that of the noise 0.0025: at best 0.994
    assert good.r2 > 0.95
    assert good.mse == pytest.approx(0.05**2, rel=0.5)
    assert len(good.r2_of_folds) == 10
    shuffled = data.assign(**{fct.TARGET: np.random.default_rng(2).permutation(data[fct.TARGET])})
    assert fct.score(shuffled, model).r2 < 0.1
    assert fct.score(shuffled, model, "scenarios").r2 < 0.1


def test_importances_find_the_inputs_that_matter(data: pd.DataFrame) -> None:
    found = fct.importances(data, fct.forest(n_estimators=20))
    assert set(found.index[:2]) == {"day_ms", "night_ms"}
    assert found[["migrated", "main"]].abs().max() < 0.05


def test_the_grid_is_the_papers_size_and_holds_its_best() -> None:
    combinations = list(ParameterGrid({name: list(values) for name, values in fct.GRID.items()}))
    assert len(combinations) == 288
    assert fct.BEST in combinations
    assert set(fct.GRID) <= set(inspect.signature(fct.RandomForestRegressor).parameters)


def test_smaller_forests_of_a_search_are_those_trained_by_themselves(data: pd.DataFrame) -> None:
    grid = {"n_estimators": (5, 20), "min_samples_leaf": (1, 4), "bootstrap": (True, False)}
    found = pd.concat(fct.search(data, "runs", grid, workers=1)).reset_index(drop=True)
    assert len(found) == 8
    for _, row in found.iterrows():
        parameters = {name: row[name] for name in grid}
        alone = fct.score(data, fct.forest(**parameters))
        assert (row["r2"], row["mse"]) == pytest.approx((alone.r2, alone.mse))


def test_a_table_of_scenario_means_is_what_a_model_must_beat(data: pd.DataFrame) -> None:
    """Without noise it is exact; indexed by nothing it is the mean of the other folds, which explains nothing."""
    exact = data.assign(**{fct.TARGET: data.groupby("scenario")[fct.TARGET].transform("mean")})
    assert fct.by_table(exact).r2 == pytest.approx(1, abs=1e-9)
    assert fct.by_table(data, ()).r2 < 0.01
    by_night = fct.by_table(data, ["night_ms"]).r2
    assert fct.by_table(data, ()).r2 < by_night < fct.by_table(data).r2
