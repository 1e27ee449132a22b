# SPDX-License-Identifier: Apache-2.0
"""The command `rdcnlab shell`: look around in a host at an instant of a scenario."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import Annotated

import typer

from rdcnlab.app.cli import completion
from rdcnlab.app.cli.tools import plain
from rdcnlab.fields.errors import InputError
from rdcnlab.fields.units import DURATION
from rdcnlab.scenario import Scenario


def shell(
    host: Annotated[str, typer.Argument(help="A host of the scenario.")],
    scenario: Annotated[Path, typer.Argument(help="A YAML file.", autocompletion=completion.scenarios)],
    command: Annotated[
        list[str] | None, typer.Option("-c", "--command", help="A line for the shell; may be repeated.")
    ] = None,
    at: Annotated[str, typer.Option(help="The instant, such as '10 ms' after the start.")] = "0 ms",
) -> None:
    """Run commands in a host at an instant, such as 'ss -ti'.

    The clock stands meanwhile. Without -c, lines are read from the keyboard, or from standard input, and run in one
    shell. The clock stands between them. A line that waits, such as 'sleep 0.01', lets the network go on for so
    long. The line 'exit' ends the run. Nothing is stored.
    """
    # imported here because help does without
    from rdcnlab.engines.kernel.looking import LimitReachedError, Moment, look, prompt, talk

    try:
        at_ns = DURATION.parse(at)
    except ValueError as error:
        raise InputError.of("at", at, str(error)) from None
    loaded = Scenario.load(scenario)
    if command:
        status = 0
        try:
            answers = look(loaded, host, at_ns, command)
        except LimitReachedError as error:
            for answer in error.answers:
                typer.echo(plain(answer.text), nl=False)
            raise
        for answer in answers:
            typer.echo(plain(answer.text), nl=False)
            status = status or answer.status
        raise typer.Exit(status)
    last = 0

    def ask(moment: Moment) -> str | None:
        nonlocal last
        last = moment.status
        typer.echo(plain(moment.text), nl=bool(moment.text) and not moment.text.endswith("\n"))
        line = _typed(prompt(host, moment))
        return None if line is None or line.strip() == "exit" else line

    talk(loaded, host, at_ns, ask)
    raise typer.Exit(last)


def _typed(prompt: str) -> str | None:
    """Return a line that is not empty, from the keyboard with its history or from standard input; None at its end."""
    if sys.stdin.isatty():
        with contextlib.suppress(ImportError):
            import readline  # noqa: F401  (its import gives `input` a history)
    while True:
        if sys.stdin.isatty():
            try:
                line = input(prompt)
            except EOFError:
                return None
        else:
            typer.echo(prompt, nl=False, err=True)
            line = sys.stdin.readline()
            if not line:
                return None
        if line.strip():
            return line.strip()
