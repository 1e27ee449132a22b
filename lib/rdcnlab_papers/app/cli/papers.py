# SPDX-License-Identifier: Apache-2.0
"""Commands for the figures and claims of the papers."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

from rdcnlab.app.cli.tools import Cluster, Json, Output, ProfileName, Workers, profile_of, show
from rdcnlab.fields.errors import InputError
from rdcnlab.runs.store import Store
from rdcnlab_papers.app.cli import completion

Names = Annotated[
    list[str] | None,
    typer.Argument(metavar="[PAPER[/ITEM]]...", help="All by default.", autocompletion=completion.items),
]


def reproduce(
    names: Names = None,
    profile: ProfileName = "quick",
    workers: Workers = None,
    cluster: Cluster = None,
    parameter: Annotated[
        list[str] | None,
        typer.Option("--parameter", "-p", metavar="NAME=VALUE", help="Change a parameter that all chosen items have."),
    ] = None,
    output: Output = Path("out"),
    as_json: Json = False,
) -> None:
    """Execute notebooks: make missing runs, draw, score. After an interruption it continues where it stopped."""
    from rdcnlab_papers import select
    from rdcnlab_papers.app import scorecard
    from rdcnlab_papers.app.reproduce.all import Reproduced
    from rdcnlab_papers.app.reproduce.all import reproduce as execute
    from rdcnlab_papers.app.reproduce.ending import ending
    from rdcnlab_papers.items import faces, judged
    from rdcnlab_papers.items.scored import Scorecard

    parameters: dict[str, Any] = {"profile": profile_of(profile), "workers": workers}
    parameters.update(assignment(text) for text in parameter or ())
    kinds = select(names or [])

    def ended(item: Reproduced) -> None:
        if item.rows and not as_json:
            faces.write(Scorecard(tuple(item.rows), legend=len(kinds) == 1))
            typer.echo("\n" + "\n".join(str(path) for path in (item.notebook, *item.figures)) + "\n")

    results = execute(
        kinds, parameters, output, workers=workers, cluster=cluster, progress=not as_json,
        beside=len(kinds) == 1 and not as_json, ended=ended,
    )  # fmt: skip
    if as_json:
        show(judged.to_data(row for item in results for row in item.rows), True)
    elif len(results) > 1:
        show([_summary(item) for item in results], False, "summary")
        typer.echo("\n".join(scorecard.summary([row for item in results for row in item.rows])))
    elif results[0].sentence:
        faces.write(ending(results[0]))
    failures = [item for item in results if item.error]
    for failure in failures:
        typer.echo(f"{failure.name}: {failure.error}", err=True)
    if failures:
        raise typer.Exit(1)


def _summary(item: Any) -> dict[str, Any]:
    """Return an item's line of the summary of a reproduction."""
    verdicts = Counter(row.verdict for row in item.rows)
    return {
        "item": item.name,
        "runs made": item.runs,
        "time of runs [s]": round(item.wall_s, 1),
        "verdicts": "failed" if item.error else ", ".join(f"{count} {verdict}" for verdict, count in verdicts.items()),
    }


def score(
    names: Names = None,
    restated: Annotated[
        bool, typer.Option("--restated", help="Only restated claims, with the verdicts on earlier wordings.")
    ] = False,
    again: Annotated[bool, typer.Option("--again", help="Also judge items of which nothing changed.")] = False,
    as_json: Json = False,
) -> None:
    """Judge the papers' claims from stored runs.

    Every claim is judged in every column, from the runs of the largest profile that is complete. An item is judged
    again if its runs, the code, the claims or the libraries changed since the last time.
    """
    from rdcnlab_papers import full_names
    from rdcnlab_papers.app import scorecard
    from rdcnlab_papers.app.site import stored
    from rdcnlab_papers.items import faces, judged

    rows = stored.judge_all(full_names(names or []), Store(), again=again)
    if restated:
        show(scorecard.restated_claims(rows), as_json)
        return
    if as_json:
        show(judged.to_data(rows), as_json)
        return
    for card in scorecard.cards(rows):
        faces.write(card)
        typer.echo("")
    faces.write(faces.terminal_legend(row.verdict for row in rows))
    typer.echo("\n" + "\n".join(scorecard.summary(rows)))


def report(names: Names = None, output: Output = Path("out")) -> None:
    """Write one static page with every figure and verdict."""
    from rdcnlab_papers import select
    from rdcnlab_papers.app.report import write

    path = output / "report.html"
    write(select(names or []), Store(), path)
    typer.echo(path)


def site(names: Names = None, workers: Workers = None, output: Output = Path("out")) -> None:
    """Build the web site: report, executed notebooks, documents.

    Unchanged parts are not made again.
    """
    from rdcnlab_papers import select
    from rdcnlab_papers.app.site.build import build

    built = build(select(names or []), Store(), output, workers=workers)
    typer.echo(built.summary)
    typer.echo(built.page)
    if built.failed:
        raise typer.Exit(1)


def notebooks(
    directory: Annotated[Path, typer.Argument(help="Target directory; it must be empty or new.")] = Path("notebooks"),
) -> None:
    """Copy the notebooks out of the package, to open and change them."""
    from rdcnlab_papers.app.cli.copied import copy

    typer.echo(f"jupyter lab {copy(directory)}")


maintaining = typer.Typer(rich_markup_mode=None)


@maintaining.command("ship", hidden=True)
def ship(
    names: Annotated[
        list[str],
        typer.Argument(metavar="PAPER[/ITEM]...", help="As in aykurt/fig4.", autocompletion=completion.items),
    ],
    batch: Annotated[
        bool, typer.Option("--batch", help="Add files with the runs that are not shipped yet; leave all others.")
    ] = False,
) -> None:
    """Ship the stored runs of items (paper profile), the runs of their causes, and models. For maintainers.

    A shipped run stays, unless there is a newer one. An item with missing runs gets no verdict.
    """
    from rdcnlab_papers import select
    from rdcnlab_papers.app import shipping

    store = Store()
    results = [shipping.ship(kind, store, batch=batch) for kind in select(names)]
    if not any(result.runs for result in results):
        reason = f"nothing is shipped, because {' '.join(names)} has no stored run of the paper profile"
        raise InputError.of("PAPER[/ITEM]", " ".join(names), "items with a stored run", reason=reason)
    for result in results:
        typer.echo(f"{result.folder}: {result.written} of {result.runs} runs, the others are with other items")
    incomplete = [message for result in results for message in result.incomplete]
    if incomplete:
        typer.echo(f"not complete: {'; '.join(incomplete)}")


def assignment(text: str, option: str = "--parameter", example: str = "seeds=3") -> tuple[str, Any]:
    """Return the name and the value of ``NAME=VALUE``, where the value is YAML."""
    name, sign, value = text.partition("=")
    if not sign:
        raise InputError.of(option, text, f"a name and a value, such as {example}")
    try:
        return name, yaml.safe_load(value)
    except yaml.YAMLError:
        raise InputError.of(f"{option} {name}", value, "a YAML value") from None
