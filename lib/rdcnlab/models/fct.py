# SPDX-License-Identifier: Apache-2.0
"""How much longer a migrated flow takes than the main one: a random forest over the scenario. Aykurt et al., Sec. VI-A.

The data are a table of one row a run. Runs that differ in their seed only are one *scenario*: folds over runs, as the
paper has them, put seeds of one scenario on both sides; folds over scenarios do not, and ask what a model makes of a
scenario it has never seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestRegressor
from sklearn.metrics import mean_squared_error, r2_score
from sklearn.model_selection import GroupKFold, KFold, ParameterGrid
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder

from rdcnlab.analysis import tables
from rdcnlab.fields.units import NS_PER_MS
from rdcnlab.runs.frame import Runs
from rdcnlab.scenario import DARK, Scenario

Folds = Literal["runs", "scenarios"]
Floats = npt.NDArray[np.float64]

#: What a model is told of a scenario: the paper's four inputs. Nothing that tells runs of one scenario apart is there.
INPUTS = ("migrated", "main", "day_ms", "night_ms")
_NAMES = ("migrated", "main")
TARGET = "prolongation_s"
#: 288 combinations, as many as the paper tried; its best one is among them.
GRID: Mapping[str, tuple[Any, ...]] = {
    "n_estimators": (50, 100, 200, 500),
    "max_depth": (5, 10, 100, None),
    "min_samples_split": (2, 5, 10),
    "min_samples_leaf": (1, 2, 4),
    "bootstrap": (True, False),
}
#: What the paper's search found best.
BEST: Mapping[str, Any] = {
    "n_estimators": 500,
    "max_depth": 100,
    "min_samples_split": 2,
    "min_samples_leaf": 2,
    "bootstrap": True,
}
FOLDS = 10


def inputs(scenario: Scenario) -> dict[str, Any]:
    """Return what a model is told of a scenario.

    Parameters
    ----------
    scenario : Scenario
        With one main flow, and one migrated flow whose timetable has equal days and equal nights.

    Returns
    -------
    dict
        `INPUTS`: the flows' variants, and the ms that a circuit stands and that it is dark before the next one.
    """
    flows = {tables.role(flow.name): flow for flow in scenario.flows}
    slots = flows["migrated"].slots
    days = {slot.duration for slot in slots if slot.link != DARK}
    nights = {slot.duration for slot in slots if slot.link == DARK} or {0}
    if len(days) != 1 or len(nights) != 1:
        raise ValueError("the migrated flow's timetable has no days and nights that are all alike")
    return {
        "migrated": flows["migrated"].cc,
        "main": flows["main"].cc,
        "day_ms": days.pop() / NS_PER_MS,
        "night_ms": nights.pop() / NS_PER_MS,
    }


def dataset(runs: Runs) -> pd.DataFrame:
    """Return one row a run: `INPUTS`, `TARGET`, and the ``scenario``, a number that seeds of one have in common.

    Runs in which a flow did not finish are left out.
    """
    flows = runs.flows.assign(period_ms=0)
    times = tables.completion(flows).set_index("run")["prolongation_s"].dropna()
    rows = pd.DataFrame([inputs(runs[run].scenario) for run in times.index])
    rows["scenario"] = rows.groupby(list(INPUTS)).ngroup()
    rows[TARGET] = times.to_numpy()
    return rows


def forest(**parameters: Any) -> Pipeline:
    """Return an untrained random forest over `INPUTS`; `parameters` are those of `RandomForestRegressor`."""
    names = ColumnTransformer([("names", OneHotEncoder(), list(_NAMES))], remainder="passthrough")
    return Pipeline([("inputs", names), ("forest", RandomForestRegressor(random_state=0, **parameters))])


@dataclass(frozen=True)
class Scores:
    """How well predictions of held-out folds fit.

    Parameters
    ----------
    r2 : float
        Share of the variance that is explained, over all predictions.
    mse : float
        Mean squared error, s^2.
    r2_of_folds : tuple of float
        The same fold by fold, for the spread.
    predictions : ndarray, shape (n,)
        For each row, by the model that was not trained on it.
    """

    r2: float
    mse: float
    r2_of_folds: tuple[float, ...]
    predictions: Floats


def splits(data: pd.DataFrame, folds: Folds, count: int = FOLDS) -> list[tuple[Any, Any]]:
    """Return training and test rows of each fold: over runs at random, or over scenarios. As many as there can be."""
    if folds == "runs":
        return list(KFold(min(count, len(data)), shuffle=True, random_state=0).split(data))
    return list(
        GroupKFold(min(count, data["scenario"].nunique()), shuffle=True, random_state=0).split(
            data, groups=data["scenario"]
        )
    )


def score(data: pd.DataFrame, model: Any, folds: Folds = "runs", count: int = FOLDS) -> Scores:
    """Train on all folds but one and predict that one, for each.

    Parameters
    ----------
    data : DataFrame
        As from `dataset`.
    model : estimator
        Untrained; it is cloned.
    folds : {'runs', 'scenarios'}
        What is kept together.
    count : int
        Number of folds.
    """
    predictions = np.full(len(data), np.nan)
    for train, test in splits(data, folds, count):
        fitted = clone(model).fit(data.iloc[train][list(INPUTS)], data.iloc[train][TARGET])
        predictions[test] = _asked(fitted, data.iloc[test][list(INPUTS)])
    return scores(data, predictions, folds, count)


def scores(data: pd.DataFrame, predictions: Floats, folds: Folds, count: int = FOLDS) -> Scores:
    """Say how well predictions of held-out folds fit; see `score`."""
    truth = data[TARGET]
    each = [float(r2_score(truth.iloc[test], predictions[test])) for _, test in splits(data, folds, count)]
    return Scores(
        float(r2_score(truth, predictions)), float(mean_squared_error(truth, predictions)), tuple(each), predictions
    )


def _asked(fitted: Any, rows: pd.DataFrame) -> Floats:
    """Return the predictions for rows of `INPUTS`, of which many are alike: each is asked for once."""
    number = rows.groupby(list(INPUTS), sort=False).ngroup().to_numpy()
    answers: Floats = fitted.predict(rows.drop_duplicates())[number]
    return answers


def search(
    data: pd.DataFrame, folds: Folds = "runs", grid: Mapping[str, tuple[Any, ...]] = GRID, *, workers: int | None = None
) -> Iterator[pd.DataFrame]:
    """Score every combination of a grid on held-out folds, as they get done.

    A forest's first trees are the smaller forest with the same seed, so combinations that differ in ``n_estimators``
    only are trained once.

    Yields
    ------
    DataFrame
        One row a combination: its parameters, ``r2`` and ``mse``.
    """
    sizes = sorted(grid["n_estimators"])
    rest = list(ParameterGrid({name: list(values) for name, values in grid.items() if name != "n_estimators"}))

    def some(parameters: dict[str, Any]) -> pd.DataFrame:
        scores = _scores_by_size(data, forest(n_estimators=sizes[-1], **parameters), folds, sizes)
        return pd.DataFrame([{"n_estimators": size, **parameters, **scores[size]} for size in sizes])

    yield from Parallel(n_jobs=workers or -1, return_as="generator")(delayed(some)(each) for each in rest)


def _scores_by_size(data: pd.DataFrame, model: Pipeline, folds: Folds, sizes: list[int]) -> dict[int, dict[str, float]]:
    """Return ``r2`` and ``mse`` on held-out folds of a forest's first trees, for several numbers of them."""
    predictions = {size: np.full(len(data), np.nan) for size in sizes}
    for train, test in splits(data, folds):
        fitted = clone(model).fit(data.iloc[train][list(INPUTS)], data.iloc[train][TARGET])
        # many runs have the same inputs
        asked = data.iloc[test][list(INPUTS)].drop_duplicates()
        row_of = (
            asked.reset_index(drop=True).reset_index().merge(data.iloc[test], on=list(INPUTS), how="right")["index"]
        )
        ready = fitted["inputs"].transform(asked)
        sums = np.cumsum([tree.predict(ready) for tree in fitted["forest"].estimators_], axis=0)
        for size in sizes:
            predictions[size][test] = (sums[size - 1] / size)[row_of]
    truth = data[TARGET]
    return {
        size: {"r2": float(r2_score(truth, of)), "mse": float(mean_squared_error(truth, of))}
        for size, of in predictions.items()
    }


def importances(data: pd.DataFrame, model: Any, folds: Folds = "runs") -> pd.Series[float]:
    """Return by how much R2 on held-out folds falls when an input's values are shuffled among the rows held out."""
    draw = np.random.default_rng(0)
    lost = dict.fromkeys(INPUTS, 0.0)
    whole = splits(data, folds)
    for train, test in whole:
        fitted = clone(model).fit(data.iloc[train][list(INPUTS)], data.iloc[train][TARGET])
        held, truth = data.iloc[test][list(INPUTS)], data.iloc[test][TARGET]
        best = r2_score(truth, _asked(fitted, held))
        for name in INPUTS:
            shuffled = held.assign(**{name: draw.permutation(held[name].to_numpy())})
            lost[name] += float(best - r2_score(truth, _asked(fitted, shuffled))) / len(whole)
    return pd.Series(lost).sort_values(ascending=False)
