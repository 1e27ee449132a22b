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


def plot(
    name: Annotated[str, typer.Argument(metavar="RUN", help=HELP)],
    out: Annotated[
        Path | None, typer.Option(*OUT, help="A file .png, .svg or .pdf; ID.png in the working directory by default.")
    ] = None,
    span: Annotated[
        str | None, typer.Option(metavar="MS-MS", help="Only a part of the run, as in 100-250: from 100 ms to 250 ms.")
    ] = None,
    sequence: Annotated[bool, typer.Option("--sequence", help="Draw delivered bytes in place of rates.")] = False,
    force: Force = False,
) -> None:
    """Draw a run over time: timetables, rates, windows, queues, losses."""
    if out is not None:
        check(out, force=force, formats=FORMATS)
    run = find(name, Store())
    path = Path(f"{run.id[:PRINTED]}.png") if out is None else out
    check(path, force=force, formats=FORMATS)
    figure = run.plot(span_ms=None if span is None else parse_span(span), sequence=sequence)
    save(path, figure.image(path.suffix.lower().removeprefix(".")))  # type: ignore[attr-defined]
    typer.echo(path)


def parse_span(text: str) -> tuple[float, float]:
    """Read ``100-250``, two times in ms."""
    begin, _, end = text.partition("-")
    try:
        return float(begin), float(end)
    except ValueError:
        raise InputError.of("--span", text, "two times in ms, such as 100-250") from None
