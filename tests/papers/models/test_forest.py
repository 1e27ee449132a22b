# SPDX-License-Identifier: Apache-2.0
"""The forest as a file: it predicts as the trained model does, and refuses inputs outside of the training data."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from rdcnlab.fields.errors import InputError
from rdcnlab_papers.models import fct, forest, saved

SMALL = {**fct.BEST, "n_estimators": 20}


pytestmark = pytest.mark.usefixtures("own_models")


@pytest.fixture
def data() -> pd.DataFrame:
    """The prolongation is 10 / day + night, plus noise; there are four seeds of each scenario."""
    draw = np.random.default_rng(1)
    rows = pd.DataFrame(
        [
            {"migrated": migrated, "main": main, "day_ms": day, "night_ms": night}
            for migrated in ("cubic", "reno")
            for main in ("cubic", "reno")
            for day in (9.0, 45.0)
            for night in (0.0, 1.0)
            for _ in range(4)
        ]
    )
    rows["scenario"] = rows.groupby(list(fct.INPUTS)).ngroup()
    rows[fct.TARGET] = 10 / rows["day_ms"] + rows["night_ms"] + draw.normal(0, 0.05, len(rows))
    return rows


def test_a_file_answers_as_the_forest_does(data: pd.DataFrame) -> None:
    path = forest.load_or_train(data, SMALL)
    direct = fct.forest(**SMALL).fit(data[list(fct.INPUTS)], data[fct.TARGET])
    answer = forest.load(path).predict(data)
    assert answer[fct.TARGET].to_numpy() == pytest.approx(direct.predict(data[list(fct.INPUTS)]))
    assert answer["off_s"].iloc[0] == pytest.approx(0.05, rel=0.5)
    assert saved.provenance(path)["rows"] == len(data)
    assert forest.best().about["data"] == saved.provenance(path)["data"]


def test_nothing_is_trained_twice_and_other_data_are_another_forest(data: pd.DataFrame) -> None:
    path = forest.load_or_train(data, SMALL)
    made = path.stat().st_mtime_ns
    assert forest.load_or_train(data, SMALL) == path
    assert path.stat().st_mtime_ns == made
    assert forest.load_or_train(data.iloc[:-1], SMALL) != path
    assert forest.load_or_train(data, {**SMALL, "max_depth": 3}) != path


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("migrated", "bbr", "cubic, reno"),
        ("main", "", "cubic, reno"),
        ("day_ms", 8.0, "from 9 to 45"),
        ("day_ms", float("nan"), "from 9 to 45"),
        ("night_ms", 1.5, "from 0 to 1"),
    ],
)
def test_what_it_cannot_know_is_refused(data: pd.DataFrame, name: str, value: object, allowed: str) -> None:
    model = forest.load(forest.load_or_train(data, SMALL))
    with pytest.raises(InputError, match=f"{name}.*{allowed}"):
        model.predict(data.head(1).assign(**{name: value}))


def test_a_search_is_kept_best_first(data: pd.DataFrame) -> None:
    grid = {"n_estimators": (5, 20), "min_samples_leaf": (1, 16), "bootstrap": (True,)}
    path = forest.load_or_search(data, grid, workers=1)
    found = pd.read_csv(path)
    assert len(found) == 4
    assert found["mse"].is_monotonic_increasing
    best = found.iloc[0]
    alone = fct.score(data, fct.forest(**{name: best[name] for name in grid}))
    assert (best["r2"], best["mse"]) == pytest.approx((alone.r2, alone.mse))
    made = path.stat().st_mtime_ns
    assert forest.load_or_search(data, grid, workers=1).stat().st_mtime_ns == made


def test_what_was_held_out_is_kept_and_is_what_training_finds(
    data: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = forest.held_out(data, SMALL, trees=5)
    trained = fct.score(data, fct.forest(**SMALL))
    assert (held.runs.r2, held.runs.r2_of_folds) == (trained.r2, trained.r2_of_folds)
    assert held.runs.predictions.tolist() == trained.predictions.tolist()
    monkeypatch.setattr(fct, "forest", None)  # another training would fail
    again = forest.held_out(data, SMALL, trees=5)
    assert again.path == held.path
    assert again.lost.equals(held.lost)
    with pytest.raises(TypeError):
        forest.held_out(data.iloc[1:], SMALL, trees=5)
