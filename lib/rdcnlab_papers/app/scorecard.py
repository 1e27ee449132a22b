# SPDX-License-Identifier: Apache-2.0
"""The scorecard for readers: the papers' claims, our own goals, restated claims, and how many claims hold.

Rows are those of `rdcnlab_papers.items.item.Item.rows`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from rdcnlab_papers.items.judged import JudgedClaim, Rows
from rdcnlab_papers.items.scored import Scorecard
from rdcnlab_papers.items.verdicts import Verdict


def cards(rows: Rows) -> list[Scorecard]:
    """Return a card for each item and column, in the order of the rows."""
    groups: dict[tuple[str, str, str], list[JudgedClaim]] = {}
    for row in rows:
        groups.setdefault((row.paper, row.item, row.column), []).append(row)
    return [Scorecard(tuple(group), legend=False) for group in groups.values()]


def restated_claims(rows: Rows) -> list[dict[str, str]]:
    """Return the restated claims: each earlier wording beside today's, and the verdicts by the rules of their times."""
    return [
        {
            "item": row.item,
            "column": row.column,
            "text": row.text,
            "expected": row.expected,
            "verdict": row.verdict,
            "was": was.text,
            "was expected": was.expected,
            "was verdict": was.verdict,
            "until": was.until,
        }
        for row in rows
        for was in row.was
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
    uncounted : dict of str to int
        Number of the paper's claims that are not counted, by the kind of reason; see `Claim.reasons`.
    """

    paper: str
    column: str
    verdicts: dict[str, int]
    uncounted: dict[str, int]

    @property
    def not_counted(self) -> int:
        """Number of the paper's claims that are not counted."""
        return sum(self.uncounted.values())

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
    for paper, column in dict.fromkeys((row.paper, row.column) for row in rows):
        selected = [row for row in rows if (row.paper, row.column) == (paper, column)]
        verdicts = Counter(row.verdict for row in selected if row.counted)
        uncounted = Counter(row.uncounted for row in selected if not (row.counted or row.own))
        if verdicts:
            by_verdict = {str(verdict): verdicts[verdict] for verdict in Verdict}
            table.append(Score(paper, column, by_verdict, dict(uncounted.most_common())))
    return table


@dataclass(frozen=True)
class Union:
    """The score of a paper in all columns together: a claim is reproduced if it is in one of them.

    Parameters
    ----------
    paper : str
        The paper.
    counted, reproduced : int
        Number of counted claims, and of those that are reproduced in at least one column.
    uncounted : dict of str to int
        Number of the paper's claims that are not counted, by the kind of reason.
    """

    paper: str
    counted: int
    reproduced: int
    uncounted: dict[str, int]

    @property
    def share(self) -> float | None:
        """Share of the counted claims that are reproduced in a column, in %; None if none is counted."""
        return 100 * self.reproduced / self.counted if self.counted else None


def unions(rows: Rows) -> list[Union]:
    """Return the score of each paper in all columns together."""
    table = []
    for paper in dict.fromkeys(row.paper for row in rows):
        of_paper = [row for row in rows if row.paper == paper and not row.own]
        counted = {row.key for row in of_paper if row.counted}
        held = {row.key for row in of_paper if row.counted and row.verdict == Verdict.REPRODUCED}
        # a claim that calibrates in one column may be counted in another
        others = {row.key: row.uncounted for row in of_paper if row.key not in counted}
        table.append(Union(paper, len(counted), len(held), dict(Counter(others.values()).most_common())))
    return table


def why_uncounted(uncounted: dict[str, int]) -> str:
    """Return how many claims are not counted, and why, in words; empty if all are counted.

    Examples
    --------
    >>> why_uncounted({"used to calibrate": 4, "by construction": 1})
    '5 not counted (4 used to calibrate, 1 by construction)'
    """
    reasons = ", ".join(f"{number} {reason}" for reason, number in uncounted.items())
    return f"{sum(uncounted.values())} not counted ({reasons})" if uncounted else ""


def summary(rows: Rows) -> list[str]:
    """Return one line for each paper and column, about the claims that are counted, and one for all its columns."""
    together = {union.paper: union for union in unions(rows)}
    lines: list[str] = []
    by_paper: dict[str, list[Score]] = {}
    for score in scores(rows):
        by_paper.setdefault(score.paper, []).append(score)
    for paper, of_paper in by_paper.items():
        lines += [_line(score) for score in of_paper]
        if len(of_paper) > 1:
            union = together[paper]
            share = f"{union.reproduced} of {union.counted} counted claims reproduced in a column ({union.share:.0f} %)"
            lines.append("; ".join(part for part in (f"{paper}: {share}", why_uncounted(union.uncounted)) if part))
    return lines


def _line(score: Score) -> str:
    """Return the score of a paper in one column, in words."""
    counts = {verdict: n for verdict, n in score.verdicts.items() if n and verdict != Verdict.REPRODUCED}
    other_verdicts = ", ".join(f"{n} {verdict}" for verdict, n in counts.items())
    share = "" if score.share is None else f" ({score.share:.0f} %)"
    holding = f"{score.reproduced} of {score.known} counted claims reproduced{share}"
    parts = (f"{score.paper}, column {score.column}: {holding}", other_verdicts, why_uncounted(score.uncounted))
    return "; ".join(part for part in parts if part)
