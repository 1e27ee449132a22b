# SPDX-License-Identifier: Apache-2.0
"""Predict how many times as long a migrated flow takes, in many networks. Aykurt et al., Sec. VII, leave this open.

The inputs of a model are both variants, day, night, the links' buffer, the RTT and the number of flows. The scenarios
are spread over the whole space of these inputs. Each has one run, so a held-out row is always an unseen scenario.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesRegressor, HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import RidgeCV
from sklearn.metrics import r2_score
from sklearn.model_selection import KFold, cross_val_predict, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from threadpoolctl import threadpool_limits

from rdcnlab.analysis import tables
from rdcnlab.fields.errors import InputError
from rdcnlab.fields.units import NS_PER_S, NS_PER_US
from rdcnlab.runs.frame import Runs
from rdcnlab.scenario import Scenario
from rdcnlab.scenario.flow import TCP_HEADERS
from rdcnlab_papers.models import fct, saved

VARIANTS = ("bbr", "cubic", "dctcp", "reno", "westwood")
#: The inputs of a model.
INPUTS = (*fct.INPUTS, "buffer_kB", "rtt_us", "flows")
#: Mean time of the migrated flows divided by that of the main flows. Models predict its logarithm to base 2.
TARGET = "times_as_long"
#: Share of scenarios whose ratio must lie in the interval of the prediction.
CONFIDENCE = 0.9
FOLDS = 5
_KIND, _COMPARED = "prolongation", "compared"
_TREES = 40
#: Version number of `candidates` and `matrix`. A change of either must increase it, so that models are trained again.
_FORM = 2

Floats = npt.NDArray[np.float64]


def _fitted(model: Any, features: Floats, logs: Floats) -> Any:
    """Train a copy of a model, on one core.

    The threads of boosting wait for each other in busy loops. If another process uses the cores, training takes 25
    times as long.
    """
    with threadpool_limits(1, "openmp"):
        return clone(model).fit(features, logs)


def _predicted(model: Any, features: Floats) -> Floats:
    """Predict with a model, on one core: for each of its trees threads would wait for each other, see `_fitted`."""
    with threadpool_limits(1, "openmp"):
        predicted: Floats = model.predict(features)
    return predicted


def candidates() -> dict[str, Any]:
    """Return the untrained models to compare, beginning with the simplest."""
    return {
        "ridge, products of two": make_pipeline(
            StandardScaler(), PolynomialFeatures(2), RidgeCV(alphas=np.logspace(-2, 4, 13))
        ),
        "random forest": RandomForestRegressor(_TREES, min_samples_leaf=2, n_jobs=-1, random_state=0),
        "extremely randomised trees": ExtraTreesRegressor(_TREES, min_samples_leaf=2, n_jobs=-1, random_state=0),
        "gradient boosting": _boosting(),
    }


def _boosting(**loss: Any) -> HistGradientBoostingRegressor:
    return HistGradientBoostingRegressor(
        max_iter=100, learning_rate=0.1, max_leaf_nodes=12, min_samples_leaf=10, random_state=0, **loss
    )


def inputs(scenario: Scenario) -> dict[str, Any]:
    """Return the inputs of a model for a scenario.

    Parameters
    ----------
    scenario : Scenario
        A scenario with static main flows of one variant, and equally many migrated flows of one variant. All links are
        equal.

    Returns
    -------
    dict
        `INPUTS`. The RTT is that of a full packet and its ACK in an empty network.

    Raises
    ------
    InputError
        The scenario is not of this kind.
    """
    groups: dict[str, list[Any]] = {"main": [], "migrated": []}
    for number, flow in enumerate(scenario.flows):
        if tables.role(flow.name) not in groups or flow.protocol != "tcp":
            raise InputError.of(f"flows[{number}]", flow.name, "flows over TCP called main... and migrated...")
        groups[tables.role(flow.name)].append(flow)
    for name, flows in groups.items():
        if len({flow.cc for flow in flows}) != 1:
            raise InputError.of("flows", f"{len(flows)} called {name}", "some of each group, of one variant")
    if len({link.buffer for link in scenario.network.links}) != 1:
        raise InputError.of("network.links", "different buffers", "links that are all alike")
    try:
        flow_inputs = fct.inputs(scenario)
    except ValueError as error:
        raise InputError.of("flows", "migrated", f"a timetable with equal days and equal nights ({error})") from None
    return {
        **flow_inputs,
        "buffer_kB": scenario.network.links[0].buffer_bytes(scenario.network.mtu) / 1000,
        "rtt_us": rtt_ns(scenario) / NS_PER_US,
        "flows": len(scenario.flows),
    }


def rtt_ns(scenario: Scenario) -> float:
    """Return the RTT in ns of a migrated flow's full packet and its ACK in an empty network."""
    flow = next(flow for flow in scenario.flows if tables.role(flow.name) == "migrated")
    return scenario.network.rtt_ns(flow.src, flow.dst, scenario.network.mtu, TCP_HEADERS)


