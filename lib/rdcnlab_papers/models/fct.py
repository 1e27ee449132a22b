# SPDX-License-Identifier: Apache-2.0
"""Predict how much longer a migrated flow takes than the main flow. Aykurt et al., Sec. VI-A.

The model is a random forest, and its inputs describe the scenario. The data are a table with one row for each run.
Here a *scenario* is a group of runs that differ only in their seed. The paper uses folds over runs: seeds of one
scenario can be both in the training data and in the test data. Folds over scenarios avoid this: they test a model with
scenarios that it has never seen. Folds over times are harder: each is a day and a night that the model has never seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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
from sklearn.model_selection import GroupKFold, KFold, LeaveOneGroupOut, ParameterGrid
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder

from rdcnlab.analysis import tables
from rdcnlab.fields.units import NS_PER_MS
from rdcnlab.runs.frame import Runs
from rdcnlab.scenario import DARK, Scenario

Folds = Literal["runs", "scenarios", "times"]
Floats = npt.NDArray[np.float64]

#: The inputs of a model: the four inputs of the paper. No input distinguishes the runs of one scenario.
INPUTS = ("migrated", "main", "day_ms", "night_ms")
_NAMES = ("migrated", "main")
_TIMES = ["day_ms", "night_ms"]
TARGET = "prolongation_s"
#: 288 combinations of parameters, as many as in the paper. The paper's best combination is one of them.
GRID: Mapping[str, tuple[Any, ...]] = {
    "n_estimators": (50, 100, 200, 500),
    "max_depth": (5, 10, 100, None),
    "min_samples_split": (2, 5, 10),
    "min_samples_leaf": (1, 2, 4),
    "bootstrap": (True, False),
}
#: The best parameters that the search of the paper found.
BEST: Mapping[str, Any] = {
    "n_estimators": 500,
    "max_depth": 100,
    "min_samples_split": 2,
    "min_samples_leaf": 2,
    "bootstrap": True,
}
FOLDS = 10


def inputs(scenario: Scenario) -> dict[str, Any]:
    """Return the inputs of a model for a scenario.

    Parameters
    ----------
    scenario : Scenario
        A scenario with one main flow and one migrated flow. In the timetable of the migrated flow all days are equally
        long, and all nights are.

    Returns
    -------
    dict
        `INPUTS`: the flows' variants, the duration of a circuit, and the dark time before the next one, in ms.
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
    """Return one row for each run: `INPUTS`, `TARGET`, and ``scenario``, a number for all seeds of one scenario.

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
    """The quality of predictions on held-out folds.

    Parameters
    ----------
    r2 : float
        R2 over all predictions: the share of the variance that is explained.
    mse : float
        Mean squared error in s^2.
    r2_of_folds : tuple of float
        R2 of each fold, to show the spread.
    predictions : ndarray, shape (n,)
        Prediction for each row, by a model that was not trained on this row.
    """

    r2: float
    mse: float
    r2_of_folds: tuple[float, ...]
    predictions: Floats


def splits(data: pd.DataFrame, folds: Folds, count: int = FOLDS) -> list[tuple[Any, Any]]:
    """Return the training and test rows of each fold: random folds over runs, folds over scenarios, or over times.

    There are `count` folds, but at most as many as there are runs or scenarios; of times one for each day and night.
    """
    if folds == "runs":
        return list(KFold(min(count, len(data)), shuffle=True, random_state=0).split(data))
    if folds == "times":
        return list(LeaveOneGroupOut().split(data, groups=data.groupby(_TIMES).ngroup()))
    return list(
        GroupKFold(min(count, data["scenario"].nunique()), shuffle=True, random_state=0).split(
            data, groups=data["scenario"]
        )
    )


def score(data: pd.DataFrame, model: Any, folds: Folds = "runs", count: int = FOLDS) -> Scores:
    """Predict each fold with a model that is trained on all other folds.

    Parameters
    ----------
    data : DataFrame
        Data as `dataset` returns them.
    model : estimator
        An untrained model; it is cloned.
    folds : {'runs', 'scenarios', 'times'}
        Whether folds are over runs, or keep all runs of a scenario together, or those of a day and a night.
    count : int
        Number of folds.
    """
    predictions = np.full(len(data), np.nan)
    for train, test in splits(data, folds, count):
        fitted = clone(model).fit(data.iloc[train][list(INPUTS)], data.iloc[train][TARGET])
        predictions[test] = _predictions(fitted, data.iloc[test][list(INPUTS)])
    return scores(data, predictions, folds, count)


def scores(data: pd.DataFrame, predictions: Floats, folds: Folds, count: int = FOLDS) -> Scores:
    """Return the quality of predictions on held-out folds; see `score`."""
    truth = data[TARGET]
    r2_of_folds = [float(r2_score(truth.iloc[test], predictions[test])) for _, test in splits(data, folds, count)]
    return Scores(
        float(r2_score(truth, predictions)),
        float(mean_squared_error(truth, predictions)),
        tuple(r2_of_folds),
        predictions,
    )


def by_table(data: pd.DataFrame, columns: Sequence[str] = INPUTS, folds: Folds = "runs") -> Scores:
    """Predict each fold with a table of means of the other folds: what a model must do better than.

    Parameters
    ----------
    data : DataFrame
        Data as `dataset` returns them.
    columns : sequence of str
        Inputs by which the table is indexed: all of them give the mean of each scenario, none the mean of all runs.
        Rows that the table lacks are predicted by the mean of all.
    folds : {'runs', 'scenarios', 'times'}
        Folds, as for `score`.
    """
    predictions = np.full(len(data), np.nan)
    for train, test in splits(data, folds):
        known, asked = data.iloc[train], data.iloc[test]
        predictions[test] = known[TARGET].mean()
        if columns:
            table = known.groupby(list(columns))[TARGET].mean().rename("mean")
            means = asked[list(columns)].merge(table, left_on=list(columns), right_index=True, how="left")["mean"]
            predictions[test] = means.fillna(known[TARGET].mean()).to_numpy()
    return scores(data, predictions, folds)


def explainable(data: pd.DataFrame) -> float:
    """Return the share of the variance that is between scenarios, and not between seeds of one.

    No model of `INPUTS` can have a larger R2, but by chance. NaN if no scenario has two runs.
    """
    groups = data.groupby("scenario")[TARGET]
    degrees = len(data) - groups.ngroups
    within = float(((groups.var() * (groups.size() - 1)).sum() / degrees) if degrees else np.nan)
    return 1 - within / float(data[TARGET].var())


def _predictions(fitted: Any, rows: pd.DataFrame) -> Floats:
    """Return the predictions for rows of `INPUTS`. Many rows are equal, and each different row is predicted once."""
    number = rows.groupby(list(INPUTS), sort=False).ngroup().to_numpy()
    answers: Floats = fitted.predict(rows.drop_duplicates())[number]
    return answers


def search(
    data: pd.DataFrame, folds: Folds = "runs", grid: Mapping[str, tuple[Any, ...]] = GRID, *, workers: int | None = None
) -> Iterator[pd.DataFrame]:
    """Score every combination of a grid on held-out folds, and yield the scores as they are ready.

    The first trees of a forest are equal to the smaller forest with the same seed. So combinations that differ only in
    ``n_estimators`` are trained once.

    Yields
    ------
    DataFrame
        One row for each combination: its parameters, ``r2`` and ``mse``.
    """
    sizes = sorted(grid["n_estimators"])
    combinations = list(ParameterGrid({name: list(values) for name, values in grid.items() if name != "n_estimators"}))

    def score_combination(parameters: dict[str, Any]) -> pd.DataFrame:
        scores = _scores_by_size(data, forest(n_estimators=sizes[-1], **parameters), folds, sizes)
        return pd.DataFrame([{"n_estimators": size, **parameters, **scores[size]} for size in sizes])

    yield from Parallel(n_jobs=workers or -1, return_as="generator")(
        delayed(score_combination)(parameters) for parameters in combinations
    )


def _scores_by_size(data: pd.DataFrame, model: Pipeline, folds: Folds, sizes: list[int]) -> dict[int, dict[str, float]]:
    """Return ``r2`` and ``mse`` on held-out folds for the first trees of a forest, for several numbers of trees."""
    predictions = {size: np.full(len(data), np.nan) for size in sizes}
    for train, test in splits(data, folds):
        fitted = clone(model).fit(data.iloc[train][list(INPUTS)], data.iloc[train][TARGET])
        # many runs have equal inputs
        unique_inputs = data.iloc[test][list(INPUTS)].drop_duplicates()
        row_of = (
            unique_inputs.reset_index(drop=True)
            .reset_index()
            .merge(data.iloc[test], on=list(INPUTS), how="right")["index"]
        )
        ready = fitted["inputs"].transform(unique_inputs)
        sums = np.cumsum([tree.predict(ready) for tree in fitted["forest"].estimators_], axis=0)
        for size in sizes:
            predictions[size][test] = (sums[size - 1] / size)[row_of]
    truth = data[TARGET]
    return {
        size: {"r2": float(r2_score(truth, predicted)), "mse": float(mean_squared_error(truth, predicted))}
        for size, predicted in predictions.items()
    }


def importances(data: pd.DataFrame, model: Any, folds: Folds = "runs") -> pd.Series[float]:
    """Return for each input the decrease of R2 on held-out folds if its values are shuffled among the held-out rows."""
    draw = np.random.default_rng(0)
    lost = dict.fromkeys(INPUTS, 0.0)
    parts = splits(data, folds)
    for train, test in parts:
        fitted = clone(model).fit(data.iloc[train][list(INPUTS)], data.iloc[train][TARGET])
        rows, truth = data.iloc[test][list(INPUTS)], data.iloc[test][TARGET]
        best = r2_score(truth, _predictions(fitted, rows))
        for name in INPUTS:
            shuffled = rows.assign(**{name: draw.permutation(rows[name].to_numpy())})
            lost[name] += float(best - r2_score(truth, _predictions(fitted, shuffled))) / len(parts)
    return pd.Series(lost).sort_values(ascending=False)
