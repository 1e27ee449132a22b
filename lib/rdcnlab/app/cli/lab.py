# SPDX-License-Identifier: Apache-2.0
"""The command `rdcnlab lab`: a prompt for a whole network, in virtual time."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rdcnlab.app.cli import completion
from rdcnlab.app.cli.picture import check
from rdcnlab.app.cli.plot import FORMATS, written
from rdcnlab.app.cli.tools import plain, show
from rdcnlab.fields.errors import InputError, RdcnlabError
from rdcnlab.fields.units import DURATION, RATE

if TYPE_CHECKING:
    from rdcnlab.runs.lab import Lab
    from rdcnlab.runs.printed import Printed

HELP = """\
  HOST COMMAND       run a program in a host: s1 ping -c 3 r1
  HOST COMMAND &     start it and go on: r1 iperf3 -s &
  wait [NAME...]     go to the end of programs that were started with &
  at TIME            go to an instant: at 2 s, or at +10 ms
  link NAME down|up  take a link down, or up again
  path HOST LINK     the way of all packets that programs of a host send
  show               hosts with addresses, links, programs
  tcp HOST           the host's TCP connections at this instant, as ss -ti
  plot FILE          draw the last run: .png, .svg or .pdf
  save FILE          write what was typed as a scenario, for rdcnlab run
  undo               take the last line back
  exit               or Ctrl-D
