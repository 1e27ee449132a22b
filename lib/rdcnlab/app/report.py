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

from rdcnlab.papers import claims
from rdcnlab.papers.item import Item, Profile
from rdcnlab.runs.frame import Runs
from rdcnlab.runs.store import Store

_PROFILES: tuple[Profile, ...] = ("paper", "quick")
_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 68rem; padding: 0 1rem; color: #222 }
img { max-width: 100% } table { border-collapse: collapse; width: 100%; font-size: 0.9em }
td, th { border-bottom: 1px solid #ddd; padding: 0.3rem 0.6rem; text-align: left; vertical-align: top }
.verdict { white-space: nowrap; font-weight: 600 } .reproduced { color: #00734f } .partly { color: #8a5a00 }
.differs { color: #a83a00 } .provenance { color: #666; font-size: 0.85em }
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
    """Return the page as HTML, with its pictures inside."""
    sections = []
    seen: set[str] = set()
    for kind in kinds:
        if kind.paper not in seen:
            seen.add(kind.paper)
            paper = claims.paper(kind.paper)
            sections.append(f"<h1>{escape(paper.paper)}: {escape(paper.title)}</h1><p>{escape(paper.testbed)}</p>")
        sections.append(_section(kind, store))
    return (
        "<!DOCTYPE html><html lang='en'><meta charset='utf-8'><title>rdcnlab report</title>"
        f"<meta name='viewport' content='width=device-width'><style>{_STYLE}</style>{''.join(sections)}</html>\n"
    )


def write(kinds: Iterable[type[Item]], store: Store, path: Path) -> None:
    """Write the page."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page(kinds, store), encoding="utf-8")


def _section(kind: type[Item], store: Store) -> str:
    """Return the section of an item: its figure and its table in each column."""
    parts = []
    for column in kind.columns():
        item, runs = best(kind, store, column.id)
        title = f"<h3>{escape(column.title)}</h3>" if len(kind.columns()) > 1 else ""
        picture = "<p><em>Not run on this machine, and not shipped.</em></p>"
        provenance = ""
        if runs is not None:
            picture = f"<img alt='{escape(item.claims.title)}' src='data:image/png;base64,{_png(item.plot(runs))}'>"
            provenance = f"<p class='provenance'>{escape(item.provenance(runs))}</p>"
        parts.append(title + picture + _table(item.rows(runs)) + provenance)
    said = item.claims
    head = f"<h2 id='{item.id}'>{escape(item.id)}: {escape(said.title)}</h2><p>{escape(said.says)}</p>"
    return head + "".join(parts)


def _table(rows: list[dict[str, Any]]) -> str:
    columns = ("text", "expected", "measured")
    body = "".join(
        "<tr>"
        + "".join(f"<td>{escape(str(row[name]))}</td>" for name in columns)
        + f"<td class='verdict {row['verdict'].replace(' ', '-')}'>{escape(row['verdict'])}</td></tr>"
        for row in rows
    )
    return f"<table><tr><th>claim</th><th>expected</th><th>measured</th><th>verdict</th></tr>{body}</table>"


def _png(figure: Figure) -> str:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", metadata={"Software": None})
    return base64.b64encode(buffer.getvalue()).decode()
