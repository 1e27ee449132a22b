# SPDX-License-Identifier: Apache-2.0
"""The command line. Exit codes: 0 done, 1 something failed, 2 bad input."""

from __future__ import annotations

import json
import re
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml
from rich.console import Console
from rich.table import Table

from rdcnlab.campaign import WALL_LIMIT_S, campaign, lookup
from rdcnlab.errors import InputError, RdcnlabError
from rdcnlab.scenario import Scenario
from rdcnlab.store import Run, Store

app = typer.Typer(
    help="TCP in networks that reconfigure themselves: a real Linux stack in virtual time.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
kernel_app = typer.Typer(help="The patched kernel.", no_args_is_help=True)
app.add_typer(kernel_app, name="kernel")
predict_app = typer.Typer(help="Ask the trained models.", no_args_is_help=True)
app.add_typer(predict_app, name="predict")

Json = Annotated[bool, typer.Option("--json", help="Print rows as JSON.")]
Workers = Annotated[int | None, typer.Option(min=1, help="Worker processes; one on each core by default.")]
Names = Annotated[list[str] | None, typer.Argument(metavar="[PAPER[/ITEM]]...", help="All by default.")]
Output = Annotated[Path, typer.Option(help="Directory for what is written.")]
ProfileName = Annotated[str, typer.Option(help="quick or paper.")]

#: A quick look at a scenario sends no more than this on each flow.
_QUICK_B = 64 * 2**20


@app.command()
def doctor(as_json: Json = False) -> None:
    """Say what this machine can run, what is missing, and how to mend it."""
    from rdcnlab.doctor import examine

    rows = examine()
    show(rows, as_json)
    if not all(row["ok"] for row in rows if row["needed"]):
        raise typer.Exit(1)


@kernel_app.command("build")
def kernel_build(
    hz: Annotated[int, typer.Option(help="Timer frequency: 100, 250, 300 or 1000.")] = 250,
    stock: Annotated[bool, typer.Option(help="With the patches for time and randomness only.")] = False,
    debug: Annotated[bool, typer.Option(help="One that checks itself: KASAN, lockdep and more; slow.")] = False,
) -> None:
    """Build the patched kernel into the cache. Safe to interrupt, and to run twice at once."""
    from rdcnlab import progress
    from rdcnlab.engines.kernel import build

    if hz not in (100, 250, 300, 1000):
        raise InputError.of("--hz", hz, "100, 250, 300 or 1000")
    with progress.bar(build.STEPS, "step") as bar:

        def report(what: str, done: int, total: int) -> None:
            bar.total = total
            bar.set_description(what, refresh=False)
            bar.update(done - bar.n)

        kernel = build.build(hz=hz, stock=stock, debug=debug, progress=report)
    typer.echo(f"{kernel.version} {kernel.id} {kernel.directory}")


@kernel_app.command("soak")
def kernel_soak(
    seeds: Annotated[str, typer.Option(help="As in 0-99 or 1,4,7; each is a case of its own.")] = "0-19",
    kind: Annotated[str | None, typer.Option(help="Only this: tdtcp, mptcp, retcp or tcp.")] = None,
    fault: Annotated[str | None, typer.Option(help="Make an error on purpose, to see it found.")] = None,
    plain: Annotated[bool, typer.Option(help="On the ordinary build: quicker, and blind for much.")] = False,
    output: Output = Path("out/soak"),
    as_json: Json = False,
) -> None:
    """Try random networks and transfers on the kernel that checks itself; each seed in a guest of its own."""
    from rdcnlab import progress
    from rdcnlab.engines.kernel import build, soak

    numbers = parse_seeds(seeds)
    for option, value, allowed in (("--kind", kind, soak.KINDS), ("--fault", fault, soak.FAULTS)):
        if value is not None and value not in allowed:
            raise InputError.of(option, value, ", ".join(allowed))
    kernel = build.build(debug=not plain, progress=None)
    rows, failed = [], 0
    with progress.bar(len(numbers), "seed") as bar:
        for seed in numbers:
            ended = soak.run(kernel, seed, output / str(seed), kind=kind, fault=fault)
            rows.append(ended.row())
            if ended.error:
                failed += 1
                bar.write(f"seed {seed} ({ended.kind}): {ended.error} (see {ended.directory})", file=sys.stderr)
            bar.set_postfix_str(f"{failed} failed", refresh=False)
            bar.update()
    show(rows, as_json, f"kernel {kernel.id[:16]}: {len(rows) - failed} of {len(rows)} seeds passed")
    if failed:
        raise typer.Exit(1)


@kernel_app.command("selftest")
def kernel_selftest(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="As in mptcp/diag; all.")] = None,
    plain: Annotated[bool, typer.Option(help="On the ordinary build, which lacks what some tests need.")] = False,
    output: Output = Path("out/selftest"),
    as_json: Json = False,
) -> None:
    """Run the kernel's own tests of TCP and MPTCP; what fails is run without our features too, to say whose it is."""
    from rdcnlab import progress
    from rdcnlab.engines.kernel import build, selftests

    tests = {test.name: test for test in selftests.tests()}
    for name in names or ():
        if name not in tests:
            raise InputError.of("NAME", name, ", ".join(tests))
    chosen = [tests[name] for name in names or tests]
    kernel = build.build(debug=not plain)
    rows = []
    with progress.bar(len(chosen), "test") as bar:
        for test in chosen:
            row = selftests.run(kernel, test, output / test.name)
            row["without ours"] = ""
            if row["result"] == "fail":
                stock = build.build(stock=True, debug=not plain)
                row["without ours"] = selftests.run(stock, test, output / f"{test.name}.stock")["result"]
            rows.append(row)
            bar.update()
    show(rows, as_json, f"kernel {kernel.id[:16]}")
    if any(row["result"] == "fail" != row["without ours"] for row in rows):
        raise typer.Exit(1)


