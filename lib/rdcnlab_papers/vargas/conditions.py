# SPDX-License-Identifier: Apache-2.0
"""Models of table 2 under a condition that is held out whole: harder than random settings of all conditions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from rdcnlab.analysis.intervals import over_seeds
from rdcnlab_papers.analysis import sharing
from rdcnlab_papers.analysis.measured import Measured
from rdcnlab_papers.models.buffers_records import Exam

if TYPE_CHECKING:
    from rdcnlab_papers.models import buffers


_KINDS: tuple[buffers.Kind, ...] = ("shallow", "deep", "fluid", "carried")
_OUTCOMES = {"": sharing.OUTCOMES, "-no-drops": sharing.NO_DROPS}
#: Models by case; rows that were not used to design models of ours have scores of their own.
LEFT_OUT = {
    kind + suffix: Exam(kind, "several", 0, outcomes, "later")
    for kind in _KINDS
    for suffix, outcomes in _OUTCOMES.items()
}
#: Claims with a number, by the case that they are about.
GOALS = {"left-out-shallow": "shallow-no-drops", "left-out-deep": "deep-no-drops"}


def measure(scores: pd.DataFrame) -> dict[str, Measured]:
    """Measure mean R2 over conditions, with its interval over them, and what our model explains more than the deep one.

    Parameters
    ----------
    scores : DataFrame
        The record of `rdcnlab_papers.models.buffers_records.left_out`.
    """
    cases = {str(case): rows.reset_index(drop=True) for case, rows in scores.groupby("case")}
    measured = {}
    for claim, case in GOALS.items():
        measured[claim] = Measured.one(over_seeds(cases[case]["r2"]), _listed(cases[case]))
    more, notes = {}, []
    for suffix, words in (("", "all outcomes"), ("-no-drops", "without drops")):
        ours, theirs, fluid = (cases[kind + suffix]["later"].dropna() for kind in ("carried", "deep", "fluid"))
        more[words] = over_seeds(ours - theirs)
        notes.append(f"{words}: {ours.mean():.3f}, deep {theirs.mean():.3f}, fluid model {fluid.mean():.3f}")
    measured["left-out-carried"] = Measured.by_case(more, note="; ".join(notes))
    return measured


def drawn(scores: pd.DataFrame) -> pd.DataFrame:
    """Return the record with the R2 of our model on settings that were not used to design it."""
    ours = scores["case"].str.startswith("carried")
    return scores.assign(r2=scores["r2"].where(~ours, scores["later"]))


def _listed(rows: pd.DataFrame) -> str:
    numbers = rows[["rate_gbps", "rtt_ms", "r2"]].to_numpy(float)
    return ", ".join(f"{rate:g} Gb/s and {rtt:g} ms: {value:.2f}" for rate, rtt, value in numbers)
