# SPDX-License-Identifier: Apache-2.0
"""The scorecard for readers: the papers' claims, our own goals, restated claims, and how many claims hold.

Rows are those of `rdcnlab.papers.item.Item.rows`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rdcnlab.papers.scored import Scorecard
from rdcnlab.papers.verdicts import Verdict

Rows = Sequence[dict[str, Any]]


def cards(rows: Rows) -> list[Scorecard]:
    """Return a card for each item and column, in the order of the rows."""
    groups: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["paper"], row["item"], row["column"]), []).append(row)
    return [Scorecard(tuple(group), legend=False) for group in groups.values()]


def restated_claims(rows: Rows) -> list[dict[str, Any]]:
    """Return the restated claims: both wordings, and the verdict on each by the rule of its time."""
    return [
        {
            "item": row["item"],
            "column": row["column"],
            "text": row["text"],
            "expected": row["expected"],
            "verdict": row["verdict"],
            "was": row["was"]["text"],
            "was expected": row["was"]["expected"],
            "was verdict": row["was"]["verdict"],
        }
        for row in rows
        if row["was"] is not None
    ]


@dataclass(frozen=True)
class Score:
    """The score of a paper in one column.

    Parameters
    ----------
    paper, column : str
        Where the claims were judged.
    verdicts : dict of str to int
        Number of counted claims by verdict, in the order of `Verdict`; every verdict has an entry.
    not_counted : int
        Number of the paper's claims that are not counted.
    """

    paper: str
    column: str
    verdicts: dict[str, int]
    not_counted: int

    @property
    def reproduced(self) -> int:
        """Number of counted claims that are reproduced."""
        return self.verdicts[Verdict.REPRODUCED]

    @property
    def known(self) -> int:
        """Number of counted claims that have a verdict."""
        return sum(self.verdicts.values()) - self.verdicts[Verdict.NOT_RUN]

    @property
    def share(self) -> float | None:
        """Share of the claims with a verdict that are reproduced, in %; None if none has a verdict."""
        return 100 * self.reproduced / self.known if self.known else None


def scores(rows: Rows) -> list[Score]:
    """Return the score of each paper and column that has counted claims."""
    table = []
    for paper, column in dict.fromkeys((row["paper"], row["column"]) for row in rows):
        selected = [row for row in rows if (row["paper"], row["column"]) == (paper, column)]
        verdicts = Counter(row["verdict"] for row in selected if row["counted"])
        uncounted = sum(not (row["counted"] or row["own"]) for row in selected)
        if verdicts:
            table.append(Score(paper, column, {str(verdict): verdicts[verdict] for verdict in Verdict}, uncounted))
    return table


def summary(rows: Rows) -> list[str]:
    """Return one line for each paper and column, about the claims that are counted."""
    lines = []
    for score in scores(rows):
        counts = {verdict: n for verdict, n in score.verdicts.items() if n and verdict != Verdict.REPRODUCED}
        other_verdicts = ", ".join(f"{n} {verdict}" for verdict, n in counts.items())
        share = "" if score.share is None else f" ({score.share:.0f} %)"
        holding = f"{score.reproduced} of {score.known} counted claims reproduced{share}"
        lines.append(
            f"{score.paper}, column {score.column}: {holding}"
            f"{f'; {other_verdicts}' if other_verdicts else ''}"
            f"{f'; {score.not_counted} not counted' if score.not_counted else ''}"
        )
    return lines