@app.command()
def run(
    scenario: Annotated[Path, typer.Argument(help="A YAML file.")],
    seeds: Annotated[str | None, typer.Option(help="As in 1-30 or 1,4,7; the scenario's own by default.")] = None,
    profile: ProfileName = "paper",
    switch: Annotated[str | None, typer.Option(help="Another switch: ocs, bmv2 or linux.")] = None,
    workers: Workers = None,
    wall_limit: Annotated[float, typer.Option(min=1, help="Seconds after which a run is given up.")] = WALL_LIMIT_S,
    as_json: Json = False,
) -> None:
    """Run one scenario and print its flows. Profile quick cuts every flow to 64 MiB."""
    base = Scenario.load(scenario)
    if _profile(profile) == "quick":
        base = base.with_(**{f"flows.{flow.name}.size": min(flow.size, _QUICK_B) for flow in base.flows})
    if switch is not None:
        base = base.with_(**{"switch.kind": switch})
    asked = [base] if seeds is None else [base.with_(seed=seed) for seed in parse_seeds(seeds)]
    flows = campaign(asked, workers=workers, wall_limit_s=wall_limit, progress=sys.stderr.isatty()).flows
    flows["goodput_Gbps"] = flows["received_B"] * 8e-9 / flows["fct_s"]
    columns = ["seed", "flow", "cc", "size_B", "finished", "fct_s", "goodput_Gbps", "retransmits", "timeouts"]
    show(json.loads(flows[columns].to_json(orient="records")), as_json)


@app.command()
def reproduce(
    names: Names = None,
    profile: ProfileName = "quick",
    workers: Workers = None,
    parameter: Annotated[
        list[str] | None, typer.Option("--parameter", "-p", metavar="NAME=VALUE", help="Another one of the notebook.")
    ] = None,
    output: Output = Path("out"),
    as_json: Json = False,
) -> None:
    """Execute notebooks: run what is missing, draw, score."""
    from rdcnlab.papers import select
    from rdcnlab.reproduce import reproduce as execute

    parameters: dict[str, Any] = {"profile": _profile(profile), "workers": workers}
    parameters.update(_assignment(text) for text in parameter or ())
    kinds = select(names or [])
    failures: list[RdcnlabError] = []
    rows: list[dict[str, Any]] = []
    for kind in kinds:
        try:
            done = execute(kind, parameters, output, progress=not as_json)
        except InputError:
            raise
        except RdcnlabError as error:
            failures.append(error)
            continue
        rows += done.rows
        if not as_json:
            show([{name: row[name] for name in _CARD} for row in done.rows], False, f"{kind.paper}/{kind.id}")
            typer.echo("\n".join(str(path) for path in (done.notebook, *done.figures)) + "\n")
    if as_json:
        show(rows, True)
    for failure in failures:
        typer.echo(str(failure), err=True)
    if failures:
        raise typer.Exit(1)


_CARD = ("text", "expected", "measured", "verdict")


@app.command()
def score(names: Names = None, as_json: Json = False) -> None:
    """Judge every claim from stored runs, in the fullest profile that is there."""
    from rdcnlab.papers import select
    from rdcnlab.report import best

    store = Store()
    rows = []
    for kind in select(names or []):
        item, runs = best(kind, store)
        rows += item.rows(runs)
    show(rows if as_json else [{name: row[name] for name in ("item", *_CARD, "profile")} for row in rows], as_json)


