# SPDX-License-Identifier: Apache-2.0
"""How well classifiers tell variants apart in runs of seeds that they were not trained on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from weakref import WeakKeyDictionary

import pandas as pd

from rdcnlab.models import variant
from rdcnlab.models.traces import LENGTH_MS, Traces, traces, twins
from rdcnlab.runs.frame import Runs

#: From the begin of one trace to that of the next.
_EVERY_MS = 100


@dataclass(frozen=True)
class Exam:
    """Traces of runs, and classifiers that are trained on those of the first seeds and tested with the others.

    Parameters
    ----------
    runs : Runs
        With windows and RTTs once a ms.
    first_test : int
        The first seed that is for tests.
    variants : tuple of str
        Variants to tell apart, if nothing else is said.
    count : int
        How many test traces are drawn.
    epochs : int
        Passes over the training data.
    """

    runs: Runs
    first_test: int
    variants: tuple[str, ...]
    count: int
    epochs: int

    def data(self, names: Sequence[str] | None = None) -> tuple[Traces, Traces]:
        """Return the traces of some variants to train on, and those drawn to test with.

        Traces to train on begin every 100 ms and overlap; those to test with do not.
        """
        every = _traces(self.runs).among(names or self.variants)
        training = every.where((every.about["seed"] < self.first_test).to_numpy())
        return training, self._tests(names).drawn(self.count)

    def trained(self, training: Traces) -> variant.Classifier:
        """Return a classifier that was trained on some traces."""
        return variant.trained(training, epochs=self.epochs)

    def confusion(self, names: Sequence[str] | None = None, *, drawn: bool = True) -> pd.DataFrame:
        """Return how many test traces of some variants (rows), drawn or all, were taken for each (columns)."""
        training, tests = self.data(names)
        return self.trained(training).confusion(tests if drawn else self._tests(names))

    def by_length(self, lengths_ms: tuple[int, ...] = (50, 100, 200, 350, 500)) -> pd.DataFrame:
        """Return the accuracy [%] of classifiers that see only the begin of each trace: ``length_ms``, ``accuracy``."""
        training, tests = self.data()
        found = {length: self.trained(training.first(length)).confusion(tests.first(length)) for length in lengths_ms}
        return pd.DataFrame([{"length_ms": length, "accuracy": variant.accuracy(of)} for length, of in found.items()])

    def by_period(self) -> pd.DataFrame:
        """Return the accuracy [%] at each period, by classifiers that were trained with it and without.

        Columns are ``period_ms``, ``trained_with``, ``trained_without``; the periods in the order of the runs.
        """
        return self._left_out("period_ms", list(dict.fromkeys(_traces(self.runs).about["period_ms"])))

    def by_pair(self) -> pd.DataFrame:
        """Return the accuracy [%] for each pair of variants, by classifiers that were trained with it and without.

        Columns are ``pair``, ``trained_with``, ``trained_without``.
        """
        return self._left_out("pair", sorted({" and ".join(sorted(pair)) for pair in permutations(self.variants, 2)}))

    def twins(self) -> pd.DataFrame:
        """Return how many traces nobody can tell apart; see `rdcnlab.models.traces.twins`."""
        return twins(_apart(_traces(self.runs).among(self.variants)))

    def _left_out(self, column: str, values: Sequence[float | str]) -> pd.DataFrame:
        training, tests = self.data()
        whole = self.trained(training)
        rows = []
        for value in values:
            without = self.trained(training.where(training.about[column] != value))
            here = tests.where(tests.about[column] == value)
            found = {
                f"trained_{name}": model.confusion(here) for name, model in (("with", whole), ("without", without))
            }
            rows.append({column: value, **{name: variant.accuracy(of) for name, of in found.items()}})
        return pd.DataFrame(rows)

    def _tests(self, names: Sequence[str] | None = None) -> Traces:
        """Return all traces of some variants that nothing is trained on."""
        every = _apart(_traces(self.runs).among(names or self.variants))
        return every.where((every.about["seed"] >= self.first_test).to_numpy())


def errors(counts: pd.DataFrame) -> pd.Series[float]:
    """Return how many traces of each variant were taken for each other one, ``cubic as reno``; as from `confusion`."""
    return pd.Series(
        {f"{actual} as {taken}": float(counts[taken][actual]) for actual, taken in permutations(counts.index, 2)}
    )


_known: WeakKeyDictionary[Runs, Traces] = WeakKeyDictionary()


def _traces(runs: Runs) -> Traces:
    """Cut the traces of runs once for all that looks at them, and keep them no longer than the runs."""
    if runs not in _known:
        _known[runs] = traces(runs, every_ms=_EVERY_MS)
    return _known[runs]


def _apart(every: Traces) -> Traces:
    """Return those of the traces that do not overlap."""
    return every.where((every.about["begin_ms"] % LENGTH_MS == 0).to_numpy())
