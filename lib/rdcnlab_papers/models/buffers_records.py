# SPDX-License-Identifier: Apache-2.0
"""Records of the tests of models of a shared buffer: scores, rows in their intervals, and learning curves.

A test trains many models, which takes up to an hour for all of table 2. So its result is kept and shipped as a model
is: a digest of the rows and of the settings identifies it, and a test that was made is not made again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from rdcnlab.analysis.intervals import Estimate
from rdcnlab.system.progress import bar
from rdcnlab_papers.analysis.sharing import OUTCOMES, SETTINGS
from rdcnlab_papers.models import gaussian, saved

if TYPE_CHECKING:
    from rdcnlab_papers.models import buffers

#: Version number of the models that are tested (`buffers.candidates`, `gaussian.predictor`) and of the form of the
#: records; a change of any of them must increase it, if the settings of the record do not tell it.
_FORM = 4
_LIBRARIES = ("scikit-learn", "numpy")
#: Learning curves: random beginnings, runs at the beginning, runs of each step and at the end, and the R2 to reach.
SEEDS, BEGIN, STEP, MOST, LEVEL = 5, 20, 5, 80, 0.9


class Exam(NamedTuple):
    """A row of the table of scores: kind of model, name of its rows, share or number of them to train on, outcomes.

    ``scored`` is the name of the rows that may be scored on, if these are not all.
    """

    kind: buffers.Kind
    rows: str
    train: float
    outcomes: tuple[str, ...]
    scored: str = ""


def scores(rows: Mapping[str, pd.DataFrame], exams: Mapping[str, Exam], repeats: int) -> Path:
    """Return the record of `buffers.examine` for several exams; the column ``case`` has their names.

    Each exam is kept, too. So what is interrupted continues with the exam that it was at.

    Parameters
    ----------
    rows : dict of str to DataFrame
        Settings and outcomes by name.
    exams : dict of str to Exam
        Exams by case.
    repeats : int
        Number of splits.
    """
    return _all(rows, exams, "sharing-scores", {"repeats": repeats}, lambda exam: _exam(rows, exam, repeats))


def left_out(rows: Mapping[str, pd.DataFrame], exams: Mapping[str, Exam]) -> Path:
    """Return the record of `buffers.leave_out` for several exams; the column ``case`` has their names.

    Of an exam, the share for training is not used: it is all conditions but one.
    """
    return _all(rows, exams, "sharing-left-out", {}, lambda exam: _left_out(rows, exam))


def _all(
    rows: Mapping[str, pd.DataFrame], exams: Mapping[str, Exam], kind: str, settings: Mapping[str, Any],
    one: Callable[[Exam], Path],
) -> Path:  # fmt: skip
    """Return the record of several exams, of which `one` returns that of each."""

    def make() -> pd.DataFrame:
        parts = []
        with bar(len(exams), "exam") as shown:
            for case, exam in exams.items():
                parts.append(read(one(exam)).assign(case=case))
                shown.update()
        return pd.concat(parts, ignore_index=True)

    every = {"exams": {case: list(exam) for case, exam in exams.items()}, **settings}
    names = sorted({name for exam in exams.values() for name in _names(exam)})
    return _kept(kind, every, [rows[name] for name in names], make)


def _exam(rows: Mapping[str, pd.DataFrame], exam: Exam, repeats: int) -> Path:
    def make() -> pd.DataFrame:
        from rdcnlab_papers.models import buffers  # scikit-learn takes seconds to import, and a record needs none

        scored = rows[exam.scored] if exam.scored else None
        return buffers.examine(
            exam.kind, rows[exam.rows], exam.train, outcomes=exam.outcomes, repeats=repeats, scored=scored
        )

    settings = {"exam": list(exam), "repeats": repeats}
    return _kept("sharing-exam", settings, [rows[name] for name in _names(exam)], make)


def _left_out(rows: Mapping[str, pd.DataFrame], exam: Exam) -> Path:
    def make() -> pd.DataFrame:
        from rdcnlab_papers.models import buffers  # scikit-learn takes seconds to import, and a record needs none

        later = rows[exam.scored] if exam.scored else None
        return buffers.leave_out(exam.kind, rows[exam.rows], outcomes=exam.outcomes, later=later)

    return _kept("sharing-one-left-out", {"exam": [*exam]}, [rows[name] for name in _names(exam)], make)


def _names(exam: Exam) -> tuple[str, ...]:
    return tuple(name for name in (exam.rows, exam.scored) if name)


def coverage(rows: pd.DataFrame) -> Path:
    """Return the record of `gaussian.coverage`: for each row and outcome, whether it is in its interval."""
    settings = {"factors": "by condition"}
    return _kept("sharing-coverage", settings, [rows], lambda: gaussian.coverage(rows).reset_index(drop=True))


def learning(rows: pd.DataFrame) -> Path:
    """Return the record of `active.learning` for `SEEDS` random beginnings, with columns ``seed`` and ``active``."""

    def make() -> pd.DataFrame:
        from rdcnlab_papers.models import active

        parts = [
            active.learning(rows, active=by_doubt, begin=BEGIN, step=STEP, most=MOST, seed=seed).assign(
                seed=seed, active=by_doubt
            )
            for seed in range(SEEDS)
            for by_doubt in (False, True)
        ]
        return pd.concat(parts, ignore_index=True)

    settings = {"seeds": SEEDS, "begin": BEGIN, "step": STEP, "most": MOST}
    return _kept("sharing-learning", settings, [rows], make)


def saving(curves: pd.DataFrame) -> pd.Series[float]:
    """Return by seed the runs that active choice needs to reach an R2 of `LEVEL`, over those of random choice.

    A curve that does not reach it counts one step more than its last run, which it needs at least. If none of a seed
    does, nothing can be said: NaN.
    """
    reached = curves[curves["r2"] >= LEVEL].groupby(["seed", "active"])["runs"].min()
    all_curves = curves.groupby(["seed", "active"])["runs"].max() + STEP
    runs = reached.reindex(all_curves.index).fillna(all_curves).unstack()
    runs = runs[runs.index.isin(reached.index.get_level_values("seed"))].reindex(runs.index)
    ratio: pd.Series[float] = runs[True] / runs[False]
    return ratio


def spread(scores: pd.DataFrame, column: str) -> Estimate:
    """Return the mean of a score over splits; its interval contains 95 % of the single splits.

    Splits share rows, so an interval of their mean would claim too much. A reader has one split, as the paper has.
    """
    values = scores[column].to_numpy(float)
    low, high = np.quantile(values, [0.025, 0.975])
    return Estimate(float(values.mean()), float(low), float(high))


def read(path: Path) -> pd.DataFrame:
    """Read a record."""
    return pd.read_csv(path)


def _kept(kind: str, settings: Mapping[str, Any], rows: list[pd.DataFrame], make: Callable[[], pd.DataFrame]) -> Path:
    content = saved.digest(*(part[[*SETTINGS, *OUTCOMES]].to_numpy(float) for part in rows))
    recipe = saved.Recipe(kind, ".csv", {**settings, "form": _FORM}, content)

    def keep() -> Path:
        table = make()
        about = {"rows": sum(len(part) for part in rows)}
        return saved.keep(recipe, lambda target: table.to_csv(target, index=False), about, _LIBRARIES)

    return saved.once(recipe, keep)