def dataset(runs: Runs) -> pd.DataFrame:
    """Return one row for each run: `INPUTS` and `TARGET`. Runs in which a flow did not finish are left out."""
    times = tables.completion(runs.flows.assign(period_ms=0)).set_index("run").dropna()
    unfinished = set(runs.flows.loc[~runs.flows["finished"], "run"])
    times = times[~times.index.isin(unfinished)]
    rows = pd.DataFrame([inputs(runs[run].scenario) for run in times.index], columns=list(INPUTS))
    rows[TARGET] = (times["migrated_s"] / times["main_s"]).to_numpy()
    return rows


def censored(runs: Runs) -> pd.DataFrame:
    """Return one row for each run that ended before the migrated flows did: `INPUTS` and ``least``.

    ``least`` is what `TARGET` is at least: the time for which a migrated flow ran until the run's end, over the main
    flows' completion time. Runs whose main flows did not finish either say nothing and are left out.
    """
    flows = runs.flows.assign(role=runs.flows["flow"].map(tables.role))
    unfinished = flows[~flows["finished"]]
    main, migrated = ({*unfinished.loc[unfinished["role"] == role, "run"]} for role in ("main", "migrated"))
    rows = []
    for (run,), of_run in tables.groups(flows[flows["run"].isin(migrated - main)], ["run"]):
        scenario = runs[run].scenario
        cut = of_run[(of_run["role"] == "migrated") & ~of_run["finished"]]
        main_s = of_run.loc[of_run["role"] == "main", "fct_s"].mean()
        least = float((scenario.limit / NS_PER_S - cut["start_s"]).max() / main_s)
        rows.append({**inputs(scenario), "least": least})
    return pd.DataFrame(rows, columns=[*INPUTS, "least"])


def reached(rows: pd.DataFrame, predictor: Predictor) -> pd.DataFrame:
    """Return whether the prediction (``typical``) and its interval's upper end (``high``) reach a censored value.

    The column ``factor`` is the censored value over the prediction.

    Parameters
    ----------
    rows : DataFrame
        Rows as `censored` returns them; the predictor was not trained on them.
    predictor : Predictor
        The model.
    """
    features, least = matrix(rows), np.log2(rows["least"].to_numpy(dtype=float))
    _, high = _interval_ends(predictor.intervals, features)
    point = _predicted(predictor.point, features)
    reaches = {"typical": point >= least, "high": np.maximum(high, point) >= least}
    return pd.DataFrame({**reaches, "factor": 2 ** (least - point)})


def matrix(rows: pd.DataFrame, without: str | None = None) -> Floats:
    """Return the feature matrix of models: a column for each variant of each group, and logarithms of other inputs.

    Parameters
    ----------
    rows : DataFrame
        Rows of `INPUTS`.
    without : str, optional
        An input to leave out.
    """
    columns = []
    for name in INPUTS:
        if name == without:
            continue
        if name in ("migrated", "main"):
            columns += [(rows[name] == variant).to_numpy(dtype=float) for variant in VARIANTS]
        elif name == "night_ms":
            columns.append(np.log2(1 + 100 * (rows[name] / rows["day_ms"]).to_numpy(dtype=float)))
        else:
            columns.append(np.log2(rows[name].to_numpy(dtype=float)))
    return np.stack(columns, axis=1)


