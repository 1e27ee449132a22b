# SPDX-License-Identifier: Apache-2.0
"""The command line. Exit codes: 0 done, 1 something failed, 2 bad input."""

from __future__ import annotations

import json
import signal
import sys
import warnings
from collections import Counter
from pathlib import Path
from typing import Annotated, Any, get_args

import typer
import yaml
from typer.core import TyperGroup

from rdcnlab import __version__
from rdcnlab.app.cli import completion
from rdcnlab.app.cli import kernel as cli_kernel
from rdcnlab.app.cli import plot as cli_plot
from rdcnlab.app.cli import predict as cli_predict
from rdcnlab.app.cli import runs as cli_runs
from rdcnlab.app.cli import shell as cli_shell
from rdcnlab.app.cli import tune as cli_tune
from rdcnlab.app.cli.tools import OUT, Cluster, Force, Json, Output, parse_seeds, show, show_checks
from rdcnlab.app.run_names import HELP as RUN_HELP
from rdcnlab.fields.errors import HintWarning, InputError, RdcnlabError
from rdcnlab.runs.campaign import campaign, cautions_of, hints_of
from rdcnlab.runs.store import Store
from rdcnlab.scenario import Scenario
from rdcnlab.scenario.kinds import SwitchKind
from rdcnlab.system.progress import notice

#: Commands in the order in which help lists them: what a newcomer needs first.
_ORDER = (
    "doctor", "run", "show", "plot", "runs", "shell", "export", "reproduce", "score", "report", "verify", "notebooks",
    "predict", "tune", "site", "schema", "kernel", "bench", "ship",
)  # fmt: skip


class Commands(TyperGroup):
    """The commands in the order of `_ORDER`."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return their names."""
        return sorted(super().list_commands(ctx), key=_ORDER.index)


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
app.command("shell")(cli_shell.shell)
app.add_typer(cli_tune.app, name="tune")
app.add_typer(cli_predict.app, name="predict")

