# SPDX-License-Identifier: Apache-2.0
"""Data for the templates of the report: claims with all columns side by side, papers, scores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import jinja2

from rdcnlab_papers.app import scorecard
from rdcnlab_papers.app.site.entry import Entry, by_paper
from rdcnlab_papers.app.site.shown import thumb_name
from rdcnlab_papers.items import claims, faces
from rdcnlab_papers.items.judged import JudgedCase, JudgedClaim, Rows
from rdcnlab_papers.items.verdicts import Verdict, candidate


@dataclass(frozen=True)
class Cell:
    """The measured value of a claim in one column, and the verdict on it."""

    column: str
    cases: tuple[JudgedCase, ...]
    note: str
    verdict: str
    remark: str

    @property
    def kind(self) -> str:
        """The verdict as the name of a CSS class."""
        return faces.css_class(self.verdict)


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
    weak : str
        Why little follows if the claim holds; empty for most claims.
    causes : list of str
        The causes, or the candidates that were tried, if the claim is not reproduced.
    was : list of str
        The earlier wordings, with their verdicts in each column, if the claim was restated.
    """

    text: str
    expected: str
    counted: bool
    own: bool
    cells: list[Cell]
    weak: str
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

    @property
    def summary(self) -> list[str]:
        """The paper in about ten lines of HTML: its score in each column, and which items are reproduced."""
        entries = [entry for entry, _ in self.entries]
        shown = [column for entry in entries for column in entry.columns]
        seconds, runs = sum(column.wall_s for column in shown), sum(column.runs for column in shown)
        lines = [f"{len(entries)} figures, tables and findings from {runs} runs, {duration(seconds)} of one core."]
        titles = {column.id: column.title for column in self.about.columns}
        for score in scores(entries):
            counts = " ".join(_count(verdict, number) for verdict, number in score.verdicts.items() if number)
            name = f"{score.column} ({titles[score.column]})" if len(titles) > 1 else "Counted statements"
            lines.append(f"{escape(name)}: {counts}")
        for union in unions(entries).values():
            why = scorecard.why_uncounted(union.uncounted)
            lines.append("; ".join(part for part in (f"All columns: {union.words}", why) if part) + ".")
        for title, of_group in grouped(entries).items():
            links = ", ".join(f'<a href="#item-{entry.paper}-{entry.id}">{escape(entry.id)}</a>' for entry in of_group)
            lines.append(f"{escape(title)}: {links}.")
        return lines


@dataclass(frozen=True)
class Tile:
    """An item in the grid of figures: its small picture, its verdicts as CSS classes, and their counts as HTML."""

    entry: Entry
    thumb: str
    verdicts: str
    badges: str


@dataclass(frozen=True)
class Group:
    """Tiles of items with similar verdicts."""

    title: str
    tiles: list[Tile]


#: Titles of groups of items, by whether all, some or none of their statements are reproduced.
_ALL, _SOME, _NONE, _OPEN = (
    "All statements reproduced", "Some statements reproduced", "No statement reproduced", "Open: undecided, or not run",
)  # fmt: skip


def papers(entries: Iterable[Entry]) -> list[PaperView]:
    """Return the papers of some entries, each with its items and their claims."""
    return [
        PaperView(claims.paper(name), [(entry, claims_of(entry)) for entry in group])
        for name, group in by_paper(entries).items()
    ]


def verdicts_of(entry: Entry) -> Counter[str]:
    """Count the verdicts on an item's counted claims in its first column; on all its claims if none is counted."""
    rows = entry.columns[0].rows
    return Counter(row.verdict for row in [row for row in rows if row.counted] or rows)


def counts(entry: Entry) -> str:
    """Return how many claims of an item have which verdict, as HTML."""
    known = verdicts_of(entry)
    return " ".join(_count(verdict, known[verdict]) for verdict in Verdict if known[verdict])


def _count(verdict: str, number: int) -> str:
    return faces.badge(verdict, f"{number} {verdict}")


def grouped(entries: Iterable[Entry]) -> dict[str, list[Entry]]:
    """Return items by whether their statements are reproduced, groups without an item left out."""
    groups: dict[str, list[Entry]] = {_ALL: [], _SOME: [], _NONE: [], _OPEN: []}
    for entry in entries:
        known = verdicts_of(entry)
        open_ones = known[Verdict.UNDECIDED] + known[Verdict.NOT_RUN]
        held, total = known[Verdict.REPRODUCED], known.total()
        title = _ALL if held == total else _SOME if held else _OPEN if open_ones == total else _NONE
        groups[title].append(entry)
    return {title: of_group for title, of_group in groups.items() if of_group}


def tiles(entries: Iterable[Entry]) -> list[Group]:
    """Return the grid of figures, grouped by verdict."""
    return [
        Group(
            title,
            [
                Tile(
                    entry,
                    next((thumb_name(shown.figure) for shown in entry.columns if shown.figure), ""),
                    " ".join(faces.css_class(verdict) for verdict in verdicts_of(entry)),
                    counts(entry),
                )
                for entry in of_group
            ],
        )
        for title, of_group in grouped(entries).items()
    ]