def _logs(rows: pd.DataFrame) -> Floats:
    logs: Floats = np.log2(rows[TARGET].to_numpy(dtype=float))
    return logs


def held_out(rows: pd.DataFrame, model: Any, without: str | None = None) -> Floats:
    """Return a prediction for each row (log2 of `TARGET`) by a model that was not trained on it."""
    with threadpool_limits(1, "openmp"):
        predictions: Floats = cross_val_predict(clone(model), matrix(rows, without), _logs(rows), cv=_folds(len(rows)))
    return predictions


def _folds(count: int) -> KFold:
    return KFold(min(FOLDS, count), shuffle=True, random_state=0)


def compare(rows: pd.DataFrame) -> pd.DataFrame:
    """Return for every candidate ``r2`` on held-out folds, and ``off``, the median factor of its error; best first."""
    scores = []
    for name, model in candidates().items():
        predictions = held_out(rows, model)
        off = float(2 ** np.median(np.abs(predictions - _logs(rows))))
        scores.append({"model": name, "r2": float(r2_score(_logs(rows), predictions)), "off": off})
    return pd.DataFrame(scores).set_index("model").sort_values("r2", ascending=False)


def ceiling(rows: pd.DataFrame) -> float:
    """Return the highest possible R2: that of a model which predicts the exact mean of every scenario.

    The rest of the variance comes from the seeds, and no model can explain it.

    Parameters
    ----------
    rows : DataFrame
        Data as `dataset` returns them, with several seeds of each scenario.
    """
    logs = pd.Series(_logs(rows), index=rows.index)
    variances = logs.groupby([rows[name] for name in INPUTS]).var()
    return float(1 - variances.mean() / logs.var())


def ablation(rows: pd.DataFrame, name: str) -> pd.Series[float]:
    """Return for each input the decrease of R2 on held-out folds if a model is trained without it; largest first."""
    model = candidates()[name]
    full_r2 = r2_score(_logs(rows), held_out(rows, model))
    lost = {omitted: float(full_r2 - r2_score(_logs(rows), held_out(rows, model, omitted))) for omitted in INPUTS}
    return pd.Series(lost).sort_values(ascending=False)


def coverage(rows: pd.DataFrame) -> tuple[float, float]:
    """Return the share of held-out rows that are in their interval, and the typical ratio of the interval's ends."""
    features, logs = matrix(rows), _logs(rows)
    inside, width = [], []
    for train, test in _folds(len(rows)).split(rows):
        low, high = _interval_ends(_intervals(features[train], logs[train]), features[test])
        inside.append((low <= logs[test]) & (logs[test] <= high))
        width.append(high - low)
    return float(np.concatenate(inside).mean()), float(2 ** np.median(np.concatenate(width)))


@dataclass(frozen=True)
class HeldOut:
    """The record of models' predictions for scenarios that they were not trained on.

    Parameters
    ----------
    path : Path
        File of the record.
    candidates : DataFrame
        Result of `compare`.
    inside, width : float
        Result of `coverage`.
    """

    path: Path
    candidates: pd.DataFrame
    inside: float
    width: float


def comparison(rows: pd.DataFrame) -> HeldOut:
    """Return `compare` and `coverage` of a data set: from the saved record if there is one, otherwise by training."""
    settings = {"confidence": CONFIDENCE, "folds": FOLDS, "form": _FORM}
    recipe = saved.Recipe(_COMPARED, ".csv", settings, _content(rows))

    def train() -> Path:
        candidates, (inside, width) = compare(rows), coverage(rows)
        about = {"rows": len(rows), "inside": inside, "width": width}
        return saved.keep(recipe, lambda target: candidates.to_csv(target), about, ("scikit-learn", "numpy"))

    path = saved.once(recipe, train)
    about = saved.provenance(path)
    return HeldOut(path, pd.read_csv(path, index_col="model"), about["inside"], about["width"])


