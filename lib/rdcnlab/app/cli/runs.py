# SPDX-License-Identifier: Apache-2.0
"""The commands about stored runs: list, show, compare, check, delete."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Annotated, Any

import typer

from rdcnlab.app.cli.chart import MOST, print_chart
from rdcnlab.app.cli.picture import check as check_picture
from rdcnlab.app.cli.picture import save
from rdcnlab.app.cli.tools import OUT, Force, Json, plain, say, say_loads, show
from rdcnlab.app.run_names import HELP, PRINTED, find, find_seeds
from rdcnlab.fields.errors import InputError
from rdcnlab.fields.files import is_file
from rdcnlab.runs.frame import Runs, variants
from rdcnlab.runs.run import Run
from rdcnlab.runs.store import Store

app = typer.Typer(
    help="List, show, compare, check and delete stored runs.", invoke_without_command=True, rich_markup_mode=None
)

#: Most characters of a program's command line in a table.
_COMMAND = 40
#: Lines of a program's output that are printed: the first ones and the last ones.
_HEAD, _TAIL = 6, 6
#: Most flows of which each has a row; of more a table by size is printed.
MANY = 60
#: Most seeds that are listed.
_SEEDS = 12
Count = Annotated[int, typer.Option("--count", "-n", min=1, help="Number of runs, the newest first.")]
Names = Annotated[list[str], typer.Argument(metavar="RUN...", help=HELP)]


@app.callback()
def _default(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        list_runs()


@app.command("list")
def list_runs(count: Count = 30, as_json: Json = False) -> None:
    """List the runs that were made on this machine, the newest first."""
    store = Store()
    paths = [store.root / identifier for identifier in store.ids()]
    newest = sorted(paths, key=lambda path: path.stat().st_mtime, reverse=True)
    rows = [_row(run) for run in map(store.get, (path.name for path in newest[:count])) if run is not None]
    show(rows, as_json)
    if not as_json:
        more = f"; the newest {len(rows)} are shown" if len(paths) > len(rows) else ""
        typer.echo(f"{len(paths)} run{'s' * (len(paths) != 1)} in {store.root}{more}")


def _row(run: Run) -> dict[str, Any]:
    assert isinstance(run.source, Path)
    made = datetime.datetime.fromtimestamp(run.source.stat().st_mtime).astimezone()
    return {
        "id": run.id[:PRINTED],
        "made": f"{made:%Y-%m-%d %H:%M}",
        "network": run.scenario.network.name,
        "flows": len(run.scenario.flows),
        "cc": variants(run.scenario),
        "seed": run.scenario.seed,
        "virtual_s": run.provenance.get("virtual_s"),
        "wall_s": run.provenance.get("wall_s"),
        "MB": round(sum(path.stat().st_size for path in run.source.rglob("*") if path.is_file()) / 1e6, 3),
    }


@app.command("show")
def show_run(name: Annotated[str, typer.Argument(metavar="RUN", help=HELP)], as_json: Json = False) -> None:
    """Print a run: its flows, what limited them, a small chart, and its scenario."""
    run = find(name, Store())
    limits = run.limits()
    if as_json:
        rows = json.loads(limits.to_json(orient="records"))
        provenance = dict(run.provenance)
        typer.echo(
            json.dumps({"id": run.id, "shipped": run.shipped, "flows": rows, "provenance": provenance}, indent=2)
        )
        return
    typer.echo(run.id)
    say_loads(run.scenario)
    if len(limits) > MANY:
        print_by_size(Runs([run]))
    elif len(limits):
        show(json.loads(limits.drop(columns="limited_by").to_json(orient="records")), False)
    if run.scenario.programs:
        print_programs(Runs([run]), as_json=False)
    print_limits(run)
    print_chart(run)
    typer.echo(run.scenario.dump())


@app.command()
def compare(
    names: Names,
    by: Annotated[
        list[str] | None, typer.Option(help="A setting to compare, such as cc or period_ms; by default all that vary.")
    ] = None,
    out: Annotated[Path | None, typer.Option(*OUT, help="Also draw: a file .png, .svg or .pdf.")] = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Compare runs: means with intervals, and a picture with a point for each run.

    A file of a scenario stands for its stored runs with all seeds, as of run --seeds.
    """
    if out is not None:
        check_picture(out, force=force)
    store = Store()
    runs: dict[str, Run] = {}
    for name in names:
        of_name = find_seeds(name, store)
        runs |= {run.id: run for run in of_name}
        if is_file(name):
            seeds = ", ".join(str(run.scenario.seed) for run in of_name[:_SEEDS]) + ", ..." * (len(of_name) > _SEEDS)
            typer.echo(f"{name}: seed{'s' * (len(of_name) > 1)} {seeds}", err=True)
    comparison = Runs(list(runs.values())).compare(by)
    show(json.loads(comparison.table.to_json(orient="records")) if as_json else comparison.rows(), as_json)
    if out is not None:
        save(out, comparison.plot().image(out.suffix.lower().removeprefix(".")))
        typer.echo(out, err=as_json)