def front(entries: Sequence[Entry], hero: tuple[str, str], folder: str) -> dict[str, Any]:
    """Return what the first page tells: numbers of figures, papers, runs and statements, and a picture.

    The picture is that of item `hero`, or of the first item with a picture on a site without that item.
    """
    rows = [row for entry in entries for shown in entry.columns for row in shown.rows if row.counted]
    counted = {(row.paper, row.item, row.claim) for row in rows}
    held = {(row.paper, row.item, row.claim) for row in rows if row.verdict == Verdict.REPRODUCED}
    shown = [(entry, column) for entry in entries for column in entry.columns if column.figure]
    picture = None
    if shown:
        entry, column = next((pair for pair in shown if (pair[0].paper, pair[0].id) == hero), shown[0])
        page = f"papers/{entry.paper}.html#item-{entry.paper}-{entry.id}"
        picture = {"page": page, "picture": f"{folder}/{column.figure}", "alt": column.alt, "size": column.size}
    return {
        "figures": len(entries), "paper_count": len({entry.paper for entry in entries}),
        "runs": sum(column.runs for _, column in shown), "counted": len(counted), "reproduced": len(held),
        "hero": picture,
    }  # fmt: skip


def scores(entries: Iterable[Entry]) -> list[scorecard.Score]:
    """Return the score of each paper and column."""
    return scorecard.scores([row for entry in entries for shown in entry.columns for row in shown.rows])


def unions(entries: Iterable[Entry]) -> dict[str, scorecard.Union]:
    """Return the score of each paper in all its columns together, by the paper."""
    rows = [row for entry in entries for shown in entry.columns for row in shown.rows]
    return {union.paper: union for union in scorecard.unions(rows)}


def reasons(uncounted: Mapping[str, int]) -> str:
    """Return how many claims are not counted by kind of reason, in words; empty if all are counted."""
    return ", ".join(f"{number} {reason}" for reason, number in uncounted.items())


def claims_of(entry: Entry) -> list[ClaimView]:
    """Return an item's claims, each with all columns side by side."""
    rows_by_claim: dict[str, list[tuple[JudgedClaim, list[str]]]] = {}
    for shown in entry.columns:
        for row in shown.rows:
            experiments = [experiment for experiment in shown.explained if experiment["claim"] == row.claim]
            rows_by_claim.setdefault(row.claim, []).append((row, _causes(row, experiments)))
    return [_claim(*zip(*rows, strict=True)) for rows in rows_by_claim.values()]


def _claim(rows: Rows, causes_of: Sequence[list[str]]) -> ClaimView:
    first = rows[0]
    sentences = [(row.column, sentence) for row, causes in zip(rows, causes_of, strict=True) for sentence in causes]
    was = [
        (row.column, f"Until {was.until}: {was.text} ({was.expected}): {was.verdict}")
        for row in rows
        for was in row.was
    ]
    cells = [Cell(row.column, row.cases, row.note, row.verdict, row.remarks) for row in rows]
    return ClaimView(
        first.text, first.expected, first.counted, first.own, cells, first.weak,
        _by_column(rows, sentences), _by_column(rows, was),
    )  # fmt: skip


def _causes(row: JudgedClaim, experiments: list[dict[str, str]]) -> list[str]:
    """Return the sentences on the cause of a claim that does not hold, with the values that experiments measured."""
    if row.verdict in (Verdict.REPRODUCED, Verdict.NOT_RUN):
        return []
    sentences = [*row.because, *map(candidate, row.tried)]
    if experiments:
        sentences = [f"{experiment['because']}: {experiment['there']}" for experiment in experiments]
    return [f"{sentence[0].upper()}{sentence[1:]}" for sentence in sentences]


def _by_column(rows: Rows, sentences: list[tuple[str, str]]) -> list[str]:
    """Join equal sentences about several columns; a sentence about some columns only names them."""
    columns: dict[str, list[str]] = {}
    for column, sentence in sentences:
        columns.setdefault(sentence, []).append(column)
    count = len(rows)
    return [text if len(names) == count else f"{text} (column {', '.join(names)})" for text, names in columns.items()]


def interactive_page(entry: Entry) -> str:
    """Return the name of an item's interactive page beside the page of its paper; empty if it has none."""
    return f"{entry.paper}-{entry.id}" if any(shown.interactive for shown in entry.columns) else ""


def environment() -> jinja2.Environment:
    """Return the templates' environment. Text is escaped in all templates of HTML."""
    templates = jinja2.Environment(
        loader=jinja2.PackageLoader("rdcnlab_papers.app.site"),
        autoescape=lambda name: name is not None and ".html" in name,
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.globals |= {
        "verdicts": [str(verdict) for verdict in Verdict],
        "badge": faces.badge,
        "folded": faces.folded,
        "counts": counts,
        "interactive_page": interactive_page,
        "reasons": reasons,
        "measured": lambda cell: faces.measured(cell.cases, cell.note),
    }
    templates.filters["duration"] = duration
    return templates


def duration(seconds: float) -> str:
    """Return a time in words, such as ``1.5 min``."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.1f} min" if seconds < 3600 else f"{seconds / 3600:.1f} h"
