# SPDX-License-Identifier: Apache-2.0
"""Predict shares, drops and queues of DCTCP and CUBIC in a shared buffer from its settings. Vargas et al., Sec. 7.

The data are a table with one row for each run: settings and outcomes of `rdcnlab.analysis.sharing`. Models are trained
on a few percent of the rows and scored on all other rows. Cross-validation inside the training rows chooses one of
several models, so the choice never uses the rows of the score.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel
from sklearn.linear_model import RidgeCV
from sklearn.metrics import mean_absolute_error, mean_squared_error, r2_score
from sklearn.model_selection import KFold
from sklearn.multioutput import MultiOutputRegressor
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, PolynomialFeatures, StandardScaler
from threadpoolctl import threadpool_limits

from rdcnlab.analysis.intervals import Estimate
from rdcnlab.analysis.sharing import OUTCOMES, SETTINGS

Floats = npt.NDArray[np.float64]
#: Kinds of models: Table 2's two, those that use the physics of the queue, and the alternative with TensorFlow.
Kind = Literal["shallow", "deep", "better", "keras"]
#: Outcomes without drops, which Table 2 leaves out in two of its rows, and the occupancies.
NO_DROPS = tuple(name for name in OUTCOMES if name != "drops")
OCCUPANCIES = ("average_kB", "longest_kB")
#: Flows of DCTCP and their RTT without queue in s; the bytes that they keep under way at least: 2 segments each.
_FLOWS, _NEAR_S, _FLOOR_KB = 100, 50e-6, 100 * 2 * 1.514
_BUFFER_KB = 1800.0
#: Folds inside of the training rows.
_FOLDS = 5


def physics(rows: pd.DataFrame) -> pd.DataFrame:
    """Compute physical features from the settings, with known properties of queues and congestion controls.

    Returns
    -------
    DataFrame
        - ``ecn``, ``low``, ``high``: thresholds over DCTCP's bandwidth-delay product, as logarithms (1 is added).
        - ``room``: larger drop threshold less ECN threshold, over the buffer: above 0 CUBIC can wait where DCTCP is
          marked already.
        - ``floor``: share of the line that DCTCP has at least if the queue is at the larger drop threshold: Linux keeps
          two segments of each flow under way, even if all packets are marked.
        - ``floor_low``: the same at the smaller threshold.
        - ``product``: logarithm of the packets under way that CUBIC needs to fill the line.
        - ``rate``, ``rtt``: logarithms.
        - ``loss``: logarithm of the loss rate at which CUBIC's flows fill the line, by Reno's or CUBIC's response.
        - ``slope``: drop probability per length of the queue, or that of drop-tail, as a logarithm.
        - ``width``: distance of the drop thresholds over the buffer.
    """
    rate, rtt = rows["rate_gbps"].to_numpy(float), rows["rtt_ms"].to_numpy(float)
    ecn, low, high = (rows[name].to_numpy(float) for name in ("ecn_kB", "min_kB", "max_kB"))
    chance = rows["probability"].to_numpy(float) / 100
    product_near = rate * 1e9 * _NEAR_S / 8e3
    product = rate * 1e9 * rtt * 1e-3 / (8 * 1514)
    window = np.maximum(product / _FLOWS, 2.0)
    # Reno: window sqrt(1.5 / p); CUBIC (RFC 9438, Sec. 5.1): 1.054 (RTT^3 / p^3)^(1/4). The larger window counts.
    loss = np.maximum(1.5 / window**2, (1.054 / window) ** (4 / 3) * rtt * 1e-3)

    def floor(queue: Floats) -> Floats:
        share: Floats = np.minimum(_FLOOR_KB / (product_near + queue), 1.0)
        return share

    wide = high > low
    return pd.DataFrame(
        {
            "ecn": np.log1p(ecn / product_near),
            "low": np.log1p(low / product_near),
            "high": np.log1p(high / product_near),
            "room": (high - ecn) / _BUFFER_KB,
            "room_low": (low - ecn) / _BUFFER_KB,
            "floor": floor(high),
            "floor_low": floor(low),
            "product": np.log(product),
            "rate": np.log(rate),
            "rtt": np.log(rtt),
            "loss": np.log(loss),
            "slope": np.log(np.where(wide, chance / np.maximum(high - low, 1.0), 1.0)),
            "width": (high - low) / _BUFFER_KB,
        },
        index=rows.index,
    )


def plain(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the features of Sec. 7.2.1: thresholds, RTT and rate; and the drop probability, which varies here."""
    return rows[list(SETTINGS)]


