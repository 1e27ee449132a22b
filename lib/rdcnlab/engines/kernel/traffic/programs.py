# SPDX-License-Identifier: Apache-2.0
"""The plan of programs in hosts, what their results depend on, and why a run with them failed."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rdcnlab.engines.kernel.traffic import executables
from rdcnlab.engines.network import Network
from rdcnlab.engines.network.numbers import START_NS
from rdcnlab.fields.errors import InputError, RunError
from rdcnlab.scenario.program import MOST_WRITTEN, Program

#: Records of starts and ends that the guest writes, one JSON object a line; and its file of what went wrong.
RECORDS = "programs.jsonl"
#: Bytes that the file systems of all hosts with programs hold together, besides the files that the scenario gives them.
MOST_STORED = 64_000_000
#: Memory of one program in kB.
PROCESS_KB = 64_000
#: Processes of the guest that are no programs', besides one or two for each host.
OTHER_PROCESSES = 50
#: Processes of all programs of a run; ``tools/programs.c`` refuses more than `MOST_PROCESSES` there.
MOST_PROCESSES = 500


def check(network: Network) -> None:
    """Raise InputError if a switch cannot tell whose the packets of programs are."""
    if not network.traffic.programs:
        return
    for number, kind in enumerate(network.kinds):
        if kind != "ocs":
            allowed = "ocs, with programs, because a switch of another kind does not tell whose their packets are"
            raise InputError.of(network.kind_field(number), kind, allowed)


def own_file(program: Program) -> str | None:
    """Return the name of the file beside the scenario's file that a command line starts; None if it is installed."""
    word = program.words[0].removeprefix("./")
    return word if any(file.name == word for file in program.files) else None


def path_of(program: Program) -> str:
    """Return the path of an installed program on this machine.

    Raises
    ------
    RunError
        There is no such program.
    """
    word = program.words[0]
    # the system's first, as in the guest: the user's may be a shim that needs the user's home
    path = shutil.which(word, path=os.pathsep.join([executables.PATH, os.environ.get("PATH", "")]))
    if path is None:
        raise RunError(
            f"programs.{program.name}.run: there is no program '{word}' on this machine; install it, or put a file of "
            "this name beside the scenario's file"
        )
    return str(Path(path).absolute())


def identity(programs: Sequence[Program]) -> dict[str, str]:
    """Return the SHA-256 of all installed programs and of their libraries, by path; empty if one is missing."""
    try:
        paths = _programs(programs)
    except (RunError, InputError):
        return {}
    return executables.digests(paths)


def _programs(programs: Sequence[Program]) -> list[str]:
    """Return the paths of the installed programs: those that are started, and the interpreters of scripts."""
    paths = [path_of(program) for program in programs if own_file(program) is None]
    for program in programs:
        script = own_file(program)
        if script is not None:
            file = next(file for file in program.files if file.name == script)
            paths += executables.interpreters(file.content(f"programs.{program.name}.run"))
    return list(dict.fromkeys(paths))


def require(programs: Sequence[Program]) -> None:
    """Raise RunError or InputError if an installed program is missing, or a file beside the scenario has changed."""
    for program in programs:
        if own_file(program) is None:
            path_of(program)
        for file in program.files:
            file.content(f"programs.{program.name}.files")


def readable(programs: Sequence[Program]) -> list[Path]:
    """Return the files outside of the system that a guest must be able to read."""
    return [Path(path) for path in identity(programs)]


def place_files(programs: Sequence[Program], directory: Path) -> None:
    """Copy the files that the scenario gives to programs into a run's directory, where the guest finds them."""
    for program in programs:
        for file in program.files:
            target = directory / "given" / program.host / file.name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(file.content(f"programs.{program.name}.files"))


def settings(network: Network, *, here: bool) -> dict[str, Any]:
    """Return the part of the plan about programs; empty without programs.

    Parameters
    ----------
    network : Network
        The network of the scenario.
    here : bool
        Whether the plan contains the paths of programs on this machine.
    """
    programs = network.traffic.programs
    if not programs:
        return {}
    addresses = {name: station.ip for name, station in network.stations.items()}
    hosts: dict[str, list[dict[str, Any]]] = {}
    for number, program in enumerate(programs):
        words = list(program.command(addresses))
        script = own_file(program)
        if script is not None:
            words[0] = f"/run/home/{script}"
        elif here:
            words[0] = path_of(program)
        one = {
            "number": number,
            "start_ns": START_NS + program.start,
            "background": program.background,
            "words": words,
            "files": [file.name for file in program.files],
        }
        hosts.setdefault(program.host, []).append(one)
    given = sum(_size(Path(file.path)) for program in programs for file in program.files) if here else 0
    plan: dict[str, Any] = {
        "hosts": hosts,
        "names": [program.name for program in programs],
        "addresses": addresses,
        "stored_B": MOST_STORED + given,
        "written_B": MOST_WRITTEN,
        "cc": {program.host: program.cc for program in programs if program.cc is not None},
    }
    waited = any(not program.background for program in programs)
    if waited and any(flow.protocol == "udp" for flow in network.traffic.flows):
        # the run does not wait for datagrams, but they are sent as long as it lasts
        plan["flows_go_on"] = True
    return {"programs": plan}


def _size(path: Path) -> int:
    # whole pages, and one for the directory's entry
    return (path.stat().st_size + 8191) // 4096 * 4096 if path.is_file() else 0


def memory_kB(programs: Sequence[Program]) -> int:  # noqa: N802  (unit)
    """Return the memory that programs and their files need in the guest, in kB."""
    if not programs:
        return 0
    given = sum(_size(Path(file.path)) for program in programs for file in program.files)
    return PROCESS_KB * len(programs) + (MOST_STORED + given) // 1000


def most_processes(network: Network) -> int | None:
    """Return the number of processes from which on a guest is ended; None without programs."""
    if not network.traffic.programs:
        return None
    hosts = len(network.stations) + len({program.host for program in network.traffic.programs})
    return MOST_PROCESSES + hosts + OTHER_PROCESSES


def explained(error: RunError, programs: Sequence[Program], directory: Path) -> RunError:
    """Return the error of a run, with the programs that ran at its end if one of them may be the cause."""
    if not programs or "something in it spins" not in error.reason:
        return error
    running: dict[int, bool] = {}
    records = directory / RECORDS
    for line in records.read_text(errors="replace").splitlines() if records.is_file() else ():
        row = json.loads(line)
        if "program" in row:
            running[row["program"]] = "started_ns" in row
    names = [f"{one.name} ({one.run[:60]})" for n, one in enumerate(programs) if running.get(n)]
    if not names:
        return error
    words = (
        f"{error.reason}. Programs that ran: {', '.join(names[:5])}{' and others' * (len(names) > 5)}. In virtual time "
        "computation takes no time, so a program that waits must sleep or wait for a file: a loop that reads a clock, "
        "or the processor's counter (rdtsc), never ends"
    )
    return RunError(words, error.log)
