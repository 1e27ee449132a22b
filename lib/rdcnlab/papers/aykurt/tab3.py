# SPDX-License-Identifier: Apache-2.0
"""Table III: which variant a flow is, told from half a second of its window and RTT. Sec. VI-B."""

from __future__ import annotations

from itertools import permutations, product
from typing import Annotated, ClassVar

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure
from pydantic import Field, model_validator

from rdcnlab import figures
from rdcnlab.claims import Measured
from rdcnlab.items import Item
from rdcnlab.models import variant
from rdcnlab.papers.aykurt.space import Periods, Point, Variant
from rdcnlab.runs import Runs
from rdcnlab.scenario import Scenario
from rdcnlab.scenario.fields import Listed, Misfit, whole

#: As many as the paper's table has.
_TESTS = 430
#: Marking threshold where DCTCP runs, as in figure 8.
_THRESHOLD = "5 kB"


class Tab3(Item):
    """Traces of two flows of every ordered pair of variants, at every period.

    The last quarter of the seeds is for tests. Runs end after two traces of each flow.

    Parameters
    ----------
    cc : tuple of str
        Variants to tell apart.
    beyond : tuple of str
        Variants that a second classifier has to tell apart beside them.
    periods_ms : tuple of int
        Periods.
    epochs : int
        Most passes over the training data.
    """

    paper: ClassVar[str] = "aykurt"
    id: ClassVar[str] = "tab3"
    runs_of_profile: ClassVar[dict[str, int]] = {"quick": 2, "paper": 8}

    cc: Annotated[tuple[Variant, ...], Field(min_length=2), Listed] = ("cubic", "bbr", "reno", "westwood")
    beyond: Annotated[tuple[Variant, ...], Listed] = ("dctcp",)
    periods_ms: Periods = (50, 25, 10, 5, 1)
    epochs: Annotated[int, whole(1, 10_000)] = variant.EPOCHS

    @model_validator(mode="after")
    def _enough(self) -> Tab3:
        if self.count < 2:
            raise Misfit("seeds", self.count, "at least 2, since those that are trained on are not tested with")
        return self

    def points(self) -> list[Scenario]:
        """Return ordered pairs times periods times seeds."""
        return [
            Point(cc=migrated, main_cc=main, period_ms=period, seed=seed).scenario(
                limit=f"{2 * variant.LENGTH_MS} ms",
                **({"switch.ecn_threshold": _THRESHOLD} if "dctcp" in (migrated, main) else {}),
            )
            for migrated, main, period, seed in product(self._all, self._all, self.periods_ms, range(self.count))
        ]

    def needs(self, scenario: Scenario) -> tuple[str, ...]:  # noqa: ARG002
        """Return windows and RTTs."""
        return ("flows", "tcp")

    def data(self, runs: Runs) -> tuple[variant.Traces, variant.Traces]:
        """Return the traces to train on, and those of other seeds to test with."""
        every = variant.traces(runs)
        tests = self._tests(every.about["seed"])
        return every.where(~tests), every.where(tests)

    def plot(self, runs: Runs) -> Figure:
        """Draw how many test traces of each variant were taken for each: the paper's variants, and all."""
        matrices = [self.confusion(runs, names) for names in self._sets]
        with figures.style():
            figure = figures.Drawing(figsize=(3.4 * len(matrices), 3.0), layout="constrained")
            for ax, counts in zip(np.atleast_1d(figure.subplots(1, len(matrices))), matrices, strict=True):
                shares = counts.div(counts.sum(axis=1).clip(lower=1), axis=0)
                labels = [figures.look(name).label for name in counts.columns]
                sns.heatmap(
                    shares, annot=counts, fmt="d", cmap="Blues", vmin=0, vmax=1, cbar=False, square=True, ax=ax,
                    linewidths=0.5, xticklabels=labels, yticklabels=labels,
                )  # fmt: skip
                ax.set(
                    xlabel="predicted",
                    ylabel="actual",
                    title=f"{variant.accuracy(counts):.1f} % of {counts.to_numpy().sum()}",
                )
        return figure

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure how many test traces are told right, and which errors there are."""
        counts = self.confusion(runs, self.cc)
        more = [names for names in self._sets if names != self.cc]
        beyond = "; ".join(
            f"with {', '.join(self.beyond)} beside them {variant.accuracy(self.confusion(runs, names)):.4g} %"
            for names in more
        )
        measured = {"accuracy": Measured.one(variant.accuracy(counts), beyond)}
        errors = pd.Series(
            {f"{actual} as {taken}": float(counts[taken][actual]) for actual, taken in permutations(counts.index, 2)}
        )
        if "bbr" in counts.index:
            measured["bbr-never"] = Measured.one(float(errors.filter(like="bbr").sum()))
        if {"cubic", "reno"} <= set(counts.index):
            listed = ", ".join(f"{name}: {count:g}" for name, count in errors[errors > 0].items())
            margin = errors["cubic as reno"] - errors.drop("cubic as reno").max()
            measured["cubic-as-reno"] = Measured.one(float(margin), listed or "no errors")
        return measured

    def confusion(self, runs: Runs, names: tuple[Variant, ...]) -> pd.DataFrame:
        """Return how many test traces of some variants (rows) were taken for each (columns)."""
        training, tests = (variant.of(part, names) for part in self.data(runs))
        classifier = variant.trained(training, epochs=self.epochs)
        return classifier.confusion(variant.choose(tests, _TESTS) if names == self.cc else tests)

    def by_length(self, runs: Runs, lengths_ms: tuple[int, ...] = (50, 100, 200, 350, 500)) -> pd.DataFrame:
        """Return the accuracy [%] of classifiers that see only the begin of each trace: ``length_ms``, ``accuracy``."""
        training, tests = (variant.of(part, self.cc) for part in self.data(runs))
        rows = []
        for length in lengths_ms:
            classifier = variant.trained(training.first(length), epochs=self.epochs)
            rows.append({"length_ms": length, "accuracy": variant.accuracy(classifier.confusion(tests.first(length)))})
        return pd.DataFrame(rows)

    def by_period(self, runs: Runs) -> pd.DataFrame:
        """Return the accuracy [%] at each period, by classifiers that were trained with it and without.

        Columns are ``period_ms``, ``trained_with``, ``trained_without``.
        """
        training, tests = (variant.of(part, self.cc) for part in self.data(runs))
        whole = variant.trained(training, epochs=self.epochs)
        rows = []
        for period in self.periods_ms:
            others = training.where(training.about["period_ms"] != period)
            here = tests.where(tests.about["period_ms"] == period)
            found = [
                variant.accuracy(model.confusion(here))
                for model in (whole, variant.trained(others, epochs=self.epochs))
            ]
            rows.append({"period_ms": period, "trained_with": found[0], "trained_without": found[1]})
        return pd.DataFrame(rows)

    @property
    def _all(self) -> tuple[Variant, ...]:
        return tuple(dict.fromkeys([*self.cc, *self.beyond]))

    @property
    def _sets(self) -> tuple[tuple[Variant, ...], ...]:
        """The sets of variants that a classifier each has to tell apart."""
        return tuple(dict.fromkeys([self.cc, self._all]))

    def _tests(self, seeds: pd.Series[int]) -> pd.Series[bool]:
        """Say which seeds are for tests."""
        return seeds >= self.count - max(self.count // 4, 1)
