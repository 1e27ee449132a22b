# SPDX-License-Identifier: Apache-2.0
"""Predict shares, drops and queues of DCTCP and CUBIC in a shared buffer from its settings. Vargas et al., Sec. 7.

The data are a table with one row for each run: settings and outcomes of `rdcnlab_papers.analysis.sharing`. Models are
trained on a few percent of the rows and scored on all other rows. Cross-validation inside the training rows chooses one
of several models, so the choice never uses the rows of the score.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import ExtraTreesRegressor, HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.linear_model import RidgeCV
from sklearn.metrics import mean_absolute_error, mean_squared_error, r2_score
from sklearn.model_selection import GroupKFold, KFold
from sklearn.multioutput import MultiOutputRegressor
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures
from threadpoolctl import threadpool_limits

from rdcnlab_papers.analysis.sharing import OCCUPANCIES, OUTCOMES, SETTINGS
from rdcnlab_papers.models import gaussian
from rdcnlab_papers.models.carried import carried
from rdcnlab_papers.models.corrected import Corrected, Fluid
from rdcnlab_papers.models.physics import limit
from rdcnlab_papers.models.scaled import network, scaled

#: Kinds of models: Table 2's two, a fluid model that is not trained, those that correct it, one for conditions that it
#: has not seen, and the alternative with TensorFlow.
Kind = Literal["shallow", "linear", "deep", "fluid", "better", "carried", "keras"]
#: What makes a condition: the rate of the line and the RTT of CUBIC.
CONDITION = ("rate_gbps", "rtt_ms")
#: Folds inside of the training rows.
_FOLDS = 5


def plain(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the features of Sec. 7.2.1: thresholds, RTT and rate; and the drop probability, which varies here."""
    return rows[list(SETTINGS)]


def _model(core: Any) -> TransformedTargetRegressor:
    return scaled(core, plain)


def candidates(kind: Kind, outcomes: Sequence[str] = OUTCOMES) -> dict[str, Any]:
    """Return the untrained models of a kind by name; the paper names no more than "shallow" and "two-layer deep".

    They predict all `outcomes` at once.
    """
    if kind == "shallow":
        return {
            "ridge": _model(RidgeCV(np.logspace(-3, 3, 13))),
            "quadratic": _model(make_pipeline(PolynomialFeatures(2), RidgeCV(np.logspace(-2, 4, 13)))),
            "neighbours": _model(KNeighborsRegressor(3, weights="distance")),
            "forest": _model(RandomForestRegressor(200, min_samples_leaf=1, random_state=0)),
        }
    if kind == "linear":
        return {"ridge": _model(RidgeCV(np.logspace(-3, 3, 13)))}
    if kind == "deep":
        return {
            f"mlp {width}x{width}, decay {decay:g}": _model(network(width, decay))
            for width in (16, 48)
            for decay in (0.01, 0.1, 1.0)
        }
    if kind == "keras":
        from rdcnlab_papers.models.buffers_keras import Dense

        return {"keras 48x48": _model(Dense(48))}
    if kind == "carried":
        return {"three networks, and fluid model and trees": carried(tuple(outcomes))}
    if kind == "fluid":
        return {"fluid model": Fluid(tuple(outcomes))}
    boosting = HistGradientBoostingRegressor(max_iter=300, learning_rate=0.05, min_samples_leaf=5, random_state=0)
    cores = {
        "ridge": RidgeCV(np.logspace(-2, 4, 13)),
        "trees": ExtraTreesRegressor(300, random_state=0),
        "boosting": MultiOutputRegressor(boosting),
        "gaussian process": MultiOutputRegressor(
            GaussianProcessRegressor(gaussian.kernel(), normalize_y=True, random_state=0)
        ),
    }
    return {f"fluid model and {name}": Corrected(core, tuple(outcomes)) for name, core in cores.items()}


def fit(model: Any, rows: pd.DataFrame, outcomes: Sequence[str] = OUTCOMES) -> Any:
    """Return the model, trained on these outcomes of rows."""
    with threadpool_limits(1), warnings.catch_warnings():
        # a network that has used its iterations, and a length at its bound, are answers like others
        warnings.simplefilter("ignore", ConvergenceWarning)
        return clone(model).fit(rows[list(SETTINGS)], rows[list(outcomes)].to_numpy(float))


def choose(kind: Kind, rows: pd.DataFrame, outcomes: Sequence[str] = OUTCOMES, *, by_condition: bool = False) -> str:
    """Return the name of the candidate with the best score in cross-validation inside of the training rows.

    The score is that of `examine`: mean R2 of these outcomes, of predictions limited to possible values. Folds are
    random, or whole conditions.
    """
    models = candidates(kind, outcomes)
    if len(models) == 1:
        return next(iter(models))
    if by_condition:
        numbers = conditions(rows)
        folds = list(GroupKFold(min(_FOLDS, numbers.nunique())).split(rows, groups=numbers))
    else:
        folds = list(KFold(min(_FOLDS, len(rows)), shuffle=True, random_state=0).split(rows))
    scores = {}
    for name, model in models.items():
        parts = [
            predictions(fit(model, rows.iloc[train], outcomes), rows.iloc[test], outcomes) for train, test in folds
        ]
        predicted = pd.concat(parts).loc[rows.index]
        scores[name] = r2_score(rows[list(outcomes)], predicted)
    return max(scores, key=lambda name: scores[name])