def _squeezed(values: Floats, column: int) -> Floats:
    """Return outcomes in the form for training: drops, which are in one column, are logarithms (1 is added)."""
    outcomes = np.array(values, dtype=float)
    outcomes[:, column] = np.log1p(np.maximum(outcomes[:, column], 0))
    return outcomes


def _released(values: Floats, column: int) -> Floats:
    outcomes = np.array(values, dtype=float)
    outcomes[:, column] = np.expm1(np.clip(outcomes[:, column], 0, 20))
    return outcomes


def _model(
    core: Any, features: Callable[[pd.DataFrame], pd.DataFrame], *, drops: int | None = None
) -> TransformedTargetRegressor:
    """Return an untrained model: features, everything scaled to variance 1, and an estimator.

    Outcomes of the column `drops`, if it is given, are logarithms.
    """
    steps = [FunctionTransformer(features), StandardScaler(), core]
    scaled: Any = StandardScaler()
    if drops is not None:
        place = {"column": drops}
        logs = FunctionTransformer(_squeezed, _released, kw_args=place, inv_kw_args=place)
        scaled = Pipeline([("logs", logs), ("scaled", StandardScaler())])
    return TransformedTargetRegressor(make_pipeline(*steps), transformer=scaled, check_inverse=False)


def _network(width: int, decay: float) -> MLPRegressor:
    return MLPRegressor(hidden_layer_sizes=(width, width), solver="lbfgs", alpha=decay, max_iter=2000, random_state=0)


def _process(dimensions: int) -> MultiOutputRegressor:
    """Return a Gaussian process for each outcome, with a length of its own for each feature."""
    kernel = ConstantKernel(1.0, (1e-2, 1e2)) * Matern(np.ones(dimensions), (0.1, 100.0), nu=2.5)
    kernel += WhiteKernel(1e-2, (1e-5, 1.0))
    return MultiOutputRegressor(GaussianProcessRegressor(kernel, normalize_y=True, random_state=0))


_DIMENSIONS = 13


def candidates(kind: Kind, outcomes: Sequence[str] = OUTCOMES) -> dict[str, Any]:
    """Return the untrained models of a kind by name; the paper names no more than "shallow" and "two-layer deep".

    They predict all `outcomes` at once.
    """
    if kind == "shallow":
        return {
            "ridge": _model(RidgeCV(np.logspace(-3, 3, 13)), plain),
            "quadratic": _model(make_pipeline(PolynomialFeatures(2), RidgeCV(np.logspace(-2, 4, 13))), plain),
            "neighbours": _model(KNeighborsRegressor(3, weights="distance"), plain),
            "forest": _model(RandomForestRegressor(200, min_samples_leaf=1, random_state=0), plain),
        }
    if kind == "deep":
        return {
            f"mlp {width}x{width}, decay {decay:g}": _model(_network(width, decay), plain)
            for width in (16, 48)
            for decay in (0.01, 0.1, 1.0)
        }
    if kind == "keras":
        from rdcnlab.models.buffers_keras import Dense

        return {"keras 48x48": _model(Dense(48), plain)}
    drops = list(outcomes).index("drops") if "drops" in outcomes else None
    boosting = HistGradientBoostingRegressor(max_iter=300, learning_rate=0.05, min_samples_leaf=5, random_state=0)
    models = {
        "boosting": _model(MultiOutputRegressor(boosting), physics, drops=drops),
        "mlp, physics": _model(_network(48, 0.1), physics),
        "gaussian process": _model(_process(_DIMENSIONS), physics),
    }
    if drops is not None:
        models["gaussian process, logarithms of drops"] = _model(_process(_DIMENSIONS), physics, drops=drops)
    return models


def fitted(model: Any, rows: pd.DataFrame, outcomes: Sequence[str] = OUTCOMES) -> Any:
    """Return the model, trained on these outcomes of rows."""
    with threadpool_limits(1), warnings.catch_warnings():
        # a network that has used its iterations, and a length at its bound, are answers like others
        warnings.simplefilter("ignore", ConvergenceWarning)
        return clone(model).fit(rows[list(SETTINGS)], rows[list(outcomes)].to_numpy(float))


