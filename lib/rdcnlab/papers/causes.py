# SPDX-License-Identifier: Apache-2.0
"""`Cause`: an experiment that shows why a claim does not hold here, and the table of all causes of an item."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from rdcnlab.analysis.measured import Measured
from rdcnlab.papers import verdicts
from rdcnlab.runs.frame import Runs

if TYPE_CHECKING:
    from rdcnlab.papers.claims import Claim
    from rdcnlab.papers.item import Item


@dataclass(frozen=True)
class Cause:
    """An experiment that shows why a claim does not hold here. The claim's field ``because`` explains it in words.

    Parameters
    ----------
    claim : str
        Id of the claim. The causes of a claim have the same order as the sentences of its ``because``, and after them
        those of its ``tried``: an experiment may also show that something is not the cause.
    shown_by : Item
        The item, changed so that the cause is removed or added; `Item.with_parameters` makes such an item.
    look : callable, optional
        The measurement to make on the runs of `shown_by`. By default it is the measurement of the claim itself.
    """

    claim: str
    shown_by: Item
    look: Callable[[Runs], Measured] | None = None


def explain(item: Item, runs_of: Callable[[Item], Runs | None]) -> pd.DataFrame:
    """Return the measurement and the verdict of the experiment of each cause; see `Item.explain`.

    Parameters
    ----------
    item : Item
        The item whose claims are explained.
    runs_of : callable
        Returns the runs of an experiment, or None if runs are missing.
    """
    known: list[tuple[Item, Runs | None]] = []  # several causes may look at the same runs, which take long to read
    rows = []
    for cause, claim, sentence in _with_words(item):
        if not any(experiment == cause.shown_by for experiment, _ in known):
            known.append((cause.shown_by, runs_of(cause.shown_by)))
        runs = next(runs for experiment, runs in known if experiment == cause.shown_by)
        if runs is None:
            there, verdict = "runs are missing; item.explain(run=True) makes them", str(verdicts.Verdict.NOT_RUN)
        else:
            measurement = cause.shown_by.measure(runs)[claim.id] if cause.look is None else cause.look(runs)
            there = measurement.text(claim.unit if cause.look is None else "")
            verdict = str(verdicts.judge(claim, measurement).verdict) if cause.look is None else ""
            if sentence in claim.candidates(item.column):
                sentence = verdicts.candidate(sentence, verdict)
        rows.append((claim.id, sentence, there, verdict))
    return pd.DataFrame(rows, columns=["claim", "because", "there", "verdict there"]).set_index("claim")


def _with_words(item: Item) -> Iterator[tuple[Cause, Claim, str]]:
    """Return each cause with its claim and its sentence."""
    claims = {claim.id: claim for claim in item.claims.claims}
    words = {name: iter((*claim.causes(item.column), *claim.candidates(item.column))) for name, claim in claims.items()}
    for cause in item.explanation():
        yield cause, claims[cause.claim], next(words[cause.claim])
