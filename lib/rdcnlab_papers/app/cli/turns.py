# SPDX-License-Identifier: Apache-2.0
"""``rdcnlab turns``: which verdicts a change of the network turns."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from rdcnlab.app.cli.tools import Json, Workers, say, show
from rdcnlab.fields.errors import InputError
from rdcnlab_papers.app.cli.papers import Names, assignment

_EXAMPLE = "network.links.*.jitter='2 us'"


def turns(
    names: Names = None,
    change: Annotated[
        list[str] | None,
        typer.Option("--change", "-c", metavar="FIELD=VALUE", help=f"What is changed everywhere, such as {_EXAMPLE}."),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Runs of each scenario.")] = 3,
    workers: Workers = None,
    as_json: Json = False,
) -> None:
    """Print the claims whose verdict a change of the network turns.

    Items are run with the change, in their first column; beside its verdict stands that of other seeds without it.
    After an interruption it continues where it stopped.
    """
    from rdcnlab_papers import select
    from rdcnlab_papers.app import turns as claims

    changes = dict(assignment(text, "--change", _EXAMPLE) for text in change or ())
    rows: list[claims.Turn] = []
    for kind in select(names or []):
        try:
            rows += claims.turns(kind, changes, seeds=seeds, workers=workers, progress=not as_json)
        except InputError as error:
            if not changes:
                raise
            typer.echo(f"{kind.paper}/{kind.id}: {error}", err=True)
    if as_json:
        show([asdict(row) for row in rows], True)
        return
    shown = [
        {"claim": f"{row.item} {row.claim}", "verdict": row.verdict, "other seeds": row.other_verdict,
         "with the change": row.changed_verdict, "measured": row.measured, "with": row.changed_measured}
        for row in rows if row.by_change or row.by_seeds
    ]  # fmt: skip
    if shown:
        show(shown, False)
    say(claims.summary(rows))
