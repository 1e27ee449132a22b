# SPDX-License-Identifier: Apache-2.0
"""Table III: predict the variant of a flow from half a second of its window and RTT. Sec. VI-B."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, get_args

import numpy as np
import pandas as pd
from pydantic import Field, model_validator

from rdcnlab.analysis import figures
from rdcnlab.fields.quantities import FieldError, Listed, whole
from rdcnlab.runs.frame import Runs
from rdcnlab.runs.parts import Part
from rdcnlab.scenario import Scenario
from rdcnlab_papers.analysis.measured import Measured, means_of_seeds
from rdcnlab_papers.aykurt.space import COMPARED, Periods, Point, Variant, grid
from rdcnlab_papers.items.causes import Cause
from rdcnlab_papers.items.item import Item
from rdcnlab_papers.models import variant
from rdcnlab_papers.models.exam import Exam, errors, most_common
from rdcnlab_papers.models.traces import LENGTH_MS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Number of test traces, as in the paper's table.
_TESTS = 430
#: Variants beyond the paper's, by profile. They are more than a third of the runs.
_OTHERS: dict[str, tuple[Variant, ...]] = {"quick": (), "paper": ("dctcp",)}


class Tab3(Item):
    """Traces of two flows of every ordered pair of variants, at every period.

    Runs end after two traces of each flow. Seeds differ in the start times of flows and in the phase of the timetable.
    The last quarter of the seeds is for tests.

    Parameters
    ----------
    cc : tuple of str
        Variants to distinguish.
    beyond : tuple of str or None
        Additional variants for a second classifier. None means none in the quick profile and ``dctcp`` in the paper
        profile.
    periods_ms : tuple of int
        Periods.
    epochs : int
        Passes over the training data.
    """

    reads: ClassVar[tuple[str, ...]] = ("flows", "tcp")
    # a resolution of 1 ns: training on rounded times would give another classifier
    parts: ClassVar[dict[str, Part]] = {"tcp": Part(("t_ns", "flow", "cwnd_B", "srtt_us"))}
    extras: ClassVar[tuple[str, ...]] = ("models",)
    undivided: ClassVar[str] = "the classifiers are trained on some seeds and tested with the others"
    runs_of_profile: ClassVar[dict[str, int]] = {"quick": 2, "paper": 12}

    cc: Annotated[tuple[Variant, ...], Field(min_length=2), Listed] = COMPARED
    beyond: Annotated[tuple[Variant, ...], Listed] | None = None
    periods_ms: Periods = (50, 25, 10, 5, 1)
    epochs: Annotated[int, whole(1, 10_000)] = variant.EPOCHS

    @model_validator(mode="after")
    def _enough(self) -> Tab3:
        if self.count < 2:
            raise FieldError("seeds", self.count, "at least 2, since those that are trained on are not tested with")
        if len(set(self.cc)) < 2:
            raise FieldError("cc", ", ".join(self.cc), "at least two variants")
        return self

    def points(self) -> list[Scenario]:
        """Return one scenario for each ordered pair, period and seed."""
        variants = self.sets[-1]
        return grid(_changes, cc=variants, main_cc=variants, period_ms=self.periods_ms, seed=range(self.count))

    @property
    def sets(self) -> tuple[tuple[Variant, ...], ...]:
        """The sets of variants; one classifier is trained for each."""
        return tuple(dict.fromkeys([self.cc, tuple(dict.fromkeys([*self.cc, *self.others]))]))

    @property
    def others(self) -> tuple[Variant, ...]:
        """The additional variants for a second classifier."""
        return _OTHERS[self.profile] if self.beyond is None else self.beyond

    def exam(self, runs: Runs, form: variant.Form = "wide") -> Exam:
        """Return the training and test traces for classifiers with the better network or with that of the paper."""
        return Exam(runs, self.first_test, self.cc, _TESTS, self.epochs, form)

    @property
    def first_test(self) -> int:
        """The first seed for tests."""
        return self.count - self._tested_seeds

    @property
    def _tested_seeds(self) -> int:
        return max(self.count // 4, 1)

    def plot(self, runs: Runs) -> Figure:
        """Draw the confusion matrices of test traces: of the paper's network, and of the better one for each set."""
        matrices = [self.exam(runs, "plain").confusion(self.cc)]
        matrices += [self.exam(runs).confusion(names) for names in self.sets]
        expected = self.expected("accuracy")
        with figures.style():
            figure = figures.drawing(3.8 * len(matrices), 3.2)
            for ax, counts in zip(np.atleast_1d(figure.subplots(1, len(matrices))), matrices, strict=True):
                figures.confusion(ax, counts)
                network = "plain network" if counts is matrices[0] else "better network"
                right = f"{network}: {variant.accuracy(counts):.1f} % of {counts.to_numpy().sum()}"
                if expected and counts is matrices[0]:
                    right += f" (paper: {expected.at_least:g} % of {_TESTS})"
                ax.set(xlabel="predicted", ylabel="actual", title=right)
        return figure

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure the share of correctly predicted test traces, and the kinds of errors."""
        wide_exam = self.exam(runs)
        counts = wide_exam.confusion(self.cc)
        notes: list[str] = []
        for names in self.sets:
            drawn_counts = counts if names == self.cc else wide_exam.confusion(names)
            all_counts = wide_exam.confusion(names, drawn=False)
            prefix = (
                f"with {', '.join(self.others)} beside them {variant.accuracy(drawn_counts):.4g} %, " if notes else ""
            )
            number, of_all = all_counts.to_numpy().sum(), variant.accuracy(all_counts)
            notes.append(
                f"{prefix}of {drawn_counts.to_numpy().sum()} traces drawn from {number}; of all {of_all:.4g} %"
            )
        plain_exam = self.exam(runs, form="plain")
        plain_counts = plain_exam.confusion(self.cc)
        measured = {
            "accuracy": Measured.one(plain_exam.estimate(variant.accuracy, self.cc).within(0, 100)),
            "accuracy-wide": Measured.one(
                wide_exam.estimate(variant.accuracy, self.cc).within(0, 100), "; ".join(notes)
            ),
        }
        table = plain_exam.by_table(self.cc)
        share, of_table = (variant.accuracy(confusion) for confusion in (plain_counts, table))
        measured["over-table"] = Measured.one(share - of_table, f"network {share:.4g} %, table {of_table:.4g} %")
        of_forest = plain_exam.by_forest(self.cc)
        measured["over-forest"] = Measured.one(share - of_forest, f"network {share:.4g} %, forest {of_forest:.4g} %")
        measured["calibrated"] = _calibration(plain_exam.reliability(self.cc))
        if "bbr" in counts.index:
            for claim, confusion in (("bbr-never", plain_counts), ("bbr-never-wide", counts)):
                measured[claim] = Measured.one(_with_bbr(confusion))
        if {"cubic", "reno"} <= set(counts.index):
            for claim, exam, confusion in (
                ("cubic-as-reno", plain_exam, plain_counts),
                ("cubic-as-reno-wide", wide_exam, counts),
            ):
                margin = exam.estimate(lambda matrix: most_common(matrix, "cubic as reno"), self.cc)
                measured[claim] = Measured.one(margin, _errors(confusion))
            measured["cubic-as-reno was"] = measured["cubic-as-reno-wide"]
        return measured

    def causes(self) -> list[Cause]:
        """Return experiments with more seeds for tests, and with only the longer periods."""
        longer, tested = self.longer(), self.tested_more()
        by_wide = Cause("bbr-never", self, lambda runs: Measured.one(_with_bbr(self.exam(runs).confusion(self.cc))))
        return [
            by_wide,
            Cause("over-forest", self, self._wide_over_forest),
            Cause("accuracy", self, self._right_by_period),
            Cause("accuracy", tested, self._right_of_all),
            *(Cause(claim, longer) for claim in ("cubic-as-reno", "cubic-as-reno-wide")),
        ]

    def tested_more(self) -> Tab3:
        """Return this item with twice as many seeds for tests, which come after its own seeds."""
        settings = {"cc": self.cc, "epochs": self.epochs, "profile": self.profile, "periods_ms": self.periods_ms}
        return self.with_parameters(beyond=(), seeds=self.count + self._tested_seeds, **settings)

    def _wide_over_forest(self, runs: Runs) -> Measured:
        """Measure how many points more the better network classifies correctly than the forest."""
        share = variant.accuracy(self.exam(runs).confusion(self.cc))
        return Measured({"": share - self.exam(runs, "plain").by_forest(self.cc)}, unit="points")

    def _right_by_period(self, runs: Runs) -> Measured:
        """Measure the share of test traces that the plain network classifies correctly, by period and by seed."""
        graded = self.exam(runs, "plain").graded(drawn=False)
        of_seeds = self.exam(runs, "plain").graded().groupby("seed")["right"].agg(["size", "mean"])
        listed = (f"seed {seed}: {mean:.3g} % of {size}" for seed, size, mean in of_seeds.itertuples())
        note = f"of those that are drawn, {', '.join(listed)}"
        return Measured.by_case(means_of_seeds(graded, "period_ms", "right"), "{:g} ms", note, unit="%")

    def _right_of_all(self, runs: Runs) -> Measured:
        """Measure the same over all test traces: of this item's seeds for tests, and of the seeds after them."""
        # the plain network of this item, which is trained on the same seeds
        graded = self.exam(runs, "plain").graded(drawn=False)
        parts = graded["seed"].map(lambda seed: "further seeds" if seed >= self.count else "seeds of the verdict")
        shares = [means_of_seeds(graded.assign(seeds=seeds), "seeds", "right") for seeds in ("all", parts)]
        return Measured.by_case(pd.concat(shares), note=f"{len(graded)} test traces", unit="%")

    def longer(self) -> Tab3:
        """Return this item with only the longer periods, whose runs are among its own."""
        settings = {"cc": self.cc, "epochs": self.epochs, "profile": self.profile, "seeds": self.seeds}
        return self.with_parameters(beyond=(), periods_ms=(50, 25, 10), **settings)

    def models(self, runs: Runs) -> list[Path]:
        """Return the files that are shipped: the classifiers, those of causes too, and the tables of many others."""
        wide, plain = self.exam(runs), self.exam(runs, form="plain")
        exams = [*((wide, names) for names in self.sets), (plain, self.cc)]
        longer = self.longer()
        of_longer = runs.among(longer.scenarios())
        exams += [(longer.exam(of_longer, form), self.cc) for form in get_args(variant.Form)]
        records = [*wide.records(), plain.forest_record(self.cc)]
        return [*(exam.train(exam.data(names)[0]).path for exam, names in exams), *records]


