# SPDX-License-Identifier: Apache-2.0
"""Table III: which variant a flow is, told from half a second of its window and RTT. Sec. VI-B."""

from __future__ import annotations

import functools
from collections.abc import Callable
from itertools import permutations, product
from pathlib import Path
from typing import Annotated, ClassVar
from weakref import WeakKeyDictionary

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure
from pydantic import Field, model_validator

from rdcnlab.analysis import figures
from rdcnlab.fields.quantities import Listed, Misfit, whole
from rdcnlab.models import variant
from rdcnlab.models.traces import LENGTH_MS, Traces, traces, twins
from rdcnlab.papers.aykurt.space import Periods, Point, Variant
from rdcnlab.papers.claims import Measured
from rdcnlab.papers.item import Cause, Item
from rdcnlab.runs.frame import Runs
from rdcnlab.runs.parts import Part
from rdcnlab.scenario import Scenario

#: As many as the paper's table has.
_TESTS = 430
#: From the begin of one trace to that of the next.
_EVERY_MS = 100
#: Marking threshold where DCTCP runs, as in figure 8.
_THRESHOLD = "5 kB"


class Tab3(Item):
    """Traces of two flows of every ordered pair of variants, at every period.

    Runs end after two traces of each flow. Seeds differ in when flows start and where in its cycle the timetable
    begins; those of the last quarter are for tests.

    Parameters
    ----------
    cc : tuple of str
        Variants to tell apart.
    beyond : tuple of str
        Variants that a second classifier has to tell apart beside them.
    periods_ms : tuple of int
        Periods.
    epochs : int
        Passes over the training data.
    """

    paper: ClassVar[str] = "aykurt"
    id: ClassVar[str] = "tab3"
    # to the ns: a classifier that is trained on other instants is another one
    parts: ClassVar[dict[str, Part]] = {"tcp": Part(("t_ns", "flow", "cwnd_B", "srtt_us"))}
    extras: ClassVar[tuple[str, ...]] = ("models",)
    runs_of_profile: ClassVar[dict[str, int]] = {"quick": 2, "paper": 12}

    cc: Annotated[tuple[Variant, ...], Field(min_length=2), Listed] = ("cubic", "bbr", "reno", "westwood")
    beyond: Annotated[tuple[Variant, ...], Listed] = ("dctcp",)
    periods_ms: Periods = (50, 25, 10, 5, 1)
    epochs: Annotated[int, whole(1, 10_000)] = variant.EPOCHS

    @model_validator(mode="after")
    def _enough(self) -> Tab3:
        if self.count < 2:
            raise Misfit("seeds", self.count, "at least 2, since those that are trained on are not tested with")
        if len(set(self.cc)) < 2:
            raise Misfit("cc", ", ".join(self.cc), "at least two variants")
        return self

    def points(self) -> list[Scenario]:
        """Return ordered pairs times periods times seeds."""
        return [
            Point(cc=migrated, main_cc=main, period_ms=period, seed=seed).scenario(
                **{
                    # an ACK comes after the start, and the last ms shall be whole
                    "limit": f"{2 * LENGTH_MS + 10} ms",
                    "jitter.phase": f"{2 * period} ms",
                    **({"switch.ecn_threshold": _THRESHOLD} if "dctcp" in (migrated, main) else {}),
                }
            )
            for migrated, main, period, seed in product(self._all, self._all, self.periods_ms, range(self.count))
        ]

    def needs(self, scenario: Scenario) -> tuple[str, ...]:  # noqa: ARG002
        """Return windows and RTTs."""
        return ("flows", "tcp")

    def data(self, runs: Runs, names: tuple[Variant, ...] | None = None) -> tuple[Traces, Traces]:
        """Return the traces of some variants to train on, and as many of other seeds as the paper tests with.

        Traces to train on begin every 100 ms and overlap; those to test with do not.
        """
        every = _traces(runs).among(names or self.cc)
        return every.where((every.about["seed"] < self._first_test).to_numpy()), self._tests(runs, names).drawn(_TESTS)

    def plot(self, runs: Runs) -> Figure:
        """Draw how many test traces of each variant were taken for each: the paper's variants, and all."""
        matrices = [self.confusion(runs, names) for names in self._sets]
        with figures.style():
            figure = figures.Drawing(figsize=(3.8 * len(matrices), 3.2), layout="constrained")
            paper = next(claim.expect.at_least for claim in self.claims.claims if claim.id == "accuracy")
            for ax, counts in zip(np.atleast_1d(figure.subplots(1, len(matrices))), matrices, strict=True):
                shares = counts.div(counts.sum(axis=1).clip(lower=1), axis=0)
                labels = [figures.look(name).label for name in counts.columns]
                sns.heatmap(
                    shares, annot=counts, fmt="d", cmap="Blues", vmin=0, vmax=1, cbar=False, square=True, ax=ax,
                    linewidths=0.5, xticklabels=labels, yticklabels=labels,
                )  # fmt: skip
                right = f"{variant.accuracy(counts):.1f} % of {counts.to_numpy().sum()}"
                if tuple(counts.index) == tuple(sorted(self.cc)):
                    right += f" (paper: {paper:g} % of {_TESTS})"
                ax.set(xlabel="predicted", ylabel="actual", title=right)
                ax.tick_params(axis="x", rotation=30)
                ax.tick_params(axis="y", rotation=0)
        return figure

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure how many test traces are told right, and which errors there are."""
        counts = self.confusion(runs, self.cc)
        notes: list[str] = []
        for names in self._sets:
            drawn = counts if names == self.cc else self.confusion(runs, names)
            whole = self.confusion(runs, names, drawn=False)
            beside = f"with {', '.join(self.beyond)} beside them {variant.accuracy(drawn):.4g} %, " if notes else ""
            number, of_all = whole.to_numpy().sum(), variant.accuracy(whole)
            notes.append(f"{beside}of {drawn.to_numpy().sum()} traces drawn from {number}; of all {of_all:.4g} %")
        errors = pd.Series(
            {f"{actual} as {taken}": float(counts[taken][actual]) for actual, taken in permutations(counts.index, 2)}
        )
        measured = {"accuracy": Measured.one(variant.accuracy(counts), "; ".join(notes))}
        if "bbr" in counts.index:
            measured["bbr-never"] = Measured.one(float(errors.filter(like="bbr").sum()))
        if {"cubic", "reno"} <= set(counts.index):
            listed = ", ".join(f"{name}: {count:g}" for name, count in errors[errors > 0].items())
            margin = errors["cubic as reno"] - errors.drop("cubic as reno").max()
            measured["cubic-as-reno"] = Measured.one(float(margin), listed or "no errors")
        return measured

    def causes(self) -> list[Cause]:
        """Return at which periods variants are taken for others than in the paper."""
        longer = Tab3(
            cc=self.cc,
            beyond=(),
            periods_ms=(50, 25, 10),
            epochs=self.epochs,
            profile=self.profile,
            seeds=self.seeds,
        )
        return [
            Cause(
                "cubic-as-reno",
                "Most errors are at the shorter periods, and between Reno and Westwood, which differ only where a loss "
                "is believed. At the longer periods alone the errors are",
                longer,
            ),
        ]

    def confusion(self, runs: Runs, names: tuple[Variant, ...], *, drawn: bool = True) -> pd.DataFrame:
        """Return how many test traces of some variants (rows), drawn or all, were taken for each (columns)."""
        training, tests = self.data(runs, names)
        return self._trained(training).confusion(tests if drawn else self._tests(runs, names))

    def by_length(self, runs: Runs, lengths_ms: tuple[int, ...] = (50, 100, 200, 350, 500)) -> pd.DataFrame:
        """Return the accuracy [%] of classifiers that see only the begin of each trace: ``length_ms``, ``accuracy``."""
        training, tests = self.data(runs)
        found = {length: self._trained(training.first(length)).confusion(tests.first(length)) for length in lengths_ms}
        return pd.DataFrame([{"length_ms": length, "accuracy": variant.accuracy(of)} for length, of in found.items()])

    def by_period(self, runs: Runs) -> pd.DataFrame:
        """Return the accuracy [%] at each period, by classifiers that were trained with it and without.

        Columns are ``period_ms``, ``trained_with``, ``trained_without``.
        """
        return self._left_out(runs, "period_ms", [float(period) for period in self.periods_ms])

    def by_pair(self, runs: Runs) -> pd.DataFrame:
        """Return the accuracy [%] for each pair of variants, by classifiers that were trained with it and without.

        Columns are ``pair``, ``trained_with``, ``trained_without``.
        """
        return self._left_out(runs, "pair", [pair for pair in _pairs(self.cc) if " and " in pair])

    def twins(self, runs: Runs) -> pd.DataFrame:
        """Return how many traces nobody can tell apart; see `rdcnlab.models.traces.twins`."""
        return twins(_apart(_traces(runs).among(self.cc)))

    def models(self, runs: Runs) -> list[Path]:
        """Return the classifiers, to be shipped."""
        return [self._trained(self.data(runs, names)[0]).path for names in self._sets]

    def _left_out(self, runs: Runs, column: str, values: list[float] | list[str]) -> pd.DataFrame:
        training, tests = self.data(runs)
        whole = self._trained(training)
        rows = []
        for value in values:
            without = self._trained(training.where(training.about[column] != value))
            here = tests.where(tests.about[column] == value)
            found = {
                f"trained_{name}": model.confusion(here) for name, model in (("with", whole), ("without", without))
            }
            rows.append({column: value, **{name: variant.accuracy(of) for name, of in found.items()}})
        return pd.DataFrame(rows)

    def _tests(self, runs: Runs, names: tuple[Variant, ...] | None = None) -> Traces:
        """Return all traces of some variants that nothing is trained on."""
        every = _apart(_traces(runs).among(names or self.cc))
        return every.where((every.about["seed"] >= self._first_test).to_numpy())

    @property
    def _trained(self) -> Callable[[Traces], variant.Classifier]:
        return functools.partial(variant.trained, epochs=self.epochs)

    @property
    def _all(self) -> tuple[Variant, ...]:
        return tuple(dict.fromkeys([*self.cc, *self.beyond]))

    @property
    def _sets(self) -> tuple[tuple[Variant, ...], ...]:
        """The sets of variants that a classifier each has to tell apart."""
        return tuple(dict.fromkeys([self.cc, self._all]))

    @property
    def _first_test(self) -> int:
        """The first seed that is for tests."""
        return self.count - max(self.count // 4, 1)


_known: WeakKeyDictionary[Runs, Traces] = WeakKeyDictionary()


def _traces(runs: Runs) -> Traces:
    """Cut the traces of an item's runs once for all that looks at them, and keep them no longer than the runs."""
    if runs not in _known:
        _known[runs] = traces(runs, every_ms=_EVERY_MS)
    return _known[runs]


def _apart(every: Traces) -> Traces:
    """Return those of the traces that do not overlap."""
    return every.where((every.about["begin_ms"] % LENGTH_MS == 0).to_numpy())


def _pairs(names: tuple[Variant, ...]) -> list[str]:
    """Return what `Traces` call the runs of two variants."""
    return sorted({" and ".join(sorted(pair)) for pair in permutations(names, 2)})
