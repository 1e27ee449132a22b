# SPDX-License-Identifier: Apache-2.0
"""Test how well classifiers distinguish variants in runs with seeds that they were not trained on."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import pandas as pd

from rdcnlab.analysis.intervals import Estimate
from rdcnlab.analysis.resampling import Floats, bootstrap_by_weight
from rdcnlab.runs.frame import Runs
from rdcnlab_papers.models import saved, variant
from rdcnlab_papers.models.traces import LENGTH_MS, Traces, traces, twins

#: Time in ms from the begin of one training trace to the begin of the next.
_EVERY_MS = 100
#: Lengths of traces, in ms, that classifiers are compared at.
LENGTHS_MS = (50, 100, 200, 350, 500)
#: What is known of a trace beside its samples, and decides which classifier it trains or tests.
_ABOUT = ("variant", "seed", "period_ms", "pair")
#: Trees of the forest that networks are compared with, and the step of a logarithm that counts as a fall: a tenth.
_TREES, _FALL = 300, math.log(0.9)


@dataclass(frozen=True)
class Exam:
    """Traces of runs, and classifiers. They are trained on the first seeds and tested with the other seeds.

    Parameters
    ----------
    runs : Runs
        Runs that record windows and RTTs once per ms.
    first_test : int
        The first seed for tests; smaller seeds are for training.
    variants : tuple of str
        Variants to distinguish by default.
    count : int
        Number of test traces that are drawn at random.
    epochs : int
        Passes over the training data.
    form : {'wide', 'plain'}
        The network; see `rdcnlab_papers.models.variant`.
    """

    runs: Runs
    first_test: int
    variants: tuple[str, ...]
    count: int
    epochs: int
    form: variant.Form = "wide"

    def data(self, names: Sequence[str] | None = None) -> tuple[Traces, Traces]:
        """Return the training traces of some variants, and the test traces that are drawn at random.

        Training traces begin every 100 ms, so they overlap. Test traces do not overlap.
        """
        selection = _traces(self.runs).among(names or self.variants)
        training = selection.where((selection.about["seed"] < self.first_test).to_numpy())
        return training, self._tests(names).sample(self.count)

    def train(self, training: Traces) -> variant.Classifier:
        """Return a classifier that was trained on some traces."""
        return variant.load_or_train(training, epochs=self.epochs, form=self.form)

    def confusion(self, names: Sequence[str] | None = None, *, drawn: bool = True) -> pd.DataFrame:
        """Return the confusion matrix: test traces by their variant (rows) and by the predicted variant (columns).

        It counts the test traces that are drawn at random, or with ``drawn=False`` all of them.
        """
        classes, predictions = self._predictions(tuple(names or self.variants), drawn=drawn)
        return _confusion(predictions["actual"], predictions["predicted"], classes)

    def _predictions(self, names: tuple[str, ...], *, drawn: bool) -> tuple[list[str], pd.DataFrame]:
        """Return all classes, and a row for each test trace: ``seed``, ``period_ms``, ``actual``, ``predicted``."""
        if (names, drawn) not in self._predicted:
            training, tests = self.data(names)
            chosen = tests if drawn else self._tests(names)
            classifier = self.train(training)
            self._predicted[names, drawn] = (
                list(classifier.variants),
                pd.DataFrame(
                    {
                        "actual": chosen.about["variant"].to_numpy(dtype=str),
                        "predicted": classifier.predict(chosen.samples).to_numpy(),
                        "seed": chosen.about["seed"].to_numpy(),
                        "period_ms": chosen.about["period_ms"].to_numpy(),
                    }
                ),
            )
        return self._predicted[names, drawn]

    @cached_property
    def _predicted(self) -> dict[tuple[tuple[str, ...], bool], tuple[list[str], pd.DataFrame]]:
        """Predictions that were made: several claims use them."""
        return {}

    def estimate(
        self, statistic: Callable[[pd.DataFrame], float], names: Sequence[str] | None = None, *, drawn: bool = True
    ) -> Estimate:
        """Return a number that is computed from the confusion matrix, with its interval over the seeds of the tests."""
        classes, predictions = self._predictions(tuple(names or self.variants), drawn=drawn)
        of_seeds = [
            _confusion(rows["actual"], rows["predicted"], classes).to_numpy()
            for _, rows in predictions.groupby("seed", sort=True)
        ]
        counts = np.array(of_seeds).reshape(-1, len(classes), len(classes))

        def of_draws(weights: Floats) -> list[float]:
            matrices = np.tensordot(weights, counts, axes=1).astype(np.int64)  # sums of counts: exact
            return [statistic(pd.DataFrame(matrix, index=classes, columns=classes)) for matrix in matrices]

        return bootstrap_by_weight(len(counts), of_draws)

    def graded(self, names: Sequence[str] | None = None, *, drawn: bool = True) -> pd.DataFrame:
        """Return a row for each test trace: ``seed``, ``period_ms``, ``right`` (100 if it was recognised, else 0)."""
        _, predictions = self._predictions(tuple(names or self.variants), drawn=drawn)
        right = 100.0 * (predictions["actual"] == predictions["predicted"])
        return predictions[["seed", "period_ms"]].assign(right=right)

    def by_table(self, names: Sequence[str] | None = None) -> pd.DataFrame:
        """Return the confusion matrix of a table of means: what a network must do better than.

        The table has the mean and the standard deviation over time of the logarithms of window and RTT, as means over
        the training traces of each variant. A trace gets the variant whose row is nearest.
        """
        from sklearn.neighbors import NearestCentroid
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        training, tests = self.data(names)
        table = make_pipeline(StandardScaler(), NearestCentroid())
        table.fit(_summaries(training), training.about["variant"].to_numpy(dtype=str))
        predicted = pd.Series(table.predict(_summaries(tests)), dtype=str)
        actual = pd.Series(tests.about["variant"].to_numpy(dtype=str), dtype=str)
        return _confusion(actual, predicted, list(training.variants))

    def by_forest(self, names: Sequence[str]) -> float:
        """Return the share in % of the test traces that a forest of `_features` classifies correctly."""
        return float(_read(self.forest_record(names))["accuracy"].iloc[0])

    def forest_record(self, names: Sequence[str]) -> Path:
        """Return the file of the result of `by_forest`; a missing one is computed."""

        def compute() -> pd.DataFrame:
            from sklearn.ensemble import RandomForestClassifier

            training, tests = self.data(names)
            forest = RandomForestClassifier(_TREES, random_state=0, n_jobs=-1)
            forest.fit(_features(training), training.about["variant"].to_numpy(dtype=str))
            right = forest.predict(_features(tests)) == tests.about["variant"].to_numpy(dtype=str)
            return pd.DataFrame({"accuracy": [100.0 * right.mean()]})

        return self._record("forest", {"trees": _TREES, "variants": list(names)}, compute)

    def reliability(self, names: Sequence[str] | None = None, bins: int = 10) -> pd.DataFrame:
        """Return by bin of the largest probability of a trace: ``traces``, mean ``probability``, share ``right``.

        It is for all test traces, not only those that are drawn.
        """
        training, _ = self.data(names)
        tests = self._tests(names)
        probabilities = self.train(training).probabilities(tests.samples)
        most = probabilities.max(axis=1)
        is_right = probabilities.idxmax(axis=1).to_numpy() == tests.about["variant"].to_numpy(dtype=str)
        rows = pd.DataFrame(
            {"bin": np.minimum((most * bins).astype(int), bins - 1), "most": most, "is_right": is_right}
        )
        groups = rows.groupby("bin")
        return pd.DataFrame(
            {"traces": groups.size(), "probability": groups["most"].mean(), "right": groups["is_right"].mean()}
        )

    def by_length(self, lengths_ms: tuple[int, ...] = LENGTHS_MS) -> pd.DataFrame:
        """Return the accuracy [%] of classifiers that get only the begin of each trace: ``length_ms``, ``accuracy``.

        Like `by_period` and `by_pair` it trains many classifiers, so the table is saved as models are.
        """
        return _read(self._length_record(lengths_ms))

    def _length_record(self, lengths_ms: tuple[int, ...] = LENGTHS_MS) -> Path:
        def compute() -> pd.DataFrame:
            training, tests = self.data()
            confusions = {
                length: self.train(training.first(length)).confusion(tests.first(length)) for length in lengths_ms
            }
            return pd.DataFrame(
                [{"length_ms": length, "accuracy": variant.accuracy(counts)} for length, counts in confusions.items()]
            )

        return self._record("length", {"lengths_ms": list(lengths_ms)}, compute)

    def by_period(self) -> pd.DataFrame:
        """Return the accuracy [%] at each period, of classifiers that were trained with this period and without it.

        Columns are ``period_ms``, ``trained_with``, ``trained_without``. The periods have the order of the runs.
        """
        return _read(self._period_record())

    def _period_record(self) -> Path:
        periods = list(dict.fromkeys(_traces(self.runs).about["period_ms"]))
        return self._record("period", {}, lambda: self._left_out("period_ms", periods))

    def by_pair(self) -> pd.DataFrame:
        """Return the accuracy [%] for each pair of variants, of classifiers trained with this pair and without it.

        Columns are ``pair``, ``trained_with``, ``trained_without``.
        """
        return _read(self._pair_record())

    def _pair_record(self) -> Path:
        pairs = sorted({" and ".join(sorted(pair)) for pair in permutations(self.variants, 2)})
        return self._record("pair", {}, lambda: self._left_out("pair", pairs))

    def records(self) -> list[Path]:
        """Return the files of the tables `by_length`, `by_period` and `by_pair`; missing ones are computed."""
        return [self._length_record(), self._period_record(), self._pair_record()]

    def _record(self, name: str, settings: Mapping[str, Any], compute: Callable[[], pd.DataFrame]) -> Path:
        """Return the file of a table: the saved one if there is one, otherwise that of a new one."""
        training, tests = self.data()
        every = {**variant.settings(training, epochs=self.epochs, form=self.form), **settings}
        parts = [traces.samples for traces in (training, tests)]
        parts += [traces.about[column].to_numpy() for traces in (training, tests) for column in _ABOUT]
        recipe = saved.Recipe(f"exam-{name}", ".csv", every, saved.digest(*parts))

        def keep() -> Path:
            table = compute()
            about = {"rows": len(table)}
            return saved.keep(recipe, lambda target: table.to_csv(target, index=False), about, variant.LIBRARIES)

        return saved.once(recipe, keep)

    def twins(self) -> pd.DataFrame:
        """Count the traces that cannot be distinguished; see `rdcnlab_papers.models.traces.twins`."""
        return twins(_without_overlap(_traces(self.runs).among(self.variants)))

    def _left_out(self, column: str, values: Sequence[float | str]) -> pd.DataFrame:
        training, tests = self.data()
        classifier = self.train(training)
        rows = []
        for value in values:
            without = self.train(training.where(training.about[column] != value))
            matching = tests.where(tests.about[column] == value)
            confusions = {
                f"trained_{name}": model.confusion(matching)
                for name, model in (("with", classifier), ("without", without))
            }
            rows.append(
                {column: value, **{name: variant.accuracy(confusion) for name, confusion in confusions.items()}}
            )
        return pd.DataFrame(rows)

    def _tests(self, names: Sequence[str] | None = None) -> Traces:
        """Return all test traces of some variants, which are not used for training."""
        selection = _without_overlap(_traces(self.runs).among(names or self.variants))
        return selection.where((selection.about["seed"] >= self.first_test).to_numpy())


def _read(path: Path) -> pd.DataFrame:
    """Read a table that was saved, with all digits."""
    return pd.read_csv(path, float_precision="round_trip")


def _confusion(actual: pd.Series[str], predicted: pd.Series[str], classes: list[str]) -> pd.DataFrame:
    """Return the confusion matrix: actual classes (rows) and predicted ones (columns)."""
    counts = pd.crosstab(actual.to_numpy(), predicted.to_numpy())
    counts = counts.reindex(index=classes, columns=classes, fill_value=0)
    return counts.rename_axis(index="actual", columns="predicted")


def errors(counts: pd.DataFrame) -> pd.Series[float]:
    """Return the number of wrong predictions for each pair of variants, such as ``cubic as reno``.

    The argument is a confusion matrix, as `Exam.confusion` returns it.
    """
    return pd.Series(
        {
            f"{actual} as {predicted}": float(counts[predicted][actual])
            for actual, predicted in permutations(counts.index, 2)
        }
    )


def most_common(counts: pd.DataFrame, error: str) -> float:
    """Return the number of test traces with one error, minus that of the most common other error; see `errors`."""
    wrong = errors(counts)
    return float(wrong[error] - wrong.drop(error).max())


def _summaries(selection: Traces) -> Floats:
    """Return the mean and the standard deviation over time of the logarithms of window and RTT, shape (n, 4)."""
    logs = np.log1p(selection.samples.astype(np.float64))
    return np.concatenate([logs.mean(axis=1), logs.std(axis=1)], axis=1)


def _features(selection: Traces) -> Floats:
    """Return `_summaries`, and how windows and RTTs change: from first to last, ends and quantiles of steps, falls."""
    logs = np.log1p(selection.samples.astype(np.float64))
    steps = np.diff(logs, axis=1)
    of_steps = [np.quantile(steps, share, axis=1) for share in (0.01, 0.25, 0.5, 0.75, 0.99)]
    falls = [(steps < 0).mean(axis=1), (steps < _FALL).sum(axis=1)]
    ends = [logs.min(axis=1), logs.max(axis=1), logs[:, -1] - logs[:, 0], steps.min(axis=1), steps.max(axis=1)]
    return np.concatenate([_summaries(selection), *ends, *of_steps, *falls], axis=1)


_cache: WeakKeyDictionary[Runs, Traces] = WeakKeyDictionary()


def _traces(runs: Runs) -> Traces:
    """Cut the traces of runs only once, and cache them as long as the runs exist."""
    if runs not in _cache:
        _cache[runs] = traces(runs, every_ms=_EVERY_MS)
    return _cache[runs]


def _without_overlap(selection: Traces) -> Traces:
    """Return a selection of the traces that do not overlap."""
    return selection.where((selection.about["begin_ms"] % LENGTH_MS == 0).to_numpy())