Workers = Annotated[int | None, typer.Option(min=1, help="Worker processes; one on each core by default.")]
Names = Annotated[
    list[str] | None,
    typer.Argument(metavar="[PAPER[/ITEM]]...", help="All by default.", autocompletion=completion.items),
]
ProfileName = Annotated[str, typer.Option(help="quick or paper.", autocompletion=lambda: ["quick", "paper"])]

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
    workers: Workers = None,
    cluster: Cluster = None,
    wall_limit: Annotated[
        float | None, typer.Option(min=1, help="Seconds after which a run is stopped; the engine's limit by default.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Run one scenario and print its flows. Profile quick cuts every flow to 64 MiB."""
    base = Scenario.load(scenario)
    if _profile(profile) == "quick":
        cuts = {f"flows.{flow.name}.size": min(flow.size, _QUICK_B) for flow in base.stated}
        cuts |= {f"workloads.{load.name}.at_most": min(load.at_most or _QUICK_B, _QUICK_B) for load in base.workloads}
        base = base.with_(**cuts)
    if switch is not None:
        base = base.with_(**{"switch.kind": switch})
    scenarios = [base] if seeds is None else [base.with_(seed=seed) for seed in parse_seeds(seeds)]
    for message in cautions_of(scenarios):  # before the runs, which may take long
        typer.echo(f"rdcnlab: warning: {message}", err=True)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", HintWarning)
        watched = sys.stderr.isatty()
        runs = campaign(
            scenarios, workers=workers, cluster=cluster, wall_limit_s=wall_limit, progress=watched, hints=False
        )
    # imported here because it loads pandas, which help does without
    from rdcnlab.analysis.tables import mean_rates

    if base.flows or base.workloads:
        flows = runs.flows
        flows["goodput_Gbps"] = mean_rates(flows, base.limit / 1e9, unit=1e-9)
        columns = ["seed", "flow", "cc", "size_B", "finished", "fct_s", "goodput_Gbps", "retransmits", "timeouts"]
        show(json.loads(flows[columns].to_json(orient="records")), as_json)
    if base.programs:
        cli_runs.print_programs(runs, as_json=as_json)
    if not as_json:
        cli_runs.summarise(runs)
    for message in [*(str(one.message) for one in warned), *hints_of(runs)]:
        typer.echo(f"rdcnlab: {message}", err=True)


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
    from rdcnlab.app import scorecard
    from rdcnlab.app.reproduce.all import Reproduced
    from rdcnlab.app.reproduce.all import reproduce as execute
    from rdcnlab.app.reproduce.ending import ending
    from rdcnlab.papers import faces, select
    from rdcnlab.papers.scored import Scorecard

    parameters: dict[str, Any] = {"profile": _profile(profile), "workers": workers}
    parameters.update(_assignment(text) for text in parameter or ())
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
        show([row for item in results for row in item.rows], True)
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
    verdicts = Counter(row["verdict"] for row in item.rows)
    return {
        "item": item.name,
        "runs made": item.runs,
        "time of runs [s]": round(item.wall_s, 1),
        "verdicts": "failed" if item.error else ", ".join(f"{count} {verdict}" for verdict, count in verdicts.items()),
    }


@app.command()
def score(
    names: Names = None,
    restated: Annotated[
        bool, typer.Option("--restated", help="Only restated claims, with the verdict on the first wording.")
    ] = False,
    again: Annotated[bool, typer.Option("--again", help="Also judge items of which nothing changed.")] = False,
    as_json: Json = False,
) -> None:
    """Judge the papers' claims from stored runs.

    Every claim is judged in every column, from the runs of the largest profile that is complete. An item is judged
    again if its runs, the code, the claims or the libraries changed since the last time.
    """
    from rdcnlab.app import scorecard
    from rdcnlab.app.site import stored
    from rdcnlab.papers import faces, full_names

    rows = stored.judge_all(full_names(names or []), Store(), again=again)
    if restated:
        show(scorecard.restated_claims(rows), as_json)
        return
    if as_json:
        show(rows, as_json)
        return
    for card in scorecard.cards(rows):
        faces.write(card)
        typer.echo("")
    faces.write(faces.terminal_legend(row["verdict"] for row in rows))
    typer.echo("\n" + "\n".join(scorecard.summary(rows)))


@app.command()
def verify(
    sample: Annotated[int, typer.Option(min=1, help="Number of stored runs to run again.")] = 3,
    seed: Annotated[int, typer.Option(help="A different seed chooses different runs.")] = 0,
    workers: Workers = None,
    cluster: Cluster = None,
    as_json: Json = False,
) -> None:
    """Run stored scenarios again and compare bytes."""
    from rdcnlab.runs import verify as verification

    runs = verification.sample(Store(), sample, seed)
    if not runs:
        reason = "no run is stored here yet; make one with `rdcnlab run SCENARIO.yaml`"
        raise InputError.of("--sample", sample, "less than the stored runs", reason=reason)
    rows = verification.verify(runs, workers=workers, cluster=cluster, progress=sys.stderr.isatty())
    show(rows, as_json)
    if not all(row["same"] for row in rows):
        raise typer.Exit(1)


@app.command()
def report(names: Names = None, output: Output = Path("out")) -> None:
    """Write one static page with every figure and verdict."""
    from rdcnlab.app.report import write
    from rdcnlab.papers import select

    path = output / "report.html"
    write(select(names or []), Store(), path)
    typer.echo(path)


@app.command()
def site(names: Names = None, workers: Workers = None, output: Output = Path("out")) -> None:
    """Build the web site: report, executed notebooks, documents.

    Unchanged parts are not made again.
    """
    from rdcnlab.app.site.build import build
    from rdcnlab.papers import select

    built = build(select(names or []), Store(), output, workers=workers)
    typer.echo(built.summary)
    typer.echo(built.page)
    if built.failed:
        raise typer.Exit(1)


@app.command()
def notebooks(
    directory: Annotated[Path, typer.Argument(help="Target directory; it must be empty or new.")] = Path("notebooks"),
) -> None:
    """Copy the notebooks out of the package, to open and change them."""
    from rdcnlab.app.cli.copied import copy

    typer.echo(f"jupyter lab {copy(directory)}")


@app.command()
def export(
    name: Annotated[str, typer.Argument(metavar="RUN", help=RUN_HELP)],
    kind: Annotated[
        str, typer.Option("--format", help="csv, parquet, pcapng, film (a picture), or trace (for Perfetto).")
    ] = "trace",
    output: Output = Path("out"),
) -> None:
    """Write a run as tables, captures, a trace or a film.

    The trace is for ui.perfetto.dev; the film is an animated picture. A scenario that has no complete stored run is
    run.
    """
    from rdcnlab.app.export import export as write
    from rdcnlab.app.run_names import find

    for path in write(find(name, Store()), kind, output):
        typer.echo(path)


@app.command()
def schema() -> None:
    """Print the JSON schema of scenario files, for editors."""
    from rdcnlab.scenario.described import schema as described

    typer.echo(json.dumps(described(), indent=2))


@app.command(hidden=True)
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
    from rdcnlab.app import shipping
    from rdcnlab.papers import select

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


@app.command()
def bench(
    engines: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="SECONDS",
            help="Instead, compare both engines on one setting of vargas of this length. ns-3 takes long: two minutes "
            "and more for a second.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Measure speed in rounds; 6 minutes on two idle cores.

    It measures engines, pools, explorer and score. A row has the median of its rounds and their range, and a
    warning if rounds disagree or other work disturbed them.
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


def _profile(name: str) -> str:
    if name not in ("quick", "paper"):
        raise InputError.unknown("--profile", name, ["quick", "paper"], "profile")
    return name


def _assignment(text: str) -> tuple[str, Any]:
    name, sign, value = text.partition("=")
    if not sign:
        raise InputError.of("--parameter", text, "a name and a value, such as seeds=3")
    try:
        return name, yaml.safe_load(value)
    except yaml.YAMLError:
        raise InputError.of(f"--parameter {name}", value, "a YAML value") from None


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
