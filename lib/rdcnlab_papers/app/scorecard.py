# SPDX-License-Identifier: Apache-2.0
"""The scorecard for readers: the papers' claims, our own goals, restated claims, and how many claims hold.

Rows are those of `rdcnlab_papers.items.item.Item.rows`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from rdcnlab_papers.analysis import coins
from rdcnlab_papers.analysis.coins import Coins
from rdcnlab_papers.items import claims
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
    """The score of a paper in all columns together, or of several papers; `docs/verdicts.md` describes its numbers.

    Parameters
    ----------
    paper : str
        The paper; empty for several.
    counted : int
        Number of claims that are counted in at least one column.
    in_primary, in_every, reproduced, by_first_wordings : int
        How many of them are reproduced: in the first column, in every column that ran, in at least one column, and in
        at least one column by the first wording of a claim that was restated.
    signs, signs_reproduced : int
        Number of those that are about a sign only and ran, and of those that are reproduced in at least one column.
    coins, coins_alike : Coins
        How many of these would hold by coin tosses: one for each case of each column, and one for each column.
    uncounted : dict of str to int
        Number of the paper's claims that are not counted, by the kind of reason.
    """

    paper: str
    counted: int
    in_primary: int
    in_every: int
    reproduced: int
    by_first_wordings: int
    signs: int
    signs_reproduced: int
    coins: Coins
    coins_alike: Coins
    uncounted: dict[str, int]

    @property
    def share(self) -> float | None:
        """Share of the counted claims that are reproduced in a column, in %; None if none is counted."""
        return 100 * self.reproduced / self.counted if self.counted else None

    @property
    def words(self) -> str:
        """The numbers in a sentence."""
        share = "" if self.share is None else f" ({self.share:.0f} %)"
        parts = [
            f"{self.in_primary} of {self.counted} counted claims reproduced in the first column",
            f"{self.in_every} in every column that ran",
            f"{self.reproduced} in any column{share}",
            f"{self.by_first_wordings} by first wordings",
        ]
        tosses = (
            f"{self.signs_reproduced} of {self.signs} that are a sign only in any column, where coins would give "
            f"{self.coins}, or {self.coins_alike} if the cases of a column fell alike"
        )
        return "; ".join([", ".join(parts), *([tosses] if self.signs else [])])


def unions(rows: Rows) -> list[Union]:
    """Return the score of each paper in all columns together."""
    return [union([row for row in rows if row.paper == paper]) for paper in dict.fromkeys(row.paper for row in rows)]


def union(rows: Rows) -> Union:
    """Return the score of all claims of some rows, in all columns together."""
    of_papers = [row for row in rows if not row.own]
    names = [*dict.fromkeys(row.paper for row in of_papers)]
    first = {name: claims.paper(name).columns[0].id for name in names}
    by_claim: dict[tuple[str, ...], list[JudgedClaim]] = {}
    for row in of_papers:
        if row.counted:
            by_claim.setdefault((row.paper, *row.key), []).append(row)
    # a claim that calibrates in one column may be counted in another
    others = {(row.paper, *row.key): row.uncounted for row in of_papers if not row.counted}
    uncounted = Counter(reason for claim, reason in others.items() if claim not in by_claim)
    ran = [[row for row in of_claim if row.verdict != Verdict.NOT_RUN] for of_claim in by_claim.values()]
    signs = [of_claim for of_claim in ran if of_claim and of_claim[0].sign]
    return Union(
        paper=names[0] if len(names) == 1 else "",
        counted=len(by_claim),
        in_primary=sum(_holds(row) and row.column == first[row.paper] for of_claim in ran for row in of_claim),
        in_every=sum(bool(of_claim) and all(map(_holds, of_claim)) for of_claim in ran),
        reproduced=sum(any(map(_holds, of_claim)) for of_claim in ran),
        by_first_wordings=sum(
            any(row.first_verdict == Verdict.REPRODUCED for row in of_claim) for of_claim in by_claim.values()
        ),
        signs=len(signs),
        signs_reproduced=sum(any(map(_holds, of_claim)) for of_claim in signs),
        coins=coins.toss([coins.any_column(len(row.cases) for row in of_claim) for of_claim in signs]),
        coins_alike=coins.toss([coins.any_column(1 for _ in of_claim) for of_claim in signs]),
        uncounted=dict(uncounted.most_common()),
    )


def _holds(row: JudgedClaim) -> bool:
    return row.verdict == Verdict.REPRODUCED


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
    """Return lines about counted claims: one for each paper and column, for each paper, and for several papers."""
    together = {of_paper.paper: of_paper for of_paper in unions(rows)}
    lines: list[str] = []
    by_paper: dict[str, list[Score]] = {}
    for score in scores(rows):
        by_paper.setdefault(score.paper, []).append(score)
    for paper, of_paper in by_paper.items():
        lines += [_line(score) for score in of_paper]
        if len(of_paper) > 1:
            lines.append(_together(paper, together[paper]))
    return [*lines, _together("all papers", union(rows))] if len(by_paper) > 1 else lines


def _together(title: str, score: Union) -> str:
    return "; ".join(part for part in (f"{title}: {score.words}", why_uncounted(score.uncounted)) if part)


def _line(score: Score) -> str:
    """Return the score of a paper in one column, in words."""
    counts = {verdict: n for verdict, n in score.verdicts.items() if n and verdict != Verdict.REPRODUCED}
    other_verdicts = ", ".join(f"{n} {verdict}" for verdict, n in counts.items())
    share = "" if score.share is None else f" ({score.share:.0f} %)"
    holding = f"{score.reproduced} of {score.known} counted claims reproduced{share}"
    parts = (f"{score.paper}, column {score.column}: {holding}", other_verdicts, why_uncounted(score.uncounted))
    return "; ".join(part for part in parts if part)
