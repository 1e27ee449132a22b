# SPDX-License-Identifier: Apache-2.0
"""The scorecard for readers: the papers' claims, our own goals, restated claims, and how many claims hold.

Rows are those of `rdcnlab.papers.item.Item.rows`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from rdcnlab.papers.verdicts import Verdict, remarks

Rows = Sequence[dict[str, Any]]


def card(rows: Rows) -> list[dict[str, Any]]:
    """Return the columns of rows that fit on a terminal."""
    return [
        {
            **{name: row[name] for name in ("item", "column", "text", "expected", "measured", "verdict")},
            "remark": remarks(row),
            "profile": row["profile"],
        }
        for row in rows
    ]


def restated(rows: Rows) -> list[dict[str, Any]]:
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


def summary(rows: Rows) -> list[str]:
    """Return one line for each paper and column, about the claims that are counted."""
    lines = []
    for paper, column in dict.fromkeys((row["paper"], row["column"]) for row in rows):
        here = [row for row in rows if (row["paper"], row["column"]) == (paper, column)]
        counted = [row for row in here if row["counted"]]
        if not counted:
            continue
        verdicts = Counter(row["verdict"] for row in counted)
        others = ", ".join(f"{verdicts[each]} {each}" for each in Verdict if verdicts[each] and each != "reproduced")
        known = len(counted) - verdicts[Verdict.NOT_RUN]
        share = f" ({100 * verdicts[Verdict.REPRODUCED] / known:.0f} %)" if known else ""
        left = sum(not (row["counted"] or row["own"]) for row in here)
        lines.append(
            f"{paper}, column {column}: {verdicts[Verdict.REPRODUCED]} of {known} counted claims reproduced{share}"
            f"{f'; {others}' if others else ''}{f'; {left} not counted' if left else ''}"
        )
    return lines