def _calibration(bins: pd.DataFrame) -> Measured:
    """Measure by how many points the largest probabilities differ from the shares of right answers."""
    distances = 100 * (bins["probability"] - bins["right"]).abs()
    rows = bins[["traces", "probability", "right"]].to_numpy(dtype=float)
    listed = (f"{100 * stated:.3g} % stated: {100 * right:.3g} % right of {traces:g}" for traces, stated, right in rows)
    return Measured.one(float(np.average(distances, weights=bins["traces"])), ", ".join(listed))


def _errors(counts: pd.DataFrame) -> str:
    wrong = errors(counts)
    return ", ".join(f"{name}: {count:g}" for name, count in wrong[wrong > 0].items()) or "no errors"


def _changes(point: Point) -> dict[str, Any]:
    """Return the limit, the jitter of phases, and for DCTCP the marking threshold of figure 8."""
    marks = {"switch.ecn_threshold": "5 kB"} if "dctcp" in (point.cc, point.main_cc) else {}
    # 10 ms more, because the first ACK comes after the start, and the last ms must be complete
    return {"limit": f"{2 * LENGTH_MS + 10} ms", "jitter.phase": f"{2 * (point.period_ms or 0)} ms", **marks}


def _with_bbr(confusion: pd.DataFrame) -> float:
    """Return the number of errors in which BBR is the actual or the predicted variant."""
    return float(errors(confusion).filter(like="bbr").sum())
