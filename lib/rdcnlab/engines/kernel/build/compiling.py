# SPDX-License-Identifier: Apache-2.0
"""The jail in which the compiler reads a user's C: it can read the toolchain and the kernel's tree, and nothing else.

A C file can make its compiler read any file (``#include``, ``.incbin``) and put it into the kernel.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from rdcnlab.engines.kernel.build import toolchain
from rdcnlab.engines.kernel.build.tree import Jail
from rdcnlab.engines.kernel.jail import reading, sandbox


def jail(launch: Path) -> Jail:
    """Return what puts a command line into the jail of a compiler.

    Parameters
    ----------
    launch : Path
        Path of the compiled launcher.
    """

    def jailed(line: list[str], write: Sequence[Path], read: Sequence[Path]) -> list[str]:
        program = [shutil.which(line[0]) or line[0], *line[1:]]
        paths: list[Path | str] = [*reading.SYSTEM, *reading.settings(), *places(), *read]
        return sandbox.command(launch, program=program, write=write, read=paths, role="build").line()

    return jailed


def places() -> list[Path]:
    """Return the directories outside of the system in which the toolchain of ``PATH`` is, as with Nix or in /opt."""
    directories: dict[Path, None] = {}
    for name in toolchain.PROGRAMS:
        path = shutil.which(name)
        if path is None:
            continue
        place = Path(path).resolve().parent
        if any(place.is_relative_to(Path(top).resolve()) for top in reading.SYSTEM):
            continue
        # a compiler finds its parts beside the directory of its program, unless that is a user's own
        above = place.parent
        directories[above if place.name == "bin" and above not in _homes() else place] = None
    return list(directories)


def _homes() -> tuple[Path, ...]:
    home = Path.home().resolve()
    return Path("/"), home, home / ".local"
