# SPDX-License-Identifier: Apache-2.0
"""The jail of a guest: the command that starts it with as little of the host as it needs.

The guest's root file system is read-only, but root in the guest can mount the host's file system again, writable, and a
user's own kernel code is the process itself. Therefore the jail is outside of the guest: ``host/launch.c`` builds it
from Landlock, a filter of system calls, namespaces and limits. If the host has no Landlock, bubblewrap confines the
files. If it has neither, this module warns, because the guest then reaches all files of the user.
"""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from rdcnlab.engines.kernel.jail.reading import readable

DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random")
#: Names the newest ABI of Landlock that is used, for tests: 0 is a host without Landlock.
OLDER = "RDCNLAB_LANDLOCK"
#: Where a guest's kernel finds the directory of its run: the same for each run, so that nothing depends on its path.
DIRECTORY = Path("/proc/self/fd/100")
#: Most bytes that a process of a guest has besides files and the guest's memory.
MOST_DATA = 1 << 30


class NoConfinementWarning(UserWarning):
    """A guest reaches all files of the user."""


def _older() -> list[str]:
    return ["--abi", os.environ[OLDER]] if OLDER in os.environ else []


def walls(launch: Path) -> dict[str, Any]:
    """Return the walls that a jail has on this host; empty if the launcher does not say.

    They are ``landlock`` (its ABI; 0 if the host has none), ``filter`` (whether system calls are filtered),
    ``signals`` (what holds signals), and ``namespaces``.
    """
    return _walls(launch, tuple(_older()))


@functools.lru_cache(maxsize=64)
def _walls(launch: Path, older: tuple[str, ...]) -> dict[str, Any]:
    answer = subprocess.run([str(launch), *older, "--check"], capture_output=True, text=True, check=False)
    try:
        walls: dict[str, Any] = json.loads(answer.stdout)
    except ValueError:
        return {}
    return walls


def kind(launch: Path) -> str:
    """Return what confines a guest's files on this host: ``landlock``, ``bubblewrap`` or ``none``."""
    if walls(launch).get("landlock"):
        return "landlock"
    return "bubblewrap" if _bubblewrap_works() else "none"


def described(confinement: str, walls: Mapping[str, Any]) -> str:
    """Return the walls of a jail in words.

    Examples
    --------
    >>> walls = {"landlock": 7, "filter": True, "signals": "landlock", "namespaces": ""}
    >>> described("landlock", walls)
    'landlock 7, seccomp'
    >>> described("bubblewrap", walls | {"landlock": 0, "signals": "filter"})
    'bubblewrap, seccomp with signals'
    """
    words = [f"landlock {walls['landlock']}" if confinement == "landlock" else confinement]
    if walls.get("filter"):
        words.append("seccomp with signals" if walls.get("signals") == "filter" else "seccomp")
    if walls.get("namespaces"):
        words.append(f"namespaces {walls['namespaces']}")
    return ", ".join(words)


def missing(launch: Path) -> list[str]:
    """Return what a jail on this host does not hold, in words; empty if it has every wall."""
    held = walls(launch)
    lacking = []
    if kind(launch) != "landlock":
        lacking.append("reading of files (no Landlock: Linux 5.13 and later)")
    if not held.get("filter"):
        lacking.append("system calls (no seccomp)")
    if not held.get("signals"):
        lacking.append("signals to processes of the same user")
    return lacking


@dataclass(frozen=True)
class Command:
    """A command that starts a program in a jail.

    Parameters
    ----------
    kind : str
        What confines files, as `kind` returns it.
    bubblewrap : tuple of str
        The command of bubblewrap, with its last option. It starts the launcher as another process. May be empty.
    launch : tuple of str
        The launcher, which pins, builds the jail, and becomes the program or starts it.
    program : tuple of str
        The program and its arguments.
    """

    kind: str
    bubblewrap: tuple[str, ...]
    launch: tuple[str, ...]
    program: tuple[str, ...]

    def line(self, told: int | None = None) -> list[str]:
        """Return the command's words; the launcher writes its program's process id to the file `told`, as JSON."""
        tell = [] if told is None else ["--tell", str(told)]
        return [*self.bubblewrap, *self.launch, *tell, "--", *self.program]


def command(
    launch: Path,
    *,
    program: Sequence[str],
    write: Sequence[Path],
    read: Sequence[Path | str],
    core: int | None = None,
    directory: Path | None = None,
    memory: Path | None = None,
    most_file: int | None = None,
    role: Literal["guest", "build"] = "guest",
) -> Command:
    """Return the command that starts a program in a jail.

    Parameters
    ----------
    launch : Path
        Path of the compiled launcher.
    program : sequence of str
        Absolute path of the program, and its arguments.
    write : sequence of Path
        Directories that the program may write to.
    read : sequence of Path or str
        Paths that the program may read; for a guest in addition to the system and Python.
    core : int, optional
        Core to pin the program to.
    directory : Path, optional
        A directory that the program finds at `DIRECTORY`.
    memory : Path, optional
        An empty directory for the guest's memory, which the launcher may remove.
    most_file : int, optional
        Most bytes of a file that the program writes.
    role : {'guest', 'build'}
        What the program is: it decides which system calls it may make.
    """
    how = kind(launch)
    wrap: list[str] = []
    if how == "bubblewrap":
        seen = ["--ro-bind", "/", "/"] if role == "guest" else _bound([*map(str, read), str(launch)])
        wrap = [shutil.which("bwrap") or "bwrap", *seen, "--dev-bind", "/dev", "/dev", "--proc", "/proc"]
        for path in [*write, *([] if memory is None else [memory])]:
            wrap += ["--bind", str(path), str(path)]
        wrap += ["--unshare-net", "--unshare-ipc", "--die-with-parent", "--new-session", "--"]
    elif how == "none":
        warnings.warn(
            "neither Landlock nor bubblewrap is here: a guest could write to files wherever you can. "
            "Install bubblewrap, or use a kernel with Landlock (5.13 and later)",
            NoConfinementWarning,
            stacklevel=2,
        )
    line = [str(launch), *_older(), "--role", role]
    if not wrap:
        line += ["--parent", str(os.getpid())]
    if core is not None:
        line += ["--core", str(core)]
    if most_file is not None:
        line += ["--file", str(most_file)]
    if role == "guest":
        line += ["--data", str(MOST_DATA)]
    if directory is not None:
        line += ["--directory", str(directory)]
    if memory is not None:
        line += ["--memory", str(memory)]
    for name in (*map(str, write), *DEVICES):
        line += ["--write", name]
    for name in readable(*map(Path, read)) if role == "guest" else map(str, read):
        line += ["--read", name]
    return Command(how, tuple(wrap), tuple(line), tuple(program))


def _bound(paths: Sequence[str]) -> list[str]:
    """Return the options of bubblewrap by which these paths exist, and nothing else."""
    words: list[str] = []
    bound: list[Path] = []
    for name in paths:
        path = Path(name)
        if path.is_symlink():
            words += ["--symlink", str(path.readlink()), name]
        real = path.resolve()
        if real.exists() and not any(real.is_relative_to(place) for place in bound):
            words += ["--ro-bind", str(real), str(real)]
            bound.append(real)
    return words


@functools.cache
def _bubblewrap_works() -> bool:
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        return False
    # if the host forbids user namespaces, bubblewrap is installed but does not work
    test = subprocess.run([bwrap, "--ro-bind", "/", "/", "true"], capture_output=True, check=False)
    return test.returncode == 0
