# SPDX-License-Identifier: Apache-2.0
"""What a guest may touch of the host.

Inside the guest the root file system is read-only, but root there can mount the host's anew and writable. What holds is
outside: Landlock on the process (``host/launch.c``), bubblewrap where the host has no Landlock, and where there is
neither a warning, because the guest then has all the rights of the user.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import warnings
from pathlib import Path

#: What programs of the guest are loaded from.
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/proc", "/sys", "/mnt")
DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random", "/dev/tty", "/dev/ptmx", "/dev/pts")


class NoConfinementWarning(UserWarning):
    """A guest runs with all the rights of the user."""


def readable(*more: Path) -> list[str]:
    """Return what a guest may read: the system, this Python, and `more`."""
    python = [sys.prefix, sys.base_prefix, sys.executable, os.path.realpath(sys.executable)]
    python += [sysconfig.get_path("stdlib"), sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    return list(dict.fromkeys([*SYSTEM, *(name for name in python if name), *map(str, more)]))


def landlock(launch: Path) -> int:
    """Return the version of Landlock that the host offers, 0 without it."""
    answer = subprocess.run([str(launch), "--check"], capture_output=True, text=True, check=False)
    return int(answer.stdout) if answer.returncode == 0 and answer.stdout.strip().isdigit() else 0


def kind(launch: Path) -> str:
    """Return what confines guests here: ``landlock``, ``bubblewrap`` or ``none``."""
    if landlock(launch):
        return "landlock"
    return "bubblewrap" if _bubblewrap_works() else "none"


def command(launch: Path, *, core: int | None, write: list[Path], read: list[Path], program: list[str]) -> list[str]:
    """Return the command that starts a program confined.

    Parameters
    ----------
    launch : Path
        The compiled ``host/launch.c``.
    core : int or None
        Core to pin to.
    write : list of Path
        Directories it may write to.
    read : list of Path
        What it may read beyond the system and Python.
    program : list of str
        Absolute path and arguments.
    """
    line = [str(launch), "--parent", str(os.getpid())]
    if core is not None:
        line += ["--core", str(core)]
    for path in (*map(str, write), *DEVICES):
        line += ["--write", path]
    for path in readable(*read):
        line += ["--read", path]
    line.append("--")
    how = kind(launch)
    if how == "bubblewrap":
        line += [
            shutil.which("bwrap") or "bwrap",
            "--ro-bind",
            "/",
            "/",
            "--dev-bind",
            "/dev",
            "/dev",
            "--proc",
            "/proc",
        ]
        line += [word for path in write for word in ("--bind", str(path), str(path))]
        line += ["--die-with-parent", "--"]
    elif how == "none":
        warnings.warn(
            "neither Landlock nor bubblewrap is here: a program in the guest could write wherever you can. "
            "Install bubblewrap, or use a kernel with Landlock (5.13 and later)",
            NoConfinementWarning,
            stacklevel=2,
        )
    return line + program


def _bubblewrap_works() -> bool:
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        return False
    # where user namespaces are forbidden it is there and does not work
    test = subprocess.run([bwrap, "--ro-bind", "/", "/", "true"], capture_output=True, check=False)
    return test.returncode == 0