def _intervals(features: Floats, logs: Floats) -> dict[str, Any]:
    """Train both ends of the interval on most rows, and widen them by their errors on the other rows.

    This is conformalised quantile regression (Romano, Patterson, Candes 2019): a new row is between the ends with the
    probability `CONFIDENCE`, even if the models of the ends are poor.
    """
    train, calibration = train_test_split(np.arange(len(logs)), test_size=0.25, random_state=0)
    ends = {
        name: _fitted(_boosting(loss="quantile", quantile=share), features[train], logs[train])
        for name, share in (("low", (1 - CONFIDENCE) / 2), ("high", (1 + CONFIDENCE) / 2))
    }
    low, high = (_predicted(ends[name], features[calibration]) for name in ("low", "high"))
    off = np.maximum(low - logs[calibration], logs[calibration] - high)
    rank = min(int(np.ceil((len(calibration) + 1) * CONFIDENCE)), len(calibration))
    return {**ends, "wider": float(np.sort(off)[rank - 1])}


def _interval_ends(intervals: Mapping[str, Any], features: Floats) -> tuple[Floats, Floats]:
    """Return the lower and the upper end of each row's interval."""
    low = _predicted(intervals["low"], features) - intervals["wider"]
    high = _predicted(intervals["high"], features) + intervals["wider"]
    return np.minimum(low, high), np.maximum(low, high)


@dataclass(frozen=True)
class Predictor:
    """A trained model with its intervals.

    Parameters
    ----------
    point : estimator
        Model of the typical ratio.
    intervals : dict
        Models of the ``low`` and ``high`` ends of the interval, and the amount by which to make it ``wider``.
    about : dict
        Provenance. It includes the ``ranges`` of the training data.
    """

    point: Any
    intervals: Mapping[str, Any]
    about: Mapping[str, Any]

    def predict(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Return `TARGET` and its interval, ``low`` and ``high``, for rows of `INPUTS`.

        Raises
        ------
        InputError
            An input is outside of the range of the training data.
        """
        saved.check_ranges(rows, self.about["ranges"], slack=0.001)
        for name in ("migrated", "main"):
            for value in set(rows[name]) - set(VARIANTS):
                raise InputError.unknown(name, value, VARIANTS, "variant")
        features = matrix(rows)
        low, high = _interval_ends(self.intervals, features)
        point = _predicted(self.point, features)
        return pd.DataFrame(
            {TARGET: 2**point, "low": 2 ** np.minimum(low, point), "high": 2 ** np.maximum(high, point)}
        )


def load_or_train(rows: pd.DataFrame, name: str) -> Path:
    """Return the file of the predictor for a data set: the saved file if there is one, otherwise a new one.

    Parameters
    ----------
    rows : DataFrame
        Data as `dataset` returns them.
    name : str
        Name of one of `candidates`.
    """
    recipe = saved.Recipe(_KIND, ".skops", {"model": name, "confidence": CONFIDENCE, "form": _FORM}, _content(rows))

    def train() -> Path:
        features, logs = matrix(rows), _logs(rows)
        models = {"point": _fitted(candidates()[name], features, logs), "intervals": _intervals(features, logs)}
        numbers = [column for column in INPUTS if column not in ("migrated", "main")]
        ranges = {column: [float(rows[column].min()), float(rows[column].max())] for column in numbers}
        about = {"rows": len(rows), "ranges": ranges}
        return saved.keep_sklearn(recipe, models, about)

    return saved.once(recipe, train)


def _content(rows: pd.DataFrame) -> str:
    return saved.digest(*(rows[column].to_numpy() for column in (*INPUTS, TARGET)))


def load(path: Path) -> Predictor:
    """Read a saved predictor."""
    models = saved.read_sklearn(path)
    return Predictor(models["point"], models["intervals"], saved.provenance(path))


def best() -> Predictor:
    """Return the predictor that was trained on the most rows. Among equals, a shipped predictor comes first."""
    return load(saved.most_rows(_KIND, "aykurt/general"))