The clock stands between lines. A pipe needs a shell: s1 sh -c 'ping -c 9 r1 | tail -1'"""
#: Hosts that are named at the begin.
_SHOWN = 12
_COMMANDS = ("at", "exit", "help", "jobs", "link", "path", "plot", "save", "show", "tcp", "undo", "wait")


def lab(
    network: Annotated[
        str,
        typer.Argument(
            help="A YAML file with a network, or the name of one, such as aykurt.", autocompletion=completion.networks
        ),
    ],
    command: Annotated[
        list[str] | None, typer.Option("-c", "--command", help="A line for the prompt; may be repeated.")
    ] = None,
    patience: Annotated[str, typer.Option(help="Virtual time after which a line that does not end is ended.")] = "60 s",
) -> None:
    """Type commands for the hosts of a network, in virtual time.

    A line such as 's1 ping -c 3 r1' runs a program in a host. No flow is needed. Each line starts at the lab's
    instant, and the next one starts when it has ended. Without -c, lines are read from the keyboard, or from standard
    input; 'help' lists them. What was typed can be saved as a scenario that gives the same bytes.
    """
    from rdcnlab.runs.lab import Lab  # help does without

    there = Lab(network, patience=patience)
    status = 0
    for line in command or _typed(there):
        try:
            status = obey(there, line)
        except _Exit:
            break
        except RdcnlabError as error:
            typer.echo(f"rdcnlab: {error}", err=True)
            status = error.exit_code
        except KeyboardInterrupt:
            typer.echo("interrupted; the line was taken back", err=True)
            status = 130
        if status and command:
            break
    raise typer.Exit(status)


class _Exit(Exception):
    """The person has typed exit."""


def obey(lab: Lab, line: str) -> int:
    """Do what a line says, print the answer, and return the exit status.

    Raises
    ------
    InputError
        The line is wrong; nothing has changed.
    RunError
        The run failed; the line was taken back.
    """
    words = line.split(maxsplit=1)
    if not words or words[0].startswith("#"):
        return 0
    first, rest = words[0], words[1].strip() if len(words) > 1 else ""
    if first in lab.hosts and rest:
        return _answered(lab, lab.do(first, rest))
    if first not in _ACTIONS:
        raise InputError.unknown("line", first, [*lab.hosts, *_COMMANDS], "host or command")
    return _ACTIONS[first](lab, rest) or 0


def _answered(lab: Lab, answer: Printed) -> int:
    """Print what programs printed, and return the exit status."""
    text = plain(answer.text)
    typer.echo(text, nl=bool(text) and not text.endswith("\n"))
    if answer.changed:
        # programs share one generator of random numbers
        names = ", ".join(answer.changed)
        typer.echo(
            f"rdcnlab: with this line {names} printed something else than before, or ended later or sooner", err=True
        )
    if answer.status is None:
        words = "--patience sets for how long a line may run"
        typer.echo(f"rdcnlab: it had not ended at {lab.now}, and was ended; {words}", err=True)
        return 1
    return answer.status


def _link(lab: Lab, rest: str) -> None:
    match rest.split():
        case [name, ("up" | "down") as state]:
            lab.link(name, up=state == "up")
        case _:
            raise InputError.of("link", rest, "a link and down or up, as in: link l1 down")


def _path(lab: Lab, rest: str) -> None:
    match rest.split():
        case [host, path]:
            lab.path(host, path)
        case _:
            raise InputError.of("path", rest, "a host and a link, as in: path s1 green")


def _show(lab: Lab, rest: str) -> None:  # noqa: ARG001
    network = lab.scenario.network
    addresses = lab.addresses
    hosts = [
        {
            "host": host.name,
            "address": addresses.get(host.name),
            "at": host.at,
            "rate": RATE.format(host.rate),
            "delay": DURATION.format(host.delay),
        }
        for host in network.hosts
    ]
    links = [
        {
            "link": link.name,
            "between": " and ".join(link.between or ()) or link.at,
            "rate": RATE.format(link.rate),
            "delay": DURATION.format(link.delay),
            "down": ", ".join(f"{DURATION.format(begin)} to {DURATION.format(end)}" for begin, end in link.down),
        }
        for link in network.links
    ]
    show(hosts, False)
    if links:
        show(links, False)
    _jobs(lab, "")


def _jobs(lab: Lab, rest: str) -> None:  # noqa: ARG001
    rows = [
        {"program": each.name, "host": each.host, "command": each.run, "start_s": each.start / 1e9}
        for each in lab.scenario.programs
        if each.name in lab.jobs()
    ]
    if rows:
        show(rows, False)


def _tcp(lab: Lab, rest: str) -> None:
    table = lab.tcp(rest)
    rows = json.loads(table.to_json(orient="records"))
    if rows:
        show(rows, False)
    else:
        typer.echo(f"{rest} has no TCP connection at {lab.now}")


def _plot(lab: Lab, rest: str) -> None:
    path = Path(rest or "lab.png")
    check(path, force=False, formats=FORMATS)
    for drawn in written(lab.run.plot(), path, cite=None):
        typer.echo(drawn)


def _save(lab: Lab, rest: str) -> None:
    if not rest:
        raise InputError.of("save", rest, "a file, as in: save mine.yaml")
    typer.echo(f"{lab.save(rest)}: rdcnlab run {rest} gives the same bytes")


def _leave(lab: Lab, rest: str) -> None:  # noqa: ARG001
    raise _Exit


_ACTIONS: dict[str, Callable[[Lab, str], int | None]] = {
    "at": lambda lab, rest: lab.at(rest),
    "exit": _leave,
    "help": lambda lab, rest: typer.echo(HELP),  # noqa: ARG005
    "jobs": _jobs,
    "link": _link,
    "path": _path,
    "plot": _plot,
    "save": _save,
    "show": _show,
    "tcp": _tcp,
    "undo": lambda lab, rest: lab.undo(),  # noqa: ARG005
    "wait": lambda lab, rest: _answered(lab, lab.wait(*rest.split())),
}


def _typed(lab: Lab) -> Iterator[str]:
    """Yield lines from the keyboard, with history and completion, or from standard input."""
    if not sys.stdin.isatty():
        yield from sys.stdin
        return
    with contextlib.suppress(ImportError):
        _complete(lab)
    more = ", ..." * (len(lab.hosts) > _SHOWN)
    typer.echo(f"{len(lab.hosts)} hosts: {', '.join(lab.hosts[:_SHOWN])}{more}. 'help' lists what can be typed.")
    while True:
        try:
            yield input(f"{lab.now}> ")
        except EOFError:
            typer.echo()
            return
        except KeyboardInterrupt:
            typer.echo()


def _complete(lab: Lab) -> None:
    """Let Tab complete hosts, commands and links."""
    import readline

    def choices(text: str, state: int) -> str | None:
        first = not readline.get_line_buffer()[: readline.get_begidx()].strip()
        names = [*lab.hosts, *(_COMMANDS if first else (*lab.links, "down", "up"))]
        matching = [f"{name} " for name in names if name.startswith(text)]
        return matching[state] if state < len(matching) else None

    readline.set_completer(choices)
    readline.set_completer_delims(" ")
    readline.parse_and_bind("tab: complete")
