# SPDX-License-Identifier: Apache-2.0
"""``rdcnlab tune``: settings for an objective, proposed by a model and verified by runs."""

from __future__ import annotations

from typing import Annotated

import typer

from rdcnlab.app.cli.tools import Cluster, Json, show
from rdcnlab.fields.errors import InputError
from rdcnlab.fields.units import DURATION, NS_PER_S, RATE, SIZE, Quantity

app = typer.Typer(help="Settings proposed by a model and verified by runs.", no_args_is_help=True)

#: Parts of the objective, in the order of `Objective.weights`.
_PARTS = ("share", "delay", "drops")


@app.callback()
def _several() -> None:
    """Keep ``buffers`` a subcommand; without this function, typer makes a single command of the group."""


@app.command("buffers")
def buffers(
    rate: Annotated[str, typer.Option(help="Rate of the line, such as '12.5 Gb/s'.")],
    rtt: Annotated[str, typer.Option(help="RTT of CUBIC, such as '50 ms'. That of DCTCP is 50 us.")],
    buffer: Annotated[str, typer.Option(help="Size of the buffer.")] = "1800 kB",
    share: Annotated[float, typer.Option(help="Wanted share of CUBIC in the throughput, in percent.")] = 50.0,
    weights: Annotated[str, typer.Option(help="Weights of share, delay and drops.")] = "share=1,delay=0.2,drops=0.1",
    run: Annotated[bool, typer.Option("--run/--no-run", help="Run the proposal.")] = True,
    length: Annotated[
        str | None, typer.Option(help="Length of the run, such as '40 s'; by default that of the model's runs.")
    ] = None,
    cluster: Cluster = None,
    as_json: Json = False,
) -> None:
    """Propose ECN and drop thresholds for DCTCP and CUBIC in one buffer, run them, and compare with the prediction."""
    from rdcnlab_papers.app.tune import tune
    from rdcnlab_papers.models.tuner import Objective

    objective = Objective(
        _quantity("--rate", rate, RATE) / 1e9,
        _quantity("--rtt", rtt, DURATION) / 1e6,
        _quantity("--buffer", buffer, SIZE) / 1e3,
        share,
        parse_weights(weights),
    )
    answer = tune(objective, run=run, cluster=cluster, length_s=_seconds(length), progress=not as_json)
    show(answer.rows(), as_json)
    if as_json:
        return
    for sentence in answer.doubts():
        typer.echo(sentence)
    if answer.doubt:
        typer.echo("A longer run may tell more: --length.")
    if len(answer.suggested):
        typer.echo("The most useful further runs:")
        columns = ["ecn_kB", "min_kB", "max_kB", "rate_gbps", "rtt_ms"]
        show([dict(zip(columns, row, strict=True)) for row in answer.suggested[columns].to_numpy().tolist()], as_json)


def parse_weights(text: str) -> tuple[float, float, float]:
    """Read ``share=1,delay=0.2,drops=0.1``; a part that is not named has the weight 0."""
    allowed = f"numbers by {', '.join(_PARTS)}, such as share=1,delay=0.2"
    weights: dict[str, float] = {}
    for part in text.split(","):
        name, _, value = part.partition("=")
        try:
            number = float(value)
        except ValueError:
            raise InputError.of("--weights", text, allowed) from None
        if name.strip() not in _PARTS:
            raise InputError.of("--weights", text, allowed)
        if name.strip() in weights:
            raise InputError.of("--weights", text, f"{allowed}; each once")
        weights[name.strip()] = number
    share, delay, drops = (weights.get(name, 0.0) for name in _PARTS)
    return share, delay, drops


def _quantity(option: str, text: str, unit: Quantity) -> int:
    try:
        return unit.parse(text)
    except ValueError as error:
        raise InputError.of(option, text, str(error)) from None


def _seconds(length: str | None) -> int | None:
    from rdcnlab_papers.vargas.space import LONGEST_S

    if length is None:
        return None
    seconds, rest = divmod(_quantity("--length", length, DURATION), NS_PER_S)
    if rest or not 1 <= seconds <= LONGEST_S:
        raise InputError.of("--length", length, f"whole seconds from 1 to {LONGEST_S}")
    return seconds
