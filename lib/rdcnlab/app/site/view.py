# SPDX-License-Identifier: Apache-2.0
"""Data for the templates of the report: claims with all columns side by side, papers, scores."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import jinja2

from rdcnlab.app import scorecard
from rdcnlab.app.site.entry import Entry, by_paper
from rdcnlab.papers import claims
from rdcnlab.papers.verdicts import Verdict, candidate, remarks


@dataclass(frozen=True)
class Cell:
    """The measured value of a claim in one column, and the verdict on it."""

    column: str
    measured: str
    verdict: str
    remark: str

    @property
    def kind(self) -> str:
        """The verdict as the name of a CSS class."""
        return self.verdict.replace(" ", "-")


@dataclass(frozen=True)
class ClaimView:
    """A claim with its verdicts in all columns.

    Parameters
    ----------
    text, expected : str
        The statement, and the numbers that satisfy it.
    counted, own : bool
        Whether it is counted in the score, and whether it is ours.
    cells : list of Cell
        One for each column.
    causes : list of str
        The causes, or the candidates that were tried, if the claim is not reproduced.
    was : list of str
        The first wording, with its verdict in each column, if the claim was restated.
    """

    text: str
    expected: str
    counted: bool
    own: bool
    cells: list[Cell]
    causes: list[str]
    was: list[str]

    @property
    def verdicts(self) -> str:
        """The verdicts of all columns as names of CSS classes."""
        return " ".join(dict.fromkeys(cell.kind for cell in self.cells))


@dataclass(frozen=True)
class PaperView:
    """A paper with its items; our own goals come last."""

    about: claims.Paper
    entries: list[tuple[Entry, list[ClaimView]]]


def papers(entries: Iterable[Entry]) -> list[PaperView]:
    """Return the papers of some entries, each with its items and their claims."""
    return [
        PaperView(claims.paper(name), [(entry, claims_of(entry)) for entry in group])
        for name, group in by_paper(entries).items()
    ]


def scores(entries: Iterable[Entry]) -> list[scorecard.Score]:
    """Return the score of each paper and column."""
    return scorecard.scores([row for entry in entries for shown in entry.columns for row in shown.rows])


def claims_of(entry: Entry) -> list[ClaimView]:
    """Return an item's claims, each with all columns side by side."""
    rows_by_claim: dict[str, list[dict[str, Any]]] = {}
    for shown in entry.columns:
        for row in shown.rows:
            experiments = [experiment for experiment in shown.explained if experiment["claim"] == row["claim"]]
            rows_by_claim.setdefault(row["claim"], []).append({**row, "causes": _causes(row, experiments)})
    return [_claim(rows) for rows in rows_by_claim.values()]


def _claim(rows: list[dict[str, Any]]) -> ClaimView:
    first = rows[0]
    causes = _by_column(rows, [(row["column"], sentence) for row in rows for sentence in row["causes"]])
    was = [
        (row["column"], f"First wording: {row['was']['text']} ({row['was']['expected']}): {row['was']['verdict']}")
        for row in rows
        if row["was"]
    ]
    cells = [Cell(row["column"], row["measured"], row["verdict"], remarks(row)) for row in rows]
    return ClaimView(
        first["text"], first["expected"], first["counted"], first["own"], cells, causes, _by_column(rows, was)
    )


def _causes(row: dict[str, Any], experiments: list[dict[str, str]]) -> list[str]:
    """Return the sentences on the cause of a claim that does not hold, with the values that experiments measured."""
    if row["verdict"] in (Verdict.REPRODUCED, Verdict.NOT_RUN):
        return []
    sentences = [*row["because"], *map(candidate, row["tried"])]
    if experiments:
        sentences = [f"{experiment['because']}: {experiment['there']}" for experiment in experiments]
    return [f"{sentence[0].upper()}{sentence[1:]}" for sentence in sentences]


def _by_column(rows: list[dict[str, Any]], sentences: list[tuple[str, str]]) -> list[str]:
    """Join equal sentences about several columns; a sentence about some columns only names them."""
    columns: dict[str, list[str]] = {}
    for column, sentence in sentences:
        columns.setdefault(sentence, []).append(column)
    count = len(rows)
    return [text if len(names) == count else f"{text} (column {', '.join(names)})" for text, names in columns.items()]


def environment() -> jinja2.Environment:
    """Return the templates' environment. Text is escaped in all templates of HTML."""
    templates = jinja2.Environment(
        loader=jinja2.PackageLoader("rdcnlab.app.site"),
        autoescape=lambda name: name is not None and ".html" in name,
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.globals["verdicts"] = [str(verdict) for verdict in Verdict]
    templates.filters["duration"] = duration
    return templates


def duration(seconds: float) -> str:
    """Return a time in words, such as ``1.5 min``."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.1f} min" if seconds < 3600 else f"{seconds / 3600:.1f} h"
