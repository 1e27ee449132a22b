# SPDX-License-Identifier: Apache-2.0
"""Gaussian processes for the outcomes of a shared buffer, with calibrated intervals.

There is one process for each outcome, over the features of `rdcnlab_papers.models.physics`. It corrects what the fluid
model says of this outcome; drops are logarithms. A process states how uncertain it is, but not with the right scale. So
its standard deviations are multiplied by a factor. With this factor the share `CONFIDENCE` of the held-out rows is in
their intervals (normalised conformal prediction; Papadopoulos et al. 2008). A new setting of the same kind is then in
its interval with about this probability, even if the process is a poor model. Each condition, a pair of rate and RTT,
has factors of its own if it has enough rows (Mondrian conformal prediction; Vovk et al. 2003).
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from threadpoolctl import threadpool_limits

from rdcnlab.fields.errors import InputError
from rdcnlab_papers.analysis.sharing import OUTCOMES, SETTINGS
from rdcnlab_papers.models import saved
from rdcnlab_papers.models.fluid import balance
from rdcnlab_papers.models.physics import FEATURES, limit, physics

# scikit-learn is imported where processes are trained: the import takes seconds, and most figures need none
if TYPE_CHECKING:
    from sklearn.preprocessing import StandardScaler

Floats = npt.NDArray[np.float64]
#: Probability that an interval contains the outcome.
CONFIDENCE = 0.9
#: Parts of the rows; each is held out once for the factors of intervals.
FOLDS = 5
#: Rows that kernels are optimised on at most: the time for it grows with the cube of their number.
OPTIMISED = 300
#: Smallest number of rows to train on: the factor of an interval is a quantile of held-out errors.
LEAST_ROWS = 20
#: A pair of rate and RTT with at least so many rows is a condition of the data; rows of rarer ones lie between these.
LEAST_OF_CONDITION = 5
#: Names of the rows between the conditions, and of all rows.
BETWEEN, ALL = "between", "all"
#: Rows whose means are predicted together: the matrices of more rows do not fit into a processor's cache.
_BLOCK = 64
#: Version number of the model and of the form of its file; a change of either must increase it.
_KIND, _FORM = "buffers", 9


def targets(rows: pd.DataFrame) -> Floats:
    """Return outcomes in the form for processes, shape (n, 4): drops are logarithms (1 is added)."""
    outcomes = np.array(rows[list(OUTCOMES)], dtype=float)
    outcomes[:, OUTCOMES.index("drops")] = np.log1p(np.maximum(outcomes[:, OUTCOMES.index("drops")], 0))
    return outcomes


def outcomes_of(values: Floats, index: pd.Index, names: Sequence[str] = OUTCOMES) -> pd.DataFrame:
    """Invert `targets`: return outcomes, limited to possible values; the columns of `values` are these outcomes."""
    outcomes = pd.DataFrame(np.array(values, dtype=float), index, list(names))
    if "drops" in names:
        outcomes["drops"] = np.expm1(np.clip(outcomes["drops"].to_numpy(), 0, 20))
    return limit(outcomes)


def kernel() -> Any:
    """Return the kernel of a process, with a length of its own for each feature.

    No length is below a standard deviation of its feature: with few rows shorter ones fit their noise.
    """
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

    lengths = Matern(np.full(len(FEATURES), 3.0), (1.0, 100.0), nu=1.5)
    return ConstantKernel(1.0, (1e-2, 1e3)) * lengths + WhiteKernel(1e-2, (1e-5, 1.0))


@dataclass(frozen=True)
class Processes:
    """A trained process for each outcome.

    Parameters
    ----------
    inputs : StandardScaler
        Scales features.
    by_outcome : list of GaussianProcessRegressor
        In the order of `OUTCOMES`.
    rows : DataFrame
        Settings and outcomes that they were trained on.
    """

    inputs: StandardScaler
    by_outcome: list[Any]
    rows: pd.DataFrame

    @property
    def kernels(self) -> list[Any]:
        """The optimised kernels, in the order of `OUTCOMES`."""
        return [process.kernel_ for process in self.by_outcome]

    def predict(self, rows: pd.DataFrame) -> tuple[Floats, Floats]:
        """Return means and standard deviations in the form of `targets`, both of shape (n, 4)."""
        fluid = balance(rows)
        features = self.inputs.transform(physics(rows, fluid))
        with threadpool_limits(1):
            predictions = [process.predict(features, return_std=True) for process in self.by_outcome]
        corrections, deviations = (np.stack(columns, axis=1) for columns in zip(*predictions, strict=True))
        return targets(fluid) + corrections, deviations

    def means(self, rows: pd.DataFrame, names: Sequence[str]) -> Floats:
        """Return the means of these outcomes as `predict` does, shape (n, names), in a small part of its time."""
        fluid = balance(rows)
        features = self.inputs.transform(physics(rows, fluid))
        indices = [OUTCOMES.index(name) for name in names]
        with threadpool_limits(1):
            corrections = [_means(self.by_outcome[index], features) for index in indices]
        means: Floats = targets(fluid)[:, indices] + np.stack(corrections, axis=1)
        return means


def _means(process: Any, features: Floats) -> Floats:
    """Return the means of a process as its method `predict` does, shape (n,), in a third of its time.

    A Matern kernel with nu = 1.5 is (1 + s) exp(-s), where s is the distance times the root of 3 (Rasmussen and
    Williams, eq. 4.17). Distances are computed with one matrix product. The white noise of `kernel` adds nothing to
    means.
    """
    matern, variance = process.kernel_.k1.k2, process.kernel_.k1.k1.constant_value
    known = process.X_train_ * (np.sqrt(3) / matern.length_scale)
    asked = features * (np.sqrt(3) / matern.length_scale)
    squares = (known**2).sum(axis=1)
    weights = variance * process._y_train_std * process.alpha_
    means = np.empty(len(asked))
    for first in range(0, len(asked), _BLOCK):
        block = asked[first : first + _BLOCK]
        distance = block @ (-2 * known.T)
        distance += squares
        distance += (block**2).sum(axis=1)[:, None]
        # rounding may make a distance of zero negative
        np.sqrt(np.maximum(distance, 0, out=distance), out=distance)
        correlation = np.exp(-distance)
        distance += 1
        correlation *= distance
        means[first : first + _BLOCK] = correlation @ weights
    means += process._y_train_mean
    return means


def groups(rows: pd.DataFrame) -> pd.Series[str]:
    """Return the condition of each row in words; those of rare conditions are `BETWEEN`."""
    names = conditions(rows)
    return names.where(names.map(names.value_counts()) >= LEAST_OF_CONDITION, BETWEEN)


def conditions(rows: pd.DataFrame) -> pd.Series[str]:
    """Return the rate and the RTT of each row in words, such as ``5 Gb/s, 25 ms``."""
    rates, rtts = rows["rate_gbps"].round(3), rows["rtt_ms"].round(3)
    return rates.map("{:g} Gb/s, ".format) + rtts.map("{:g} ms".format)


def evenly(rows: pd.DataFrame, count: int) -> pd.DataFrame:
    """Choose `count` rows at random, as many of each of `groups` as possible; all if there are not more."""
    if len(rows) <= count:
        return rows
    order = np.random.default_rng(0).permutation(len(rows))
    names = groups(rows).iloc[order].reset_index(drop=True)
    turns = names.groupby(names).cumcount().to_numpy()
    return rows.iloc[np.sort(order[np.argsort(turns, kind="stable")[:count]])]


def processes(rows: pd.DataFrame, kernels: Sequence[Any] | None = None) -> Processes:
    """Train a process for each outcome.

    Parameters
    ----------
    rows : DataFrame
        Settings and outcomes.
    kernels : sequence of Kernel, optional
        Kernels to use, one for each outcome. Without them they are optimised, on `OPTIMISED` rows at most.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.preprocessing import StandardScaler

    if kernels is None and len(rows) > OPTIMISED:
        kernels = processes(evenly(rows, OPTIMISED)).kernels
    fluid = balance(rows)
    known = physics(rows, fluid)
    inputs = StandardScaler().fit(known)
    features, corrections = inputs.transform(known), targets(rows) - targets(fluid)
    fitted = []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a length at its bound means: no influence
        for index in range(len(OUTCOMES)):
            if kernels is None:
                process = GaussianProcessRegressor(kernel(), normalize_y=True)
            else:
                process = GaussianProcessRegressor(kernels[index], normalize_y=True, optimizer=None)
            fitted.append(process.fit(features, corrections[:, index]))
    return Processes(inputs, fitted, rows[[*SETTINGS, *OUTCOMES]])


