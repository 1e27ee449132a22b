# SPDX-License-Identifier: Apache-2.0
"""The command line. Exit codes: 0 done, 1 something failed, 2 bad input."""

from __future__ import annotations

import json
import signal
import sys
import warnings
from pathlib import Path
from typing import Annotated, Any, get_args

import typer
from typer.core import TyperGroup

from rdcnlab import __version__
from rdcnlab.app import figures
from rdcnlab.app.cli import completion
from rdcnlab.app.cli import kernel as cli_kernel
from rdcnlab.app.cli import lab as cli_lab
from rdcnlab.app.cli import plot as cli_plot
from rdcnlab.app.cli import runs as cli_runs
from rdcnlab.app.cli import shell as cli_shell
from rdcnlab.app.cli.tools import (
    OUT,
    Cluster,
    Force,
    Json,
    Output,
    ProfileName,
    Workers,
    parse_seeds,
    profile_of,
    show,
    show_checks,
)
from rdcnlab.app.run_names import HELP as RUN_HELP
from rdcnlab.fields.errors import HintWarning, InputError, RdcnlabError
from rdcnlab.runs.campaign import campaign, cautions_of, hints_of
from rdcnlab.runs.store import Store
from rdcnlab.scenario import Scenario
from rdcnlab.scenario.kinds import SwitchKind
from rdcnlab.system import entry_points
from rdcnlab.system.progress import notice

#: Commands in the order in which help lists them: what a newcomer needs first. Those of other packages come after them.
ORDER = (
    "doctor", "run", "show", "plot", "examples", "runs", "lab", "shell", "export", "verify", "schema", "kernel",
    "bench",
)  # fmt: skip


