# SPDX-License-Identifier: Apache-2.0
"""Confinement: which files of the host a guest can access.

The guest's root file system is read-only, but root in the guest can mount the host's file system again, writable.
Therefore the confinement is outside of the guest: Landlock on the process (``host/launch.c``), or bubblewrap if the
host has no Landlock. If the host has neither, this module warns, because the guest then has all rights of the user.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import warnings
from dataclasses import dataclass
from pathlib import Path

#: Directories from which the guest's programs are loaded.
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/proc", "/sys", "/mnt")
DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random", "/dev/tty", "/dev/ptmx", "/dev/pts")


class NoConfinementWarning(UserWarning):
    """A guest runs with all rights of the user."""


def readable(*more: Path) -> list[str]:
    """Return the paths that a guest may read: the system, this Python, and `more`."""
    python = [sys.prefix, sys.base_prefix, sys.executable, os.path.realpath(sys.executable)]
    python += [sysconfig.get_path("stdlib"), sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    return list(dict.fromkeys([*SYSTEM, *(name for name in python if name), *map(str, more)]))


def landlock(launch: Path) -> int:
    """Return the version of Landlock on the host; 0 if the host has none."""
    answer = subprocess.run([str(launch), "--check"], capture_output=True, text=True, check=False)
    return int(answer.stdout) if answer.returncode == 0 and answer.stdout.strip().isdigit() else 0


def kind(launch: Path) -> str:
    """Return the kind of confinement on this host: ``landlock``, ``bubblewrap`` or ``none``."""
    if landlock(launch):
        return "landlock"
    return "bubblewrap" if _bubblewrap_works() else "none"


@dataclass(frozen=True)
class Command:
    """A command that starts a program with confinement.

    Parameters
    ----------
    kind : str
        Kind of confinement, as `kind` returns it.
    launch : tuple of str
        The part that pins, and confines with Landlock. It becomes what follows it, in the same process.
    bubblewrap : tuple of str
        The command of bubblewrap, without its last options. It starts the program as another process. May be empty.
    program : tuple of str
        The program and its arguments.
    """

    kind: str
    launch: tuple[str, ...]
    bubblewrap: tuple[str, ...]
    program: tuple[str, ...]

    def line(self, told: int) -> list[str]:
        """Return the command's words; bubblewrap writes its program's process id to the file `told`, as JSON."""
        last = ("--info-fd", str(told), "--") if self.bubblewrap else ()
        return [*self.launch, *self.bubblewrap, *last, *self.program]


def command(launch: Path, *, core: int | None, write: list[Path], read: list[Path], program: list[str]) -> Command:
    """Return the command that starts a program with confinement.

    Parameters
    ----------
    launch : Path
        Path of the compiled ``host/launch.c``.
    core : int or None
        Core to pin the program to.
    write : list of Path
        Directories that the program may write to.
    read : list of Path
        Paths that the program may read in addition to the system and Python.
    program : list of str
        Absolute path of the program, and its arguments.
    """
    line = [str(launch), "--parent", str(os.getpid())]
    if core is not None:
        line += ["--core", str(core)]
    for path in (*map(str, write), *DEVICES):
        line += ["--write", path]
    for path in readable(*read):
        line += ["--read", path]
    line.append("--")
    wrap: list[str] = []
    how = kind(launch)
    if how == "bubblewrap":
        wrap = [shutil.which("bwrap") or "bwrap", "--ro-bind", "/", "/", "--dev-bind", "/dev", "/dev"]
        wrap += ["--proc", "/proc", *(word for path in write for word in ("--bind", str(path), str(path)))]
        wrap += ["--die-with-parent", "--new-session"]
    elif how == "none":
        warnings.warn(
            "neither Landlock nor bubblewrap is here: a program in the guest could write wherever you can. "
            "Install bubblewrap, or use a kernel with Landlock (5.13 and later)",
            NoConfinementWarning,
            stacklevel=2,
        )
    return Command(how, tuple(line), tuple(wrap), tuple(program))


def _bubblewrap_works() -> bool:
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        return False
    # if the host forbids user namespaces, bubblewrap is installed but does not work
    test = subprocess.run([bwrap, "--ro-bind", "/", "/", "true"], capture_output=True, check=False)
    return test.returncode == 0
