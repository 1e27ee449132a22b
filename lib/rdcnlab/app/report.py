# SPDX-License-Identifier: Apache-2.0
"""Write one static page with every figure, the paper's claims, every verdict, and the provenance of the runs."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import Any

import pyarrow as pa
from matplotlib.figure import Figure

from rdcnlab.app import scorecard
from rdcnlab.papers import claims
from rdcnlab.papers.item import Item, Profile
from rdcnlab.papers.verdicts import remarks
from rdcnlab.runs.frame import Runs
from rdcnlab.runs.store import Store

_PROFILES: tuple[Profile, ...] = ("paper", "quick")
_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 68rem; padding: 0 1rem; color: #222 }
img { max-width: 100% } table { border-collapse: collapse; width: 100%; font-size: 0.9em }
td, th { border-bottom: 1px solid #ddd; padding: 0.3rem 0.6rem; text-align: left; vertical-align: top }
.verdict { white-space: nowrap; font-weight: 600 } .reproduced { color: #00734f } .partly { color: #8a5a00 }
.undecided { color: #44576b } .differs { color: #a83a00 } .provenance, .aside { color: #666; font-size: 0.85em }
.aside { font-weight: 400; white-space: normal }
"""


def best(kind: type[Item], store: Store, column: str = "") -> tuple[Item, Runs | None]:
    """Return an item and its runs in a column, in the largest profile whose runs are all stored.

    If no profile has all its runs, return the item in the quick profile, and None.
    """
    for profile in _PROFILES:
        item = kind(profile=profile, column=column)
        runs = item.stored(store)
        if runs is not None:
            return item, runs
    return kind(profile="quick", column=column), None


def judged(kind: type[Item], store: Store) -> list[dict[str, Any]]:
    """Return an item's scorecard in all its columns, and free its tables: those of all papers would fill the memory."""
    rows = []
    for column in kind.columns():
        item, runs = best(kind, store, column.id)
        rows += item.rows(runs)
        del runs
        pa.default_memory_pool().release_unused()
    return rows


def page(kinds: Iterable[type[Item]], store: Store) -> str:
    """Return the page as HTML, with its pictures inside. Our own goals come after the papers' claims."""
    chosen = list(kinds)
    sections: list[str] = []
    rows: list[dict[str, Any]] = []
    for name in dict.fromkeys(kind.paper for kind in chosen):
        paper = claims.paper(name)
        sections.append(f"<h1>{escape(paper.paper)}: {escape(paper.title)}</h1><p>{escape(paper.testbed)}</p>")
        of_paper = [kind for kind in chosen if kind.paper == name]
        goals = [kind for kind in of_paper if paper.item(kind.id).own]
        for kind in of_paper:
            if kind not in goals:
                sections.append(_section(kind, store, rows))
        if goals:
            sections.append(f"<h1>{escape(paper.paper)}: our own goals</h1><p>They are not the paper's claims.</p>")
            sections += [_section(kind, store, rows) for kind in goals]
    head = "".join(f"<li>{escape(line)}</li>" for line in scorecard.summary(rows))
    return (
        "<!DOCTYPE html><html lang='en'><meta charset='utf-8'><title>rdcnlab report</title>"
        f"<meta name='viewport' content='width=device-width'><style>{_STYLE}</style>"
        f"<ul>{head}</ul>{''.join(sections)}</html>\n"
    )


def write(kinds: Iterable[type[Item]], store: Store, path: Path) -> None:
    """Write the page."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page(kinds, store), encoding="utf-8")


def _section(kind: type[Item], store: Store, scored: list[dict[str, Any]]) -> str:
    """Return the section of an item, its figure and its table in each column, and add its rows to `scored`."""
    parts = []
    for column in kind.columns():
        item, runs = best(kind, store, column.id)
        rows = item.rows(runs)
        scored += rows
        title = f"<h3>{escape(column.title)}</h3>" if len(kind.columns()) > 1 else ""
        picture = "<p><em>Not run on this machine, and not shipped.</em></p>"
        provenance = ""
        if runs is not None:
            picture = f"<img alt='{escape(item.claims.title)}' src='data:image/png;base64,{_png(item.plot(runs))}'>"
            provenance = f"<p class='provenance'>{escape(item.provenance(runs))}</p>"
        parts.append(title + picture + _table(rows) + provenance)
    said = item.claims
    head = f"<h2 id='{item.id}'>{escape(item.id)}: {escape(said.title)}</h2><p>{escape(said.says)}</p>"
    return head + "".join(parts)


def _table(rows: list[dict[str, Any]]) -> str:
    names = ("claim", "expected", "measured", "verdict")
    head = "".join(f"<th>{name}</th>" for name in names)
    return f"<table><tr>{head}</tr>{''.join(map(_row, rows))}</table>"


def _row(row: dict[str, Any]) -> str:
    """Return the row of a claim, with what is known of its cause, and with its first wording if it was restated."""
    was = row["was"]
    first = f"first wording: {was['text']} ({was['expected']}): {was['verdict']}" if was else ""
    because = [] if row["verdict"] == "reproduced" else row["because"]
    unknown = (
        [] if row["verdict"] == "reproduced" else [f"cause unknown; ruled out: {each}" for each in row["ruled_out"]]
    )
    cells = (
        escape(row["text"]) + _aside(first, *because, *unknown),
        escape(row["expected"]),
        escape(row["measured"]),
    )
    verdict = escape(row["verdict"]) + _aside(remarks(row), "" if row["counted"] else "not counted")
    kind = row["verdict"].replace(" ", "-")
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}<td class='verdict {kind}'>{verdict}</td></tr>"


def _aside(*lines: str) -> str:
    return "".join(f"<div class='aside'>{escape(line)}</div>" for line in lines if line)


def _png(figure: Figure) -> str:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", metadata={"Software": None})
    return base64.b64encode(buffer.getvalue()).decode()
