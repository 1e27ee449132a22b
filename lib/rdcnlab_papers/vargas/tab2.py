# SPDX-License-Identifier: Apache-2.0
"""Table 2: models of share, drops and occupancy, trained on a few percent of the settings. Sec. 7."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import pandas as pd

from rdcnlab.analysis import figures
from rdcnlab.analysis.intervals import Estimate, over_seeds
from rdcnlab.fields.quantities import whole
from rdcnlab.runs.frame import Runs
from rdcnlab_papers.analysis import sharing
from rdcnlab_papers.analysis.measured import Measured
from rdcnlab_papers.items.causes import Cause
from rdcnlab_papers.models import buffers_records, gaussian
from rdcnlab_papers.vargas import conditions
from rdcnlab_papers.vargas.dataset import Dataset, is_single, of_table
from rdcnlab_papers.vargas.exams import COUNTED, EVERY, HELD_OUT, KERAS, KINDS, MORE, READINGS, ROWS, claim_of, in_words
from rdcnlab_papers.vargas.space import first_settings, setting_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Settings by profile, as in `Dataset`: those of the quick profile take minutes.
_LEAST_TRAIN, _SPLITS = 4, {"quick": 5, "paper": 20}
_COLUMNS = ["model", "train", "r2", "case"]
#: The first settings under several conditions were known when features, kernel and kinds of better models were chosen.
#: These models are scored on later settings only.
SEEN = 190
#: Our goals for models whose claims of the paper are lower.
GOALS = ("deep-several", "deep-several-no-drops")
#: Fewest rows to score on.
_LEAST_SCORED = 20
_ERRORS = [f"{kind} {name}" for kind in ("mae", "rmse") for name in sharing.OCCUPANCIES]


class Tab2(Dataset):
    """R2 of models on settings that they were not trained on.

    Parameters
    ----------
    splits : int or None
        Number of random splits into training settings and others. None: 5 in the quick profile, 20 in the paper's.
    keras : bool
        Whether to score the network of TensorFlow too, which takes minutes.
    """

    undivided: ClassVar[str] = "models are trained on random splits of all settings"

    splits: Annotated[int, whole(2, 1000)] | None = None
    keras: bool = False

    @property
    def extras(self) -> tuple[str, ...]:  # type: ignore[override]  # only with keras
        """Optional libraries that the item needs."""
        return ("models",) if self.keras else ()

    def cases(self, runs: Runs) -> dict[str, pd.DataFrame]:
        """Return rows, one for each setting, by name.

        ``single``: of the single condition; ``several``: of all conditions; ``later``: those of ``several`` that were
        not used to design a model; ``all``: all, also between the conditions.
        """
        everything = sharing.by_setting(sharing.outcomes(runs))
        rows = everything[of_table(everything)]
        single = is_single(rows)
        several = rows[~single | self._spread(rows)]
        seen = {*first_settings(SEEN)}
        later = [setting_of(row) not in seen for _, row in several.iterrows()]
        return {
            "single": rows[single].reset_index(drop=True),
            "several": several,
            "later": several[pd.Series(later, several.index, dtype=bool) & ~is_single(several)],
            "all": everything,
        }

    @staticmethod
    def _spread(rows: pd.DataFrame) -> pd.Series[bool]:
        """Select rows of the single condition that belong to the settings under all conditions: a ninth of these."""
        single = is_single(rows)
        others = rows[~single]
        conditions = others.groupby(["rate_gbps", "rtt_ms"]).ngroups
        count = len(others) // conditions if conditions else 0
        chosen = pd.Series(data=False, index=rows.index)
        chosen[rows[single].index[:count]] = True
        return chosen

    def records(self, runs: Runs) -> dict[str, Path]:
        """Return the records of all tests that have enough runs; see `rdcnlab_papers.models.buffers_records`."""
        rows, paths = self.cases(runs), {}
        exams = {
            case: exam
            for case, exam in (ROWS | MORE | READINGS | (KERAS if self.keras else {})).items()
            # scores need rows to be left; a model needs a few to be trained on
            if len(rows[exam.rows]) >= 1.25 * max(_LEAST_TRAIN, exam.train)
            and (not exam.scored or len(rows[exam.scored]) >= max(_LEAST_SCORED, len(rows[exam.rows]) // 4))
        }
        if exams:
            paths["scores"] = buffers_records.scores(rows, exams, self.splits or _SPLITS[self.profile])
        if len(rows["later"]) >= _LEAST_SCORED:
            paths["left out"] = buffers_records.left_out(rows, conditions.LEFT_OUT)
        if len(rows["all"]) >= 2 * gaussian.LEAST_ROWS:
            paths["coverage"] = buffers_records.coverage(rows["all"])
        # a third is for the score only, see `active.learning`
        if len(rows["several"]) >= 2 * buffers_records.MOST:
            paths["learning"] = buffers_records.learning(rows["several"])
        return paths

    def scores(self, runs: Runs) -> pd.DataFrame:
        """Return `buffers.examine` for each row of the table, and the better models; ``case`` names the row."""
        records = self.records(runs)
        return buffers_records.read(records["scores"]) if "scores" in records else pd.DataFrame(columns=_COLUMNS)

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure R2 of each row, the errors of occupancies, and the share of rows in their intervals."""
        scores = self.scores(runs)
        measured = {}
        for case, part in scores.groupby(scores["case"].astype(str), sort=False):
            trained_on = "no" if case.startswith("fluid") else int(part["train"].iloc[0])
            note = f"{trained_on} settings for training; {', '.join(part['model'].unique())}"
            r2 = Measured.one(buffers_records.spread(part, "r2"), note)
            measured[claim_of(case)] = r2
            if case in GOALS:
                measured[f"goal-{case}"] = r2
        for suffix, claim in (("", "occupancy-errors was"), ("-as-many", "occupancy-errors")):
            errors = _spreads(scores, f"deep-several{suffix}", _ERRORS)
            if errors.cases:
                measured[claim] = errors
        records = self.records(runs)
        if "left out" in records:
            measured |= conditions.measure(buffers_records.read(records["left out"]))
        if "coverage" in records:
            inside = 100.0 * buffers_records.read(records["coverage"])
            everything = self.cases(runs)["all"]
            usual, single = of_table(everything), is_single(everything)
            for claim, rows in (
                ("intervals-hold", usual & ~single),
                ("intervals-hold-single", single),
                ("intervals-hold-between", ~usual),
            ):
                if rows.any():
                    shares = {name: over_seeds(inside[rows][name]).within(0, 100) for name in inside}
                    measured[claim] = Measured.by_case(shares, note=f"{rows.sum()} settings")
        if "learning" in records:
            curves = buffers_records.read(records["learning"])
            ends = curves[curves["runs"] == curves["runs"].max()].groupby("active")["r2"].mean()
            note = f"mean R2 with {curves['runs'].max()} runs: active {ends[True]:.3f}, random {ends[False]:.3f}"
            ratios = buffers_records.saving(curves).dropna()
            # if no curve reaches the level, the ratio may be any positive number
            ratio = over_seeds(ratios) if len(ratios) else Estimate(float("nan"), 0.0, float("inf"))
            measured["active-saves"] = Measured.one(ratio, note)
        return measured

    def causes(self) -> list[Cause]:
        """Return looks at models of the same kind that were trained on more settings."""
        of_all = [f"r2 {name}" for name in sharing.OUTCOMES]
        looks = {
            "r2-shallow-single": ("shallow-single-of-all", of_all),
            "r2-deep-single": ("deep-single-of-all", of_all),
            "r2-shallow-several-no-drops": ("linear-several-no-drops-as-many", ["r2"]),
            "r2-shallow-single-no-drops": ("shallow-single-of-all", of_all),
            "goal-deep-several": ("deep-several-as-many", ["r2"]),
            "goal-deep-several-no-drops": ("deep-several-no-drops-as-many", ["r2"]),
        }

        def look(runs: Runs, case: str, columns: list[str]) -> Measured:
            return _spreads(self.scores(runs), case, columns)

        return [
            Cause(claim, self, partial(look, case=case, columns=columns)) for claim, (case, columns) in looks.items()
        ]

    def plot(self, runs: Runs) -> Figure:
        """Draw R2 by row, with single splits, and the numbers of claims: those of the paper, and our goals."""
        records = self.records(runs)
        scores = self.scores(runs)
        known = [name for name in (*ROWS, *MORE, *READINGS, *KERAS) if name in set(scores["case"])]
        # rows that differ in one thing only are below each other
        names = sorted(known, key=lambda name: [*KINDS].index(EVERY[name].kind))
        if "left out" in records:
            left_out = buffers_records.read(records["left out"])
            scores = pd.concat(
                [scores, conditions.drawn(left_out).assign(case=HELD_OUT + left_out["case"])], ignore_index=True
            )
            names += [HELD_OUT + case for case in conditions.LEFT_OUT]
        color, lowest = "#333333", -0.5
        below = int((scores["r2"] < lowest).sum())
        with figures.single(8.4, 1.2 + 0.26 * len(names)) as (figure, ax):
            if below:
                figures.note(figure, f"Drawn at {lowest:g}: dots that are lower ({below}).")
            for index, name in enumerate(names):
                r2 = scores.loc[scores["case"] == name, "r2"]
                first = index == 0
                ax.plot(
                    r2.clip(lower=lowest), [index] * len(r2), "o", color=color, alpha=0.4, markersize=4,
                    label="split, or condition held out" if first else None,
                )  # fmt: skip
                ax.plot(
                    max(r2.mean(), lowest), index, "|", color=color, markersize=13, markeredgewidth=2,
                    label="mean" if first else None,
                )  # fmt: skip
            for is_own, face, words in ((False, "#D55E00", "stated by the paper"), (True, "none", "our goal")):
                bounds = [(bound, names.index(name)) for name, bound, own in self._bounds(names) if own == is_own]
                if bounds:
                    ax.plot(
                        *zip(*bounds, strict=True),
                        "D",
                        color="#D55E00",
                        markerfacecolor=face,
                        markersize=5,
                        label=words,
                    )
            ax.set_yticks(range(len(names)), [in_words(name) for name in names])
            ax.invert_yaxis()
            ax.set(xlabel="R2 on other settings", xlim=(min(0.0, scores["r2"].clip(lower=lowest).min()) - 0.05, 1.05))
        return figure

    def _bounds(self, names: list[str]) -> Iterator[tuple[str, float, bool]]:
        """Iterate over the numbers that claims expect of cases, and whether these are our goals."""
        for claim in self.claims.claims:
            kind, _, name = claim.id.partition("-")
            if claim.id in conditions.GOALS:
                kind, name = "r2", HELD_OUT + conditions.GOALS[claim.id]
            elif kind == "r2":
                name = COUNTED.get(name, name)
            if kind in ("r2", "goal") and name in names:
                bound = claim.expect.at_least if claim.expect.near is None else claim.expect.near
                assert bound is not None  # claims of the table are of these two forms
                yield name, bound, claim.own

    def models(self, runs: Runs) -> list[Path]:
        """Return the predictor of the tuner, trained on all runs, and the records of all tests; they are shipped."""
        return [*self.early_models(runs), *self.records(runs).values()]

    def early_models(self, runs: Runs) -> list[Path]:
        """Return the predictor of the tuner, which can be used while the data set still grows."""
        rows = sharing.by_setting(sharing.outcomes(runs))
        return [gaussian.train(rows)] if len(rows) >= gaussian.LEAST_ROWS else []


def _spreads(scores: pd.DataFrame, case: str, columns: list[str]) -> Measured:
    """Measure some scores of a row of the table; nothing if it has none."""
    part = scores[scores["case"] == case]
    return Measured({name: buffers_records.spread(part, name) for name in columns} if len(part) else {})
