# SPDX-License-Identifier: Apache-2.0
"""The command that draws a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rdcnlab.app.cli.picture import FORMATS, check, save
from rdcnlab.app.cli.tools import OUT, Force
from rdcnlab.app.run_names import HELP, PRINTED, find
from rdcnlab.fields.errors import InputError
from rdcnlab.runs.store import Store

#: Formats of a time-line.
PAGES = ("html",)


def plot(
    name: Annotated[str, typer.Argument(metavar="RUN", help=HELP)],
    out: Annotated[
        Path | None,
        typer.Option(*OUT, help="A file .png, .svg, .pdf, or .html (a time-line); ID.png by default."),
    ] = None,
    timeline: Annotated[
        bool,
        typer.Option("--timeline", help="Write a page that can be zoomed, ID.html by default; it fetches nothing."),
    ] = False,
    span: Annotated[
        str | None, typer.Option(metavar="MS-MS", help="Only a part of the run, as in 100-250: from 100 ms to 250 ms.")
    ] = None,
    sequence: Annotated[bool, typer.Option("--sequence", help="Draw delivered bytes in place of rates.")] = False,
    force: Force = False,
) -> None:
    """Draw a run over time: timetables, rates, windows, queues, losses."""
    as_page = timeline or (out is not None and out.suffix.lower() == ".html")
    formats = PAGES if as_page else FORMATS
    if as_page and (span is not None or sequence):
        raise InputError.of("--timeline", "--span or --sequence", "neither, because a time-line shows the whole run")
    if out is not None:
        check(out, force=force, formats=formats)
    run = find(name, Store())
    path = Path(f"{run.id[:PRINTED]}.{formats[0]}") if out is None else out
    check(path, force=force, formats=formats)
    if as_page:
        content = run.timeline().html.encode()
    else:
        figure = run.plot(span_ms=None if span is None else parse_span(span), sequence=sequence)
        content = figure.image(path.suffix.lower().removeprefix("."))  # type: ignore[attr-defined]
    save(path, content)
    typer.echo(path)


def parse_span(text: str) -> tuple[float, float]:
    """Read ``100-250``, two times in ms."""
    begin, _, end = text.partition("-")
    try:
        return float(begin), float(end)
    except ValueError:
        raise InputError.of("--span", text, "two times in ms, such as 100-250") from None
