# SPDX-License-Identifier: Apache-2.0
"""The command `rdcnlab shell`: look around in a host at an instant of a scenario."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from rdcnlab.app.cli import completion
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
    """Run commands in a host at an instant, such as 'ss -ti' or 'tc -s qdisc', while the clock stands.

    Without -c, lines are read from standard input. Each of them has a run of its own up to the instant, so that all see
    the same state. Nothing is stored.
    """
    # imported here because help does without
    from rdcnlab.engines.kernel.looking import look

    try:
        at_ns = DURATION.parse(at)
    except ValueError as error:
        raise InputError.of("at", at, str(error)) from None
    loaded = Scenario.load(scenario)
    if command:
        status = 0
        for answer in look(loaded, host, at_ns, command):
            typer.echo(answer.text, nl=False)
            status = status or answer.status
        raise typer.Exit(status)
    while True:
        typer.echo(f"{host} at {DURATION.format(at_ns)}> ", nl=False, err=True)
        line = sys.stdin.readline()
        if not line or line.strip() == "exit":
            return
        if line.strip():
            for answer in look(loaded, host, at_ns, [line.strip()]):
                typer.echo(answer.text, nl=False)