def chosen(kind: Kind, rows: pd.DataFrame, outcomes: Sequence[str] = OUTCOMES) -> str:
    """Return the name of the candidate with the best score in cross-validation inside of the training rows.

    The score is that of `examined`: mean R2 of these outcomes, of predictions limited to possible values.
    """
    models = candidates(kind, outcomes)
    if len(models) == 1:
        return next(iter(models))
    folds = list(KFold(min(_FOLDS, len(rows)), shuffle=True, random_state=0).split(rows))
    scores = {}
    for name, model in models.items():
        parts = [
            predictions(fitted(model, rows.iloc[train], outcomes), rows.iloc[test], outcomes) for train, test in folds
        ]
        predicted = pd.concat(parts).loc[rows.index]
        scores[name] = r2_score(rows[list(outcomes)], predicted)
    return max(scores, key=lambda name: scores[name])


def examined(
    kind: Kind, rows: pd.DataFrame, train: float, *, outcomes: Sequence[str] = OUTCOMES, repeats: int = 10
) -> pd.DataFrame:
    """Train a kind of model on some of the rows and score it on the rest, on several random splits.

    Parameters
    ----------
    kind : {'shallow', 'deep', 'better', 'keras'}
        Kind of model; the candidate is chosen inside of the training rows of each split.
    rows : DataFrame
        Settings and outcomes, one row for each setting: splits are by row.
    train : float
        Share of the rows for training, or, from 1 on, their number.
    outcomes : sequence of str
        Outcomes that the model is chosen by, trained on and scored on.
    repeats : int
        Number of splits.

    Returns
    -------
    DataFrame
        One row for each split: ``model``, ``train`` (number of rows), ``r2`` (mean over outcomes, as the paper's
        average), ``r2 <outcome>``, and for the occupancies ``mae <outcome>`` and ``rmse <outcome>`` in kB.
    """
    count = max(round(train if train >= 1 else train * len(rows)), 4)
    scores = []
    for split in range(repeats):
        order = np.random.default_rng(split).permutation(len(rows))
        training, test = rows.iloc[order[:count]], rows.iloc[order[count:]]
        name = chosen(kind, training, outcomes)
        predicted = predictions(fitted(candidates(kind, outcomes)[name], training, outcomes), test, outcomes)
        r2 = {outcome: float(r2_score(test[outcome], predicted[outcome])) for outcome in outcomes}
        lengths = [outcome for outcome in OCCUPANCIES if outcome in outcomes]
        errors = {f"mae {name}": float(mean_absolute_error(test[name], predicted[name])) for name in lengths}
        errors |= {f"rmse {name}": mean_squared_error(test[name], predicted[name]) ** 0.5 for name in lengths}
        mean = float(np.mean(list(r2.values())))
        scores.append({"model": name, "train": count, "r2": mean, **{f"r2 {k}": v for k, v in r2.items()}, **errors})
    return pd.DataFrame(scores)


def predictions(model: Any, rows: pd.DataFrame, outcomes: Sequence[str] = OUTCOMES) -> pd.DataFrame:
    """Return the predicted outcomes of settings, limited to possible values."""
    return bounded(pd.DataFrame(model.predict(rows[list(SETTINGS)]), rows.index, list(outcomes)))


def bounded(outcomes: pd.DataFrame) -> pd.DataFrame:
    """Limit outcomes to possible values: shares of 0 to 100 %, lengths up to the buffer, no negative drops."""
    top = {"share": 100.0, "drops": np.inf, "average_kB": _BUFFER_KB, "longest_kB": _BUFFER_KB}
    clipped: pd.DataFrame = outcomes.apply(lambda column: column.clip(0.0, top[str(column.name)]))
    return clipped


def spread(scores: pd.DataFrame, column: str) -> Estimate:
    """Return the mean of a score over splits; its interval contains 95 % of the single splits.

    Splits share rows, so an interval of their mean would claim too much. A reader has one split, as the paper has.
    """
    values = scores[column].to_numpy(float)
    low, high = np.quantile(values, [0.025, 0.975])
    return Estimate(float(values.mean()), float(low), float(high))
