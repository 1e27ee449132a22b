# SPDX-License-Identifier: Apache-2.0
"""What a guest may read of the host: the programs of the system, this Python, and what a run names.

Not the directories of users, not other runs, and of ``/etc`` only what everyone may read: a guest that root starts
reads no more than one of an ordinary user.
"""

from __future__ import annotations

import contextlib
import functools
import os
import stat
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

#: Directories from which the guest's programs are loaded.
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib64")
#: Files by which User-Mode Linux learns about its host's processor.
PROCESSOR = ("/proc/cpuinfo",)


def readable(*more: Path) -> list[str]:
    """Return the paths that a guest may read: the system, this Python, and `more`."""
    python = [sys.prefix, sys.base_prefix, sys.executable, os.path.realpath(sys.executable)]
    python += [sysconfig.get_path("stdlib"), sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    every = [*SYSTEM, *PROCESSOR, *settings(), *(name for name in python if name), *map(str, more)]
    return list(dict.fromkeys(every))


@functools.cache
def settings(root: str = "/etc") -> tuple[str, ...]:
    """Return the files and directories of the system's settings that everyone may read, each tree by its top."""
    return tuple(_open_to_all(root))


def _open_to_all(path: str) -> Iterator[str]:
    """Yield a path if everyone may read all that is in it, and otherwise the parts of it for which that holds."""
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return
    if stat.S_ISREG(mode) and mode & stat.S_IROTH:
        yield path
    if not stat.S_ISDIR(mode) or mode & (stat.S_IROTH | stat.S_IXOTH) != stat.S_IROTH | stat.S_IXOTH:
        return  # a link needs no rule: what it leads to does
    parts: list[str] = []
    whole = True
    with contextlib.suppress(OSError), os.scandir(path) as entries:
        for entry in entries:
            below = list(_open_to_all(entry.path))
            whole = whole and (entry.is_symlink() or below == [entry.path])
            parts += below
    if whole:
        yield path
    else:
        yield from parts