def examine(
    kind: Kind, rows: pd.DataFrame, train: float, *, outcomes: Sequence[str] = OUTCOMES, repeats: int = 10,
    scored: pd.DataFrame | None = None,
) -> pd.DataFrame:  # fmt: skip
    """Train a kind of model on some of the rows and score it on the rest, on several random splits.

    Parameters
    ----------
    kind : {'shallow', 'linear', 'deep', 'fluid', 'better', 'carried', 'keras'}
        Kind of model; the candidate is chosen inside of the training rows of each split.
    rows : DataFrame
        Settings and outcomes, one row for each setting: splits are by row.
    train : float
        Share of the rows for training, or, from 1 on, their number.
    outcomes : sequence of str
        Outcomes that the model is chosen by, trained on and scored on.
    repeats : int
        Number of splits.
    scored : DataFrame, optional
        The rows that may be scored on, by index; by default all.

    Returns
    -------
    DataFrame
        One row for each split: ``model``, ``train`` (number of rows), ``r2`` (mean over outcomes, as the paper's
        average), ``r2 <outcome>``, and for the occupancies ``mae <outcome>`` and ``rmse <outcome>`` in kB.
    """
    count = max(round(train if train >= 1 else train * len(rows)), 4)

    def of_split(split: int) -> dict[str, object]:
        order = np.random.default_rng(split).permutation(len(rows))
        training, test = rows.iloc[order[:count]], rows.iloc[order[count:]]
        if scored is not None:
            test = test[test.index.isin(scored.index)]
        name = choose(kind, training, outcomes)
        predicted = predictions(fit(candidates(kind, outcomes)[name], training, outcomes), test, outcomes)
        r2 = _r2(test, predicted)
        lengths = [outcome for outcome in OCCUPANCIES if outcome in outcomes]
        errors = {f"mae {name}": float(mean_absolute_error(test[name], predicted[name])) for name in lengths}
        errors |= {f"rmse {name}": mean_squared_error(test[name], predicted[name]) ** 0.5 for name in lengths}
        mean = float(np.mean(list(r2.values())))
        return {"model": name, "train": count, "r2": mean, **{f"r2 {k}": v for k, v in r2.items()}, **errors}

    return pd.DataFrame([of_split(split) for split in range(repeats)])


def leave_out(
    kind: Kind, rows: pd.DataFrame, *, outcomes: Sequence[str] = OUTCOMES, later: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Train a kind of model on all conditions but one, and score it on that one; each is left out once.

    A condition is a rate of the line and an RTT of CUBIC. The candidate is chosen with whole conditions as folds, too.

    Parameters
    ----------
    kind, rows, outcomes
        As for `examine`.
    later : DataFrame, optional
        Rows, by index, that have scores of their own: those that were not used to design a model.

    Returns
    -------
    DataFrame
        One row for each condition: ``rate_gbps``, ``rtt_ms``, ``model``, ``train``, ``r2`` (mean over outcomes), ``r2
        <outcome>``, and ``later``, the mean for these rows (NaN: the condition has none). R2 is of the variance inside
        of the condition.
    """
    numbers = conditions(rows)
    of_later = rows.index.isin([] if later is None else later.index)

    def without(number: int) -> dict[str, object]:
        here = numbers == number
        training, test = rows[~here], rows[here]
        name = choose(kind, training, outcomes, by_condition=True)
        predicted = predictions(fit(candidates(kind, outcomes)[name], training, outcomes), test, outcomes)
        r2, known = _r2(test, predicted), of_later[here]
        of_known = _r2(test[known], predicted[known]) if known.any() else {"": np.nan}
        means = {part: float(np.mean([*scores.values()])) for part, scores in (("r2", r2), ("later", of_known))}
        where = {column: float(test[column].iloc[0]) for column in CONDITION}
        return {**where, "model": name, "train": len(training), **means, **{f"r2 {k}": v for k, v in r2.items()}}

    return pd.DataFrame([without(number) for number in sorted(numbers.unique())])


def conditions(rows: pd.DataFrame) -> pd.Series[int]:
    """Return by row the number of its condition."""
    numbers: pd.Series[int] = rows.groupby(list(CONDITION)).ngroup()
    return numbers


def _r2(test: pd.DataFrame, predicted: pd.DataFrame) -> dict[str, float]:
    return {str(outcome): float(r2_score(test[outcome], predicted[outcome])) for outcome in predicted}


def predictions(model: Any, rows: pd.DataFrame, outcomes: Sequence[str] = OUTCOMES) -> pd.DataFrame:
    """Return the predicted outcomes of settings, limited to possible values."""
    return limit(pd.DataFrame(model.predict(rows[list(SETTINGS)]), rows.index, list(outcomes)))
