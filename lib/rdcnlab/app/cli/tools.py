# SPDX-License-Identifier: Apache-2.0
"""Common parts of the commands: options, tables, seeds."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from rdcnlab.fields.errors import InputError

Json = Annotated[bool, typer.Option("--json", help="Print rows as JSON.")]
Cluster = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Run on the workers of a Dask cluster: its address such as tcp://host:8786, a scheduler file, or slurm:N.",
    ),
]
Output = Annotated[Path, typer.Option(help="Directory of the files that are written.")]


def show(rows: list[dict[str, Any]], as_json: bool, title: str | None = None) -> None:
    """Print rows as a table or as JSON."""
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
        return
    table = Table(title=title, title_justify="left")
    for name in rows[0] if rows else ():
        table.add_column(name)
    for row in rows:
        table.add_row(*(_cell(value) for value in row.values()))
    Console(width=None if sys.stdout.isatty() else 160).print(table, markup=False)


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4g}" if isinstance(value, float) else "" if value is None else str(value)


def parse_seeds(text: str) -> list[int]:
    """Read ``1-30``, ``1,4,7`` or both."""
    seeds: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d{1,10})(?:\s*-\s*(\d{1,10}))?\s*", part, re.ASCII)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if not first <= last < 2**32 or last - first >= 100_000:
            raise InputError.of("--seeds", text, "numbers and rising ranges, such as 1-30 or 1,4,7")
        seeds += range(first, last + 1)
    return seeds