@dataclass(frozen=True, eq=False)
class Predictor:
    """Trained processes with the factors of their intervals.

    Parameters
    ----------
    processes : Processes
        The processes.
    factors : DataFrame
        Factors that multiply the standard deviations: a row for each condition with enough rows, for `BETWEEN`, and
        one for `ALL`; the columns are `OUTCOMES`.
    about : dict
        Provenance; it has the ``ranges`` of the training data.
    """

    processes: Processes
    factors: pd.DataFrame
    about: Mapping[str, Any]

    @property
    def length_s(self) -> int | None:
        """Length in s of all runs that it was trained on. None: they have several lengths, or these are not known."""
        lengths = self.about.get("lengths_s", [])
        return int(lengths[0]) if len(lengths) == 1 else None

    def predict(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Return `OUTCOMES` for settings, each with the ends of its interval: ``<outcome> low``, ``<outcome> high``.

        Raises
        ------
        InputError
            A setting is outside of the range of the training data.
        """
        saved.check_ranges(rows, self.about["ranges"])
        mean, deviation = self.processes.predict(rows)
        means = outcomes_of(mean, rows.index)
        half = self._factors_of(rows) * deviation
        ends = {"low": mean - half, "high": mean + half}
        parts = [outcomes_of(values, rows.index).add_suffix(f" {name}") for name, values in ends.items()]
        return pd.concat([means, *parts], axis=1)

    def expect(self, rows: pd.DataFrame, names: Sequence[str] = OUTCOMES) -> pd.DataFrame:
        """Return some outcomes of settings without their intervals, which take most of the time of `predict`.

        Raises
        ------
        InputError
            A setting is outside of the range of the training data.
        """
        saved.check_ranges(rows, self.about["ranges"])
        return outcomes_of(self.processes.means(rows, names), rows.index, names)

    def doubt(self, rows: pd.DataFrame) -> Floats:
        """Return the uncertainty of the model, shape (n,): the mean over outcomes of their calibrated deviations.

        1 is the spread of the outcome over the training data.
        """
        _, deviation = self.processes.predict(rows)
        spread = np.array(self.about["spread"])
        doubts: Floats = (self._factors_of(rows) * deviation / spread).mean(axis=1)
        return doubts

    def _factors_of(self, rows: pd.DataFrame) -> Floats:
        """Return the factors of each row, shape (n, 4)."""
        # a condition of the training data with too few rows for factors of its own is not between conditions
        known = {*conditions(pd.DataFrame(self.about["conditions"], columns=["rate_gbps", "rtt_ms"]))}
        rest = BETWEEN if BETWEEN in self.factors.index else ALL
        names = [name if name in self.factors.index else ALL if name in known else rest for name in conditions(rows)]
        return self.factors.loc[names].to_numpy(float)


def factors(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the factors with which intervals of held-out rows contain `CONFIDENCE` of them, by condition and outcome.

    Kernels are optimised without the held-out rows, too: with kernels of all rows, factors are too small. A condition
    with `LEAST_ROWS` rows has factors of its own. The others have those of `ALL`, to which each of `groups` contributes
    the same weight, or less if it has fewer than `LEAST_ROWS` rows: a condition with many rows would otherwise decide.
    """
    from sklearn.model_selection import KFold

    ratios = np.empty((len(rows), len(OUTCOMES)))
    for train, test in KFold(FOLDS, shuffle=True, random_state=0).split(rows):
        mean, deviation = processes(rows.iloc[train]).predict(rows.iloc[test])
        ratios[test] = np.abs(targets(rows.iloc[test]) - mean) / deviation
    names = groups(rows)
    sizes = names.value_counts()
    table = {ALL: _quantiles(ratios, 1.0 / names.map(sizes).clip(lower=LEAST_ROWS).to_numpy(float))}
    for name in sorted(sizes[sizes >= LEAST_ROWS].index):
        here = (names == name).to_numpy()
        table[name] = _quantiles(ratios[here], np.ones(here.sum()))
    return pd.DataFrame.from_dict(table, orient="index", columns=[*OUTCOMES])


def _quantiles(ratios: Floats, weights: Floats) -> Floats:
    """Return for each outcome the ratio that `CONFIDENCE` of new rows do not exceed.

    A new row has the largest of the weights.
    """
    order = np.argsort(ratios, axis=0, kind="stable")
    needed = CONFIDENCE * (weights.sum() + weights.max()) * (1 - 1e-12)
    ranks = np.minimum((np.cumsum(weights[order], axis=0) < needed).sum(axis=0), len(ratios) - 1)
    quantiles: Floats = np.take_along_axis(np.sort(ratios, axis=0), ranks[None, :], axis=0)[0]
    return quantiles


def predictor(rows: pd.DataFrame, about: Mapping[str, Any] | None = None) -> Predictor:
    """Train a predictor on settings and outcomes."""
    if len(rows) < LEAST_ROWS:
        raise InputError.of("rows", len(rows), f"at least {LEAST_ROWS} runs, to train on")
    return Predictor(processes(rows), factors(rows), {**provenance(rows), **(about or {})})


def provenance(rows: pd.DataFrame) -> dict[str, Any]:
    """Return what a predictor's `about` has of its training data: ranges, spread, conditions, and lengths of runs."""
    ranges = {name: [float(rows[name].min()), float(rows[name].max())] for name in SETTINGS}
    spread = targets(rows).std(axis=0)
    usual = rows[groups(rows) != "between"]
    conditions = usual[["rate_gbps", "rtt_ms"]].round(3).drop_duplicates().sort_values(["rate_gbps", "rtt_ms"])
    return {
        "rows": len(rows),
        "ranges": ranges,
        "spread": [float(deviation) or 1.0 for deviation in spread],
        # pairs of rate and RTT with many rows, and the number of rows with others
        "conditions": conditions.to_numpy(float).tolist(),
        "between": len(rows) - len(usual),
        # outcomes depend on them: a burst of drops at the start counts for more in a short run
        "lengths_s": sorted({round(float(length), 3) for length in rows.get("length_s", ())}),
    }


def coverage(rows: pd.DataFrame, splits: int = 5) -> pd.DataFrame:
    """Return for each row and outcome whether it is in the interval of a predictor that has not seen the row."""
    from sklearn.model_selection import KFold

    inside = []
    for train, test in KFold(splits, shuffle=True, random_state=1).split(rows):
        model = predictor(rows.iloc[train])
        wide = Predictor(model.processes, model.factors, {**model.about, "ranges": {}})
        tests = rows.iloc[test]
        predicted = wide.predict(tests)
        ends = ((predicted[f"{name} low"] - 1e-9, predicted[f"{name} high"] + 1e-9) for name in OUTCOMES)
        inside.append(
            pd.DataFrame({name: tests[name].between(*pair) for name, pair in zip(OUTCOMES, ends, strict=True)})
        )
    return pd.concat(inside).loc[rows.index]


def train(rows: pd.DataFrame) -> Path:
    """Return the file of the predictor for a data set: the saved file if there is one, otherwise a new one."""
    recipe = saved.Recipe(_KIND, ".skops", {"confidence": CONFIDENCE, "form": _FORM}, saved.digest(_content(rows)))

    def fit() -> Path:
        model = predictor(rows)
        # with its kernels a process is trained in a moment, and the matrices of trained ones take megabytes
        parts = {"kernels": model.processes.kernels, "rows": _content(rows), "factors": model.factors.to_numpy(float)}
        return saved.keep_sklearn(recipe, parts, {**model.about, "factors_of": [*model.factors.index]})

    return saved.once(recipe, fit)


@lru_cache(maxsize=4)
def load(path: Path) -> Predictor:
    """Read a saved predictor."""
    parts = saved.read_sklearn(path)
    rows = pd.DataFrame(parts["rows"], columns=[*SETTINGS, *OUTCOMES])
    about = saved.provenance(path)
    table = pd.DataFrame(parts["factors"], about["factors_of"], [*OUTCOMES])
    return Predictor(processes(rows, parts["kernels"]), table, about)


def best() -> Predictor:
    """Return the predictor that was trained on the most rows. Among equals, a shipped predictor comes first."""
    return load(saved.most_rows(_KIND, "vargas/tuner"))


def _content(rows: pd.DataFrame) -> Floats:
    content: Floats = rows[[*SETTINGS, *OUTCOMES]].to_numpy(float)
    return content
