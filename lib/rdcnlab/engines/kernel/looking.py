# SPDX-License-Identifier: Apache-2.0
"""Look around in a host at an instant of a scenario, while the clock stands."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rdcnlab.engines.kernel import build, guest, plan
from rdcnlab.engines.kernel.guest.processes import Started
from rdcnlab.engines.kernel.guest.watchdog import Visitor
from rdcnlab.engines.kernel.traffic import programs, quic
from rdcnlab.engines.network import Network, compile_network
from rdcnlab.engines.network.numbers import START_NS
from rdcnlab.fields.errors import InputError, RunError
from rdcnlab.fields.phrases import unknown
from rdcnlab.fields.units import DURATION, in_seconds
from rdcnlab.scenario import Scenario

#: Wall clock for which a person may look around, in s.
MOST_S = 7 * 24 * 3600.0


@dataclass(frozen=True)
class Answer:
    """What a command printed, on standard output and errors, and its exit status."""

    text: str
    status: int


class LimitReachedError(RunError):
    """The scenario's limit came while a line ran.

    Parameters
    ----------
    message : str
        What happened.
    answers : sequence of Answer
        Those of the lines before.
    """

    def __init__(self, message: str, answers: Sequence[Answer] = ()) -> None:
        super().__init__(message)
        self.answers = tuple(answers)


@dataclass(frozen=True)
class Moment:
    """What the last line printed, its exit status, and where the clock stands, in ns since the scenario's start."""

    text: str
    status: int
    now_ns: int


def prompt(host: str, moment: Moment) -> str:
    """Return what a person sees before a line: the host, and where the clock stands.

    Examples
    --------
    >>> prompt("h9", Moment("", 0, 1_000_030_000))
    'h9 at 1.00003 s> '
    """
    return f"{host} at {in_seconds(moment.now_ns)}> "


def look(scenario: Scenario, host: str, at_ns: int, commands: Sequence[str]) -> list[Answer]:
    """Run shell lines in a host at an instant, and return their answers; the run ends then and is not stored.

    Parameters
    ----------
    scenario : Scenario
        A scenario with engine ``kernel``.
    host : str
        The host's name.
    at_ns : int
        ns after the scenario's start.
    commands : sequence of str
        They run in the host's network, with the rights that programs in hosts have, one after the other, each in a
        shell of its own. They take no virtual time, unless they wait.

    Raises
    ------
    InputError
        There is no such host, or the instant is not before the limit.
    LimitReachedError
        The scenario's limit came while a line ran. Until then the network is there, though all flows have ended.
    RunError
        The run failed.
    """
    said = _visited(compile_network(scenario), host, at_ns, [*commands])
    return [Answer(*answer) for answer in said["answers"]]


def talk(scenario: Scenario, host: str, at_ns: int, ask: Callable[[Moment], str | None]) -> None:
    """Run shell lines that are asked for one by one, from an instant on, in one shell in a host.

    The clock stands between the lines, and the guest is stopped. A line that waits, such as ``sleep 0.01``, lets the
    network go on for so long.

    Parameters
    ----------
    scenario, host, at_ns
        As in `look`.
    ask : callable
        Takes what the line before did, and returns the next one; None ends the run.

    Raises
    ------
    InputError
        There is no such host, or the instant is not before the limit.
    LimitReachedError
        The scenario's limit came while a line waited.
    RunError
        The run failed.
    """
    _visited(compile_network(scenario), host, at_ns, None, ask)


def _visited(
    network: Network,
    host: str,
    at_ns: int,
    commands: list[str] | None,
    ask: Callable[[Moment], str | None] | None = None,
) -> dict[str, Any]:
    """Run a network until the instant and the commands, and return what is in ``look.json`` then."""
    hosts = list(network.machines)
    if host not in hosts:
        raise InputError.of("host", host, f"one of {', '.join(hosts)}", reason=unknown(host, hosts, "host"))
    if not 0 <= at_ns < network.limit:
        allowed = f"before the scenario's limit ({DURATION.format(network.limit)})"
        raise InputError.of("at", DURATION.format(at_ns), allowed)
    plan.check(network)
    kernel = build.build(hz=network.engine.hz, algorithm=network.additions)
    given = network.traffic.programs
    addresses = {name: station.ip for name, station in network.stations.items()}
    wanted = {"host": host, "at_ns": START_NS + at_ns, "commands": commands, "addresses": addresses}
    asked = {**plan.compile_plan(network), "look": wanted}
    with tempfile.TemporaryDirectory() as here:
        directory = Path(here)
        programs.place_files(given, directory)
        read = [Path(path) for path in quic.identity(network) if Path(path).is_absolute()]
        guest.run(
            kernel, asked, directory, python=sys.executable, read=[*read, *programs.readable(given)],
            most_processes=programs.most_processes(network), visit=None if ask is None else _asking(directory, ask),
            wall_limit_s=3600.0 if ask is None else MOST_S,
        )  # fmt: skip
        said = json.loads((directory / "look.json").read_text()) if (directory / "look.json").exists() else {}
        if "end_ns" not in said:
            line = f"'{said['line']}'" if "line" in said else "the line"
            limit = DURATION.format(network.limit)
            answers = [Answer(*answer) for answer in said.get("answers", ())]
            raise LimitReachedError(
                f"the scenario's limit of {limit} came while {line} ran; a longer limit allows it", answers
            )
        return said


def _asking(directory: Path, ask: Callable[[Moment], str | None]) -> Visitor:
    """Return what gives a guest the next line whenever it has answered the one before."""
    given = -1

    def visit(running: Started) -> None:
        nonlocal given
        path = directory / "look.json"
        if not path.exists():
            return
        said = json.loads(path.read_text())
        if said.get("next", given) <= given:
            return
        given = said["next"]
        with running.stopped():
            line = ask(Moment(said["text"], said["status"], said["now_ns"] - START_NS))
            part = directory / "look.answer"
            part.write_text(json.dumps([given, line]))
            part.rename(directory / "look.line")

    return visit
