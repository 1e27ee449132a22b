# SPDX-License-Identifier: Apache-2.0
"""The command that draws a run."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from rdcnlab.app import figures as named
from rdcnlab.app.cli.picture import check, save
from rdcnlab.app.cli.tools import OUT, Force
from rdcnlab.app.run_names import HELP, PRINTED, find
from rdcnlab.fields.errors import InputError
from rdcnlab.fields.files import is_there
from rdcnlab.runs.store import Store

#: Formats of a picture, see `rdcnlab.analysis.drawing`.
FORMATS = ("png", "svg", "pdf", "pgf")
#: Formats of a time-line.
PAGES = ("html",)


def plot(
    name: Annotated[str, typer.Argument(metavar="RUN|PAPER/ITEM", help=f"{HELP} Or a figure, such as aykurt/fig4.")],
    out: Annotated[
        Path | None,
        typer.Option(*OUT, help="A file .png, .svg, .pdf, .pgf, or .html (a time-line); ID.png by default."),
    ] = None,
    timeline: Annotated[
        bool,
        typer.Option("--timeline", help="Write a page that can be zoomed, ID.html by default; it fetches nothing."),
    ] = False,
    span: Annotated[
        str | None, typer.Option(metavar="MS-MS", help="Only a part of the run, as in 100-250: from 100 ms to 250 ms.")
    ] = None,
    sequence: Annotated[bool, typer.Option("--sequence", help="Draw delivered bytes in place of rates.")] = False,
    column: Annotated[
        str | None,
        typer.Option(
            metavar="WIDTH",
            help="For a paper: single (3.5 in), double (7.16 in), or inches. References are written beside, as .bib.",
        ),
    ] = None,
    force: Force = False,
) -> None:
    """Draw a run over time, or a figure of a paper.

    A run is drawn with its timetables, rates, windows, queues and losses, a figure from its stored runs.
    """
    as_page = timeline or (out is not None and out.suffix.lower() == ".html")
    formats = PAGES if as_page else FORMATS
    is_item = "/" in name and not is_there(name)
    asked = [word for word, given in (("--span", span), ("--sequence", sequence), ("--column", column)) if given]
    if as_page and (asked or is_item):
        reason = f"{name} is a figure: it has no time-line" if is_item else f"a time-line takes no {asked[0]}"
        raise InputError.of("--timeline", True, reason=reason)
    if out is not None:
        check(out, force=force, formats=formats)
    if is_item:
        for path in _item(name, out, column, force):
            typer.echo(path)
        return
    run = find(name, Store())
    path = Path(f"{run.id[:PRINTED]}.{formats[0]}") if out is None else out
    check(path, force=force, formats=formats)
    if as_page:
        save(path, run.timeline().html.encode())
        typer.echo(path)
        return
    with _column(column):
        figure = run.plot(span_ms=None if span is None else parse_span(span), sequence=sequence)
        for drawn in written(figure, path, cite=None if column is None else []):
            typer.echo(drawn)


def _item(name: str, out: Path | None, column: str | None, force: bool) -> list[Path]:
    """Draw a figure of a paper from its stored runs."""
    with _column(column):
        figure, stem, cited = named.figures("PAPER/ITEM", name).draw(name, Store())
        path = Path(f"{stem}.png") if out is None else out
        check(path, force=force, formats=FORMATS)
        return written(figure, path, cite=None if column is None else cited)


def written(figure: Any, path: Path, cite: Sequence[str] | None) -> list[Path]:
    """Write a figure and its references; if a file cannot be written, the InputError says why."""
    try:
        files: list[Path] = figure.save(path, cite=cite)
    except OSError as error:
        raise InputError.of("--out", str(path), f"a file that can be written ({error.strerror})") from None
    return files


def _column(width: str | None) -> AbstractContextManager[None]:
    # imported here because it loads pandas, which help does without
    from rdcnlab.analysis import figures

    if width is None:
        return nullcontext()
    try:
        return figures.column(float(width))
    except ValueError:
        return figures.column(width)


def parse_span(text: str) -> tuple[float, float]:
    """Read ``100-250``, two times in ms."""
    begin, _, end = text.partition("-")
    try:
        return float(begin), float(end)
    except ValueError:
        raise InputError.of("--span", text, "two times in ms, such as 100-250") from None