class Commands(TyperGroup):
    """The commands, which help lists in the order of `ORDER`, and those that other packages add."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands."""
        own = sorted(super().list_commands(ctx), key=ORDER.index)
        return own + [name for name in entry_points.points("rdcnlab.commands") if name not in own]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command by its name; None if there is none."""
        own = super().get_command(ctx, cmd_name)
        if own is not None:
            return own
        point = entry_points.points("rdcnlab.commands").get(cmd_name)
        return None if point is None else _command(point.name, entry_points.load(point))


def _command(name: str, added: Any) -> Any:
    """Return the command of a function, or of a group of them, as typer makes it of ours."""
    if not isinstance(added, typer.Typer):
        function, added = added, typer.Typer(rich_markup_mode=None)
        added.command(name)(function)
    command = typer.main.get_command(added)
    command.name = name
    return command


app = typer.Typer(
    cls=Commands,
    help="TCP in networks that reconfigure themselves: a real Linux stack in virtual time.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.add_typer(cli_kernel.app, name="kernel")
app.add_typer(cli_runs.app, name="runs")
app.command("plot")(cli_plot.plot)
app.command("lab")(cli_lab.lab)
app.command("shell")(cli_shell.shell)

#: Exit code after Ctrl-C, as shells have it.
_INTERRUPTED = 130
#: Largest size of each flow in the quick profile, in bytes.
_QUICK_B = 64 * 2**20


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"rdcnlab {__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version, and end.")
    ] = False,
) -> None:
    pass


@app.command()
def doctor(
    run: Annotated[bool, typer.Option("--run", help="Also boot a guest and run a small scenario in it.")] = False,
    as_json: Json = False,
) -> None:
    """Check what this machine can run, and say what is missing."""
    from rdcnlab.app.doctor import examine

    rows = examine(run=run)
    if as_json:
        show(rows, as_json)
    else:
        show_checks(rows)
    if not all(row["ok"] for row in rows if row["needed"]):
        raise typer.Exit(1)


@app.command("examples")
def copy_examples(
    directory: Annotated[Path, typer.Argument(help="Target directory; it must be empty or new.")] = Path("examples"),
) -> None:
    """Copy the examples of the documents, to run and change."""
    from rdcnlab.app import examples

    copied = examples.copy(directory)
    show([{"file": str(directory / one.path), "about": one.about} for one in copied], as_json=False)
    first = next(one for one in copied if one.path.suffix == ".yaml")
    typer.echo(f"rdcnlab run {directory / first.path}")


@app.command()
def run(
    scenario: Annotated[Path, typer.Argument(help="A YAML file.", autocompletion=completion.scenarios)],
    seeds: Annotated[str | None, typer.Option(help="As in 1-30 or 1,4,7; the scenario's own by default.")] = None,
    profile: ProfileName = "paper",
    switch: Annotated[
        str | None,
        typer.Option(
            help="Another switch: ocs, bmv2, ovs or linux.", autocompletion=lambda: list(get_args(SwitchKind))
        ),
    ] = None,
    capture: Annotated[
        list[str] | None,
        typer.Option(metavar="HOST", help="Also store the packets of this host for Wireshark; may be repeated."),
    ] = None,
    workers: Workers = None,
    cluster: Cluster = None,
    wall_limit: Annotated[
        float | None, typer.Option(min=1, help="Seconds after which a run is stopped; the engine's limit by default.")
    ] = None,
    ledger: Annotated[
        bool, typer.Option("--ledger", help="Print what became of each frame at each place, instead of the flows.")
    ] = False,
    rows: Annotated[
        bool, typer.Option("--rows", help="Print a row for each flow, also if they are many, instead of sizes.")
    ] = False,
    check_phase: Annotated[
        bool,
        typer.Option("--check-phase", help="Also run it with a small jitter, and say which numbers change by 10 %."),
    ] = False,
    as_json: Json = False,
) -> None:
    """Run one scenario and print its flows. Profile quick cuts every flow to 64 MiB."""
    base = Scenario.load(scenario)
    if profile_of(profile) == "quick":
        cuts = {f"flows.{flow.name}.size": min(flow.size, _QUICK_B) for flow in base.stated}
        cuts |= {f"workloads.{load.name}.at_most": min(load.at_most or _QUICK_B, _QUICK_B) for load in base.workloads}
        base = base.with_(**cuts)
    if switch is not None:
        base = base.with_(**{"switch.kind": switch})
    if capture:
        base = base.with_(**{"probes.capture": list(dict.fromkeys([*base.probes.capture, *capture]))})
    scenarios = [base] if seeds is None else [base.with_(seed=seed) for seed in parse_seeds(seeds)]
    for message in cautions_of(scenarios):  # before the runs, which may take long
        typer.echo(f"rdcnlab: warning: {message}", err=True)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", HintWarning)
        watched = sys.stderr.isatty()
        runs = campaign(
            scenarios, workers=workers, cluster=cluster, wall_limit_s=wall_limit, progress=watched, hints=False
        )
    if ledger:
        ledgers = [run.ledger.assign(seed=run.scenario.seed) for run in runs]
        columns = ["seed", *ledgers[0].columns.drop("seed")]
        show([row for one in ledgers for row in json.loads(one[columns].to_json(orient="records"))], as_json)
        return
    if base.flows or base.workloads:
        cli_runs.print_flows(runs, as_json=as_json, every=rows)
    if base.programs:
        cli_runs.print_programs(runs, as_json=as_json)
    if not as_json:
        cli_runs.summarise(runs)
    for message in [*(str(one.message) for one in warned), *hints_of(runs)]:
        typer.echo(f"rdcnlab: {message}", err=True)
    if check_phase:
        from rdcnlab.app.cli.phase import check

        check(runs, workers=workers, cluster=cluster, wall_limit_s=wall_limit, as_json=as_json)


@app.command("show")
def show_scenario(
    scenario: Annotated[
        str,
        typer.Argument(
            help="A YAML file, or the name of a network such as aykurt or rotor.", autocompletion=completion.networks
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(*OUT, help="A file .png, .svg or .pdf; SCENARIO.png in the working directory by default."),
    ] = None,
    force: Force = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print ways and timetables as data; draw --out only.")
    ] = False,
) -> None:
    """Draw a scenario: its network and one cycle of its timetables."""
    from rdcnlab.app.cli.picture import draw

    draw(scenario, output, as_json=as_json, force=force)


@app.command()
def verify(
    archive: Annotated[
        Path | None,
        typer.Argument(metavar="[CRATE]", help="An archive of `rdcnlab export ITEM --format ro-crate`."),
    ] = None,
    sample: Annotated[
        int | None,
        typer.Option(min=1, help="Number of runs to run again: 3; of an archive as many as take minutes, at most 20."),
    ] = None,
    seed: Annotated[int, typer.Option(help="A different seed chooses different runs.")] = 0,
    workers: Workers = None,
    cluster: Cluster = None,
    as_json: Json = False,
) -> None:
    """Check stored runs or a crate, and make them again."""
    from rdcnlab.runs import verify as verification

    if archive is not None:
        checked = figures.figures("CRATE", str(archive)).check(
            archive, sample=sample or 20, seed=seed, workers=workers, cluster=cluster, progress=sys.stderr.isatty()
        )
        show([*checked.rows], as_json)
        typer.echo(str(checked), err=as_json)
        if not checked.holds:
            raise typer.Exit(1)
        return
    sample = sample or 3
    runs = verification.sample(Store(), sample, seed)
    if not runs:
        reason = "no run is stored here yet; make one with `rdcnlab run SCENARIO.yaml`"
        raise InputError.of("--sample", sample, "less than the stored runs", reason=reason)
    rows = verification.verify(runs, workers=workers, cluster=cluster, progress=sys.stderr.isatty())
    show(rows, as_json)
    if not all(row["same"] for row in rows):
        raise typer.Exit(1)


@app.command()
def export(
    name: Annotated[str, typer.Argument(metavar="RUN|ITEM", help=RUN_HELP + " For ro-crate: paper/item.")],
    kind: Annotated[
        str,
        typer.Option("--format", help="csv, parquet, pcapng, film (a picture), trace (for Perfetto), or ro-crate."),
    ] = "trace",
    output: Output = Path("out"),
) -> None:
    """Write a run as tables, captures or a film; an item as a crate.

    The trace is for ui.perfetto.dev; the film is an animated picture. A scenario that has no complete stored run is
    run. A crate (--format ro-crate) is an archive with all that a figure of a paper is made of; `rdcnlab verify CRATE`
    checks it.
    """
    from rdcnlab.app.export import export as write
    from rdcnlab.app.run_names import find

    if kind == "ro-crate":
        for archive in figures.figures("ITEM", name).pack(name, Store(), output):
            typer.echo(archive)
        return
    for path in write(find(name, Store()), kind, output):
        typer.echo(path)


@app.command()
def schema() -> None:
    """Print the JSON schema of scenario files, for editors."""
    from rdcnlab.scenario.described import schema as described

    typer.echo(json.dumps(described(), indent=2))


@app.command()
def bench(
    engines: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="SECONDS",
            help="Instead, compare both engines on 200 flows that share a buffer, for this length. ns-3 takes "
            "long: two minutes and more for a second, as its wheel is built.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Measure speed in rounds; 6 minutes on two idle cores.

    It measures engines, pools, explorer, and what installed packages add. A row has the median of its rounds and their
    range, and a warning if rounds disagree or other work disturbed them.
    """
    from rdcnlab.app.bench import measure
    from rdcnlab.app.bench_engines import compare

    rows = []
    try:
        for row in compare(engines, notice) if engines else measure():
            rows.append(row)
    finally:
        # after Ctrl-C, or if a part fails, what was measured before
        show(rows, as_json)


def main() -> None:
    """Run the command line. It prints an expected error as a sentence, without a traceback."""
    # SIGTERM cleans up as Ctrl-C does; a background job of a shell ignores Ctrl-C, so its handler is set, too
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.default_int_handler)
    try:
        app()
    except RdcnlabError as error:
        typer.echo(f"rdcnlab: {error}", err=True)
        sys.exit(error.exit_code)
    except (KeyboardInterrupt, SystemExit) as ended:
        # versions of typer differ in who handles Ctrl-C
        if isinstance(ended, SystemExit) and ended.code != _INTERRUPTED:
            raise
        typer.echo("rdcnlab: interrupted; finished runs are kept", err=True)
        sys.exit(_INTERRUPTED)


if __name__ == "__main__":
    main()
