# SPDX-License-Identifier: Apache-2.0
"""The installation of BMv2 on this machine: its programs, and the files that a guest must read to run them.

A guest can read the system's directories and nothing else of the host. A ``simple_switch`` in a user's home needs more:
its shared libraries, and the Python modules of ``simple_switch_CLI``, which is a script.
"""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from rdcnlab.engines.kernel.jail import reading
from rdcnlab.fields.errors import RunError
from rdcnlab.system import places

WHERE = (
    "BMv2 is not in Debian; the P4 project has packages of it (p4lang-bmv2, p4lang-p4c), which "
    "https://github.com/p4lang/behavioral-model and https://github.com/p4lang/p4c name; `make bmv2` in a clone "
    "installs them"
)
PROGRAMS = ("simple_switch", "simple_switch_CLI")
#: The interpreter in a guest for a script that begins with ``#!/usr/bin/env python3``.
_PYTHON = "/usr/bin/python3"
#: Runs a script's ``--help``, then prints the files that it imported, Python's search path, and Python's own place.
_IMPORTS = """
import contextlib, io, json, os, runpy, sys
script = sys.argv[1]
sys.argv, sys.path[0] = [script, "--help"], os.path.dirname(os.path.realpath(script))
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    runpy.run_path(script, run_name="__main__")
files = [str(module.__file__) for module in list(sys.modules.values()) if getattr(module, "__file__", None)]
print(json.dumps({"files": files, "path": sys.path, "prefixes": [sys.prefix, sys.base_prefix]}))
"""
_PATIENCE_S = 60


@dataclass(frozen=True)
class Install:
    """BMv2 on this machine.

    Parameters
    ----------
    switch, cli, python : str
        Paths of ``simple_switch``, of ``simple_switch_CLI``, and of the interpreter that runs the latter.
    version : str
        The output of ``simple_switch --version``.
    notifies : bool
        Whether ``simple_switch`` opens a socket for notifications. A BMv2 that was compiled without nanomsg does not.
    read : tuple of str
        Paths that a guest must read in addition to the system.
    environment : tuple of (str, str)
        Environment variables with which both programs find their libraries and modules.
    """

    switch: str
    cli: str
    python: str
    version: str
    notifies: bool
    read: tuple[str, ...]
    environment: tuple[tuple[str, str], ...]

    def plan(self) -> dict[str, object]:
        """Return the part of the plan that describes BMv2, as plain data."""
        return {
            "switch": self.switch,
            "notifies": self.notifies,
            "cli": [self.python, self.cli],
            "environment": dict(self.environment),
        }


def missing() -> list[str]:
    """Return the names of BMv2's programs that are missing."""
    return [name for name in PROGRAMS if shutil.which(name) is None]


def remedy() -> str:
    """Return the command that installs BMv2; outside a clone, where to get it."""
    return "make bmv2" if places.source_tree() is not None else WHERE


def install() -> Install:
    """Find BMv2, and check that both of its programs start.

    Raises
    ------
    RunError
        A program is missing or does not start. The message says which, where it is and why.
    """
    lacking = missing()
    if lacking:
        raise RunError(f"switch: bmv2 needs {' and '.join(lacking)}. {WHERE}")
    switch, cli = (str(Path(str(shutil.which(name))).absolute()) for name in PROGRAMS)
    return _examined(switch, cli, os.environ.get("LD_LIBRARY_PATH"), os.environ.get("PYTHONPATH"))


@functools.cache
def _examined(switch: str, cli: str, *_variables: str | None) -> Install:
    """Examine BMv2's programs; variables that influence the result are arguments because the result is cached."""
    version = _output([switch, "--version"])
    libraries = _libraries(switch)
    python, modules, interpreter = _imports(cli)
    needed = _with_targets([switch, cli, *libraries, *modules, *interpreter])
    variables = {"LD_LIBRARY_PATH": _directories(libraries), "PYTHONPATH": modules}
    return Install(
        switch=switch,
        cli=cli,
        python=python,
        version=version,
        notifies="--notifications-addr" in _output([switch, "--help"]),
        read=tuple(path for path in needed if not _system(path)),
        environment=tuple((name, os.pathsep.join(paths)) for name, paths in variables.items() if paths),
    )


def _libraries(program: str) -> list[str]:
    """Return the shared libraries of a program that are not the system's."""
    # ldd fails for scripts, and for programs without shared libraries
    lines = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout.splitlines()
    lacking = [line.split()[0] for line in lines if "not found" in line]
    if lacking:
        raise RunError(f"{program} lacks {', '.join(lacking)}; LD_LIBRARY_PATH can name where shared libraries are")
    targets = [line.partition(" => ")[2].split() for line in lines]
    return [words[0] for words in targets if words and words[0].startswith("/") and not _system(words[0])]


def _imports(cli: str) -> tuple[str, list[str], list[str]]:
    """Return the interpreter of ``simple_switch_CLI``, the directories of its modules, and the interpreter's own files.

    The two lists leave out directories and files of the system.
    """
    refusals = []
    for python in _interpreters(cli):
        try:
            seen = json.loads(_output([python, "-c", _IMPORTS, cli]).splitlines()[-1])
        except RunError as error:
            refusals.append(str(error))
            continue
        prefixes = [path for path in dict.fromkeys(seen["prefixes"]) if not _system(path)]
        places = sorted((path for path in seen["path"] if path), key=len, reverse=True)
        modules = []
        for file in seen["files"]:
            place = next((path for path in places if Path(file).is_relative_to(path)), str(Path(file).parent))
            if not _system(place) and not any(Path(place).is_relative_to(path) for path in prefixes):
                modules.append(place)
        itself = [] if _system(python) else [python, *_libraries(python)]
        return python, list(dict.fromkeys(modules)), [*prefixes, *itself]
    raise RunError(f"{cli} does not start: {'; '.join(refusals)}")


def _interpreters(cli: str) -> list[str]:
    """Return the interpreters to try for a script: that of its first line, or the system's and the user's."""
    with Path(cli).open(encoding="utf-8", errors="replace") as file:
        first = file.readline()
    words = first.removeprefix("#!").split() if first.startswith("#!") else ["/usr/bin/env", "python3"]
    if Path(words[0]).name != "env":
        return [words[0]]
    interpreter = shutil.which(words[-1])
    return list(dict.fromkeys([_PYTHON, *([interpreter] if interpreter else []), sys.executable]))


def _directories(paths: list[str]) -> list[str]:
    return list(dict.fromkeys(str(Path(path).parent) for path in paths))


def _with_targets(paths: list[str]) -> list[str]:
    """Return the paths and, for symbolic links, their targets."""
    return list(dict.fromkeys(one for path in paths for one in (path, os.path.realpath(path))))


def _system(path: str) -> bool:
    return any(Path(path).is_relative_to(place) for place in reading.SYSTEM)


def _output(command: list[str]) -> str:
    """Return the output of a program; raise RunError if it does not start or fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_PATIENCE_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RunError(f"{command[0]} does not start: {error}") from None
    if done.returncode:
        words = (done.stderr.strip() or done.stdout.strip() or f"status {done.returncode}").splitlines()[-1]
        raise RunError(f"{command[0]} does not start: {words}")
    return done.stdout.strip()
