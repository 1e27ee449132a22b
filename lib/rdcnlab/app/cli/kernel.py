# SPDX-License-Identifier: Apache-2.0
"""Commands that build the kernel and search for errors in it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rdcnlab.app.cli.tools import Json, Output, parse_seeds, show
from rdcnlab.fields.errors import InputError
from rdcnlab.system import progress

if TYPE_CHECKING:
    from rdcnlab.engines.kernel.build import Kernel

app = typer.Typer(help="The patched kernel.", no_args_is_help=True)


@app.command("build")
def build(
    hz: Annotated[int, typer.Option(help="Timer frequency: 100, 250, 300 or 1000.")] = 250,
    stock: Annotated[bool, typer.Option(help="With the patches for time and randomness only.")] = False,
    debug: Annotated[bool, typer.Option(help="A kernel that checks itself: KASAN, lockdep and more; slow.")] = False,
) -> None:
    """Build the patched kernel into the cache. Safe to interrupt, and to run twice at once.

    KERNEL_SOURCE names another source than Debian's: an archive, an address followed by #sha256= and its checksum, or a
    release such as 6.12.107, which is downloaded.
    """
    if hz not in (100, 250, 300, 1000):
        raise InputError.of("--hz", hz, "100, 250, 300 or 1000")
    from rdcnlab.engines.kernel.build import origin

    kernel, made = _built(hz=hz, stock=stock, debug=debug), origin(hz=hz, stock=stock, debug=debug)
    carried = f", in {made.package}" if made.package is not None else ""
    typer.echo(f"{kernel.version} {kernel.id} {kernel.directory} from {made.source}{carried}")


@app.command("soak")
def soak(
    seeds: Annotated[str, typer.Option(help="Seeds, such as 0-99 or 1,4,7. Each seed is one case.")] = "0-19",
    kind: Annotated[str | None, typer.Option(help="Only this: tdtcp, mptcp, retcp, nuftcp or tcp.")] = None,
    fault: Annotated[str | None, typer.Option(help="Make an error on purpose, to test its detection.")] = None,
    plain: Annotated[bool, typer.Option(help="On the ordinary build: faster, but it detects fewer errors.")] = False,
    output: Output = Path("out/soak"),
    as_json: Json = False,
) -> None:
    """Run random networks and transfers on the kernel that checks itself; each seed in a guest of its own."""
    from rdcnlab.engines.kernel import cores
    from rdcnlab.engines.kernel.checks.soak import FAULTS, KINDS, run

    numbers = parse_seeds(seeds)
    for option, value, allowed in (("--kind", kind, KINDS), ("--fault", fault, FAULTS)):
        if value is not None and value not in allowed:
            raise InputError.unknown(option, value, allowed)
    kernel = _built(debug=not plain)
    rows: list[dict[str, Any]] = []
    failed = 0
    try:
        with progress.bar(len(numbers), "seed") as bar:
            for seed in numbers:
                # a guest is fastest on one core
                case = run(kernel, seed, output / str(seed), kind=kind, fault=fault, core=cores()[-1])
                rows.append(case.row())
                if case.error:
                    failed += 1
                    bar.write(f"seed {seed} ({case.kind}): {case.error} (see {case.directory})", file=sys.stderr)
                bar.set_postfix_str(f"{failed} failed", refresh=False)
                bar.update()
    finally:  # an interrupted soak also shows the seeds that have ended
        show(rows, as_json, f"kernel {kernel.id[:16]}: {len(rows) - failed} of {len(rows)} seeds passed")
    if failed:
        raise typer.Exit(1)


@app.command("selftest")
def selftest(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="As in mptcp/diag; all.")] = None,
    plain: Annotated[bool, typer.Option(help="On the ordinary build, without features that some tests need.")] = False,
    output: Output = Path("out/selftest"),
    as_json: Json = False,
) -> None:
    """Run the kernel's own tests of TCP and MPTCP. Failed tests run again without our features."""
    from rdcnlab.engines.kernel import cores
    from rdcnlab.engines.kernel.checks import selftests

    tests = {test.name: test for test in selftests.tests()}
    for name in names or ():
        if name not in tests:
            raise InputError.unknown("NAME", name, tests, "test")
    kernel = _built(debug=not plain)
    rows: list[dict[str, Any]] = []
    differs = False
    try:
        with progress.bar(len(names or tests), "test") as bar:
            for name in names or tests:
                row = selftests.run(kernel, tests[name], output / name, core=cores()[-1])
                row["without ours"] = ""
                if row["result"] == "fail":
                    stock = _built(stock=True, debug=not plain)
                    stock_row = selftests.run(stock, tests[name], output / f"{name}.stock", core=cores()[-1])
                    row["without ours"] = f"{stock_row['result']}: {stock_row['failed']} failed"
                    differs |= (stock_row["result"], stock_row["failed"]) != (row["result"], row["failed"])
                rows.append(row)
                bar.update()
    finally:
        show(rows, as_json, f"kernel {kernel.id[:16]}")
    if differs:
        raise typer.Exit(1)


def _built(*, hz: int = 250, stock: bool = False, debug: bool = False) -> Kernel:
    """Return a build, and show a progress bar while it is made."""
    from rdcnlab.engines.kernel import build

    with progress.bar(build.STEPS, "step") as bar:

        def report(what: str, done: int, total: int) -> None:
            bar.total = total
            bar.set_description(what, refresh=False)
            bar.update(done - bar.n)

        return build.build(hz=hz, stock=stock, debug=debug, progress=report)