@app.command()
def delete(names: Names, yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False) -> None:
    """Delete runs that were made on this machine. Their scenarios can be run again, with the same results."""
    store = Store()
    for name in names:
        if is_file(name):  # it would be run first, and then deleted
            raise InputError.of("RUN", name, reason=f'"{name}" is a file; delete takes ids, see rdcnlab runs')
    runs = [find(name, store) for name in names]
    for run in runs:
        typer.echo(repr(run))
    if not yes:
        typer.confirm(f"Delete {'this run' if len(runs) == 1 else f'these {len(runs)} runs'}?", abort=True)
    for run in runs:
        store.delete(run)


@app.command()
def check(as_json: Json = False) -> None:
    """Compare the files of all runs, local and shipped, with what was written; status 1 if one is damaged.

    Nothing is run; `rdcnlab verify` runs scenarios again.
    """
    from rdcnlab.runs import manifest
    from rdcnlab.runs.verify import damages

    store = Store()
    rows = list(damages(store))
    if as_json:
        show(rows, as_json)
    elif rows:
        for row in rows:
            say(row["damage"])
    else:
        shipped = f"{len(store.shipped)} shipped runs in {manifest.count(store.shipped.root)} files"
        typer.echo(f"As they were written: {len(store.ids())} runs in {store.root}, and {shipped}")
    if rows:
        raise typer.Exit(1)


def print_flows(runs: Runs, *, as_json: bool, every: bool) -> None:
    """Print a row for each flow; of many flows a row for each size, unless every flow is asked for."""
    from rdcnlab.analysis.tables import mean_rates  # loads pandas, which help does without

    flows = runs.flows
    if len(flows) > MANY and not (as_json or every):
        print_by_size(runs)
        return
    flows["goodput_Gbps"] = mean_rates(flows, runs[0].scenario.limit / 1e9, unit=1e-9)
    columns = ["seed", "flow", "cc", "size_B", "finished", "fct_s", "goodput_Gbps", "retransmits", "timeouts"]
    show(json.loads(flows[columns].to_json(orient="records")), as_json)


def print_by_size(runs: Runs) -> None:
    """Print the slowdown of flows by size, and their sums."""
    flows = runs.flows
    show(runs.slowdown().rows(), False)
    say(
        f"{len(flows)} flows of {flows['size_B'].sum() / 1e6:.4g} MB: {int(flows['finished'].sum())} finished, "
        f"{int(flows['retransmits'].sum())} retransmissions, {int(flows['timeouts'].sum())} timeouts. "
        f"Slowdown is the completion time over that of a flow alone. Each flow: rdcnlab run --rows, or --json"
    )


def print_limits(run: Run) -> None:
    """Print what limited each flow, a line for each; of many flows how many each reason has."""
    from rdcnlab.analysis.results.limits import kinds

    flows = len(run.scenario.flows)
    if flows > MANY:
        for _, reason in kinds(run).iterrows():
            say(f"{reason['flows']} of {flows} flows: limited by {reason['limited_by']}")
        return
    reasons = run.limits().set_index("flow")["limited_by"]
    for flow, words in reasons.head(MOST).items():
        say(f"{flow!s}: limited by {words}")
    if len(reasons) > MOST:
        typer.echo(f"and {len(reasons) - MOST} more: rdcnlab runs show {run.id[:PRINTED]} --json")


def print_programs(runs: Runs, *, as_json: bool) -> None:
    """Print a row for each program, and what those of the first run printed."""
    columns = ["seed", "program", "command", "start_s", "end_s", "ended", "status", "stdout_B", "files_B"]
    rows = json.loads(runs.programs[columns].to_json(orient="records"))
    for row in rows:
        row["command"] = (
            row["command"] if len(row["command"]) <= _COMMAND or as_json else row["command"][:_COMMAND] + "..."
        )
    show(rows, as_json)
    source = runs[0].source
    if not as_json and isinstance(source, Path):
        for program in runs[0].scenario.programs:
            for errors in (False, True):
                _print_output(runs[0], program.name, errors=errors)
        typer.echo(f"What they printed and wrote: {source / 'programs'}")


def _print_output(run: Run, program: str, *, errors: bool) -> None:
    """Print the first and last lines of what a program printed, if it printed any."""
    lines = run.printed(program, errors=errors).splitlines()
    if not lines:
        return
    typer.echo(f"{program} printed{' to standard error' if errors else ''}:")
    left_out = len(lines) - _HEAD - _TAIL
    if left_out > 1:
        lines = [*lines[:_HEAD], f"... ({left_out} lines)", *lines[-_TAIL:]]
    for line in lines:
        typer.echo(f"  {plain(line)}")


def summarise(runs: Runs) -> None:
    """Print what limited the flows of runs of one scenario, a chart of the first, and their ids."""
    first = runs[0]
    if len(runs) > 1:
        typer.echo(f"Of the {len(runs)} runs, this one has the seed {first.scenario.seed}:")
    say_loads(first.scenario)
    print_limits(first)
    print_chart(first)
    ids = [run.id[:PRINTED] for run in runs]
    shown = ", ".join(ids[:6]) + (f" and {len(ids) - 6} more (rdcnlab runs lists them)" if len(ids) > 6 else "")
    typer.echo(f"Stored as {shown}. Draw it: rdcnlab plot {ids[0]}")
    for host in first.scenario.probes.capture if not first.shipped else ():
        typer.echo(f"Packets of {host}, to open in Wireshark: {first.file(f'{host}.pcapng')}")
    if len(ids) > 1:
        typer.echo(f"Compare: rdcnlab runs compare {' '.join(ids[:3])}{' ...' if len(ids) > 3 else ''}")