@predict_app.command("variant")
def predict_variant(
    trace: Annotated[Path, typer.Argument(help="A table (.parquet or .csv) with t_ns, cwnd_B, srtt_us[, flow].")],
    as_json: Json = False,
) -> None:
    """Tell which variant of TCP a flow is, from its window and RTT at each ACK."""
    import pandas as pd

    from rdcnlab.models import variant

    readers: dict[str, Callable[[Path], pd.DataFrame]] = {".parquet": pd.read_parquet, ".csv": pd.read_csv}
    if trace.suffix not in readers:
        raise InputError.of("TRACE", trace.name, "a file that ends in .parquet or .csv")
    try:
        acks = readers[trace.suffix](trace)
    except (OSError, ValueError) as error:
        raise InputError.of("TRACE", trace, f"a readable table ({error})") from None
    show(json.loads(variant.classify(acks).to_json(orient="records")), as_json)


@predict_app.command("prolongation")
def predict_prolongation(
    scenario: Annotated[Path, typer.Argument(help="A YAML file; flows are called main... and migrated...")],
    as_json: Json = False,
) -> None:
    """Tell how many times as long the migrated flows of a scenario will take as the main ones, without running it."""
    import pandas as pd

    from rdcnlab.models import general

    told = general.inputs(Scenario.load(scenario))
    (row,) = json.loads(general.best().predict(pd.DataFrame([told])).to_json(orient="records"))
    show([{**told, **row}], as_json)


@app.command()
def verify(
    sample: Annotated[int, typer.Option(min=1, help="How many stored runs to run again.")] = 3,
    seed: Annotated[int, typer.Option(help="Another seed chooses others.")] = 0,
    workers: Workers = None,
    as_json: Json = False,
) -> None:
    """Run stored scenarios again and compare bytes."""
    from rdcnlab import verify as verification

    runs = verification.sample(Store(), sample, seed)
    if not runs:
        raise InputError.of("--sample", sample, "0, because no run is stored")
    rows = verification.verify(runs, workers=workers, progress=sys.stderr.isatty())
    show(rows, as_json)
    if not all(row["same"] for row in rows):
        raise typer.Exit(1)


@app.command()
def report(names: Names = None, output: Output = Path("out")) -> None:
    """Write one static page with every figure and verdict."""
    from rdcnlab.papers import select
    from rdcnlab.report import write

    path = output / "report.html"
    write(select(names or []), Store(), path)
    typer.echo(path)


@app.command(hidden=True)
def ship(paper: Annotated[str, typer.Argument(help="As in aykurt.")]) -> None:
    """Write the stored runs of a paper's items (paper profile) and causes, and models, as shipped. For maintainers.

    What was shipped before stays, unless it was run anew. An item of which something is missing is not scored, but a
    campaign goes on from there.
    """
    from rdcnlab import places
    from rdcnlab.models import saved
    from rdcnlab.papers import select
    from rdcnlab.runs import Runs
    from rdcnlab.shipped import ship as write

    store = Store()
    needs: dict[Run, set[str]] = {}
    left = []
    models: list[Path] = []
    for kind in select([paper]):
        item = kind(profile="paper")
        for shown, words in ((item, ""), *((cause.shown_by, f", why {cause.claim}") for cause in item.causes())):
            asked = list(dict.fromkeys(shown.scenarios()))
            runs = [run for run in lookup(asked, store, shown.needs) if run is not None]
            if len(runs) < len(asked):
                left.append(f"{len(runs)} of {len(asked)} of {paper}/{item.id}{words}")
            elif not words:
                models += item.models(Runs(runs))
            for run in runs:
                needs.setdefault(run, set()).update(shown.needs(run.scenario))
    if not needs:
        raise InputError.of("paper", paper, "one with a stored run of the paper profile")
    write(needs, places.results() / paper, needs.__getitem__)
    saved.ship(models)
    typer.echo(f"{len(needs)} runs in {places.results() / paper}")
    if left:
        typer.echo(f"not complete: {'; '.join(left)}")


@app.command()
def bench(as_json: Json = False) -> None:
    """Measure the engine: wall seconds a virtual second, packets a second, beside the host's own kernel."""
    from rdcnlab.bench import measure

    show(list(measure()), as_json)


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


def _profile(name: str) -> str:
    if name not in ("quick", "paper"):
        raise InputError.of("--profile", name, "quick or paper")
    return name


def _assignment(text: str) -> tuple[str, Any]:
    name, sign, value = text.partition("=")
    if not sign:
        raise InputError.of("--parameter", text, "NAME=VALUE")
    try:
        return name, yaml.safe_load(value)
    except yaml.YAMLError:
        raise InputError.of(f"--parameter {name}", value, "a YAML value") from None


def main() -> None:
    """Run the command line; every expected error is a sentence, not a traceback."""
    # being ended politely cleans up as Ctrl-C does, which a shell's background job would not even receive
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.default_int_handler)
    try:
        app()
    except RdcnlabError as error:
        typer.echo(f"rdcnlab: {error}", err=True)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        typer.echo("rdcnlab: interrupted; what had ended is kept", err=True)
        sys.exit(130)


if __name__ == "__main__":
    main()
