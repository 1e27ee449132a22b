# SPDX-License-Identifier: Apache-2.0
"""Common parts of the commands: options, tables, seeds."""

from __future__ import annotations

import json
import re
import sys
import textwrap
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from rdcnlab.app.cli.tables import tables
from rdcnlab.fields.errors import InputError
from rdcnlab.scenario import Scenario

Json = Annotated[bool, typer.Option("--json", help="Print rows as JSON.")]
Cluster = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Run on the workers of a Dask cluster: its address such as tcp://host:8786, a scheduler file, or slurm:N.",
    ),
]
#: The names of the option that says where a command writes; every command that writes files has it.
OUT = ("--out", "-o", "--output")
Output = Annotated[Path, typer.Option(*OUT, help="Directory of the files that are written.")]
#: Width of tables that are not printed to a terminal, in characters.
_IN_A_FILE = 160
Workers = Annotated[int | None, typer.Option(min=1, help="Worker processes; one on each core by default.")]
ProfileName = Annotated[str, typer.Option(help="quick or paper.", autocompletion=lambda: ["quick", "paper"])]
Force = Annotated[bool, typer.Option("--force", help="Overwrite any file, not only one that rdcnlab has drawn.")]


def show(rows: list[dict[str, Any]], as_json: bool, title: str | None = None) -> None:
    """Print rows as a table or as JSON."""
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
        return
    console = Console(width=None if sys.stdout.isatty() else _IN_A_FILE, emoji=False)
    for number, table in enumerate(tables(rows, console.width, title)):
        console.print(*[""] * (number > 0), table, sep="\n", markup=False)


def say(message: str) -> None:
    """Print a sentence; in a terminal it is wrapped between words, and its further lines are indented."""
    if sys.stdout.isatty():
        width = Console().width
        message = textwrap.fill(message, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
    typer.echo(message)


def plain(text: str) -> str:
    """Return what a program printed, without what would move a terminal's cursor or change its colours."""
    return "".join(sign if sign.isprintable() or sign in "\t\n" else "?" for sign in text)


def say_loads(scenario: Scenario) -> None:
    """Print what each workload offers beside the load that it states."""
    for load in scenario.loads():
        say(str(load))


def show_checks(rows: list[dict[str, Any]]) -> None:
    """Print the checks of `rdcnlab.app.doctor.examine`, wrapped at the width of the terminal."""
    grid = Table.grid(padding=(0, 1))
    for _ in range(2):
        grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for row in rows:
        state = "ok" if row["ok"] else "MISSING" if row["needed"] else "-"
        style = "green" if row["ok"] else "bold red" if row["needed"] else "yellow"
        lines = [str(row["result"]), *([f"to mend it: {row['remedy']}"] if row["remedy"] else [])]
        grid.add_row(Text(state, style=style), row["what"], Text("\n".join(lines)))
    Console().print(grid)
    optional = [str(row["what"]) for row in rows if not row["ok"] and not row["needed"]]
    if optional:
        Console().print(f"-: only some scenarios and commands need {', '.join(optional)}", highlight=False)


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


def profile_of(name: str) -> str:
    """Return the name of a profile; raise InputError if there is none of this name."""
    if name not in ("quick", "paper"):
        raise InputError.unknown("--profile", name, ["quick", "paper"], "profile")
    return name
