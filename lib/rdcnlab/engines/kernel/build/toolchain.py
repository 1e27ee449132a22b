# SPDX-License-Identifier: Apache-2.0
"""Programs and files of the system that are needed to build the kernel, and which of them are missing."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from pathlib import Path

from rdcnlab.engines.kernel.build import releases, source
from rdcnlab.fields.errors import RunError

#: Programs, and for each the Debian package that contains it.
PROGRAMS = {
    "gcc": "gcc",
    "make": "make",
    "flex": "flex",
    "bison": "bison",
    "bc": "bc",
    "patch": "patch",
    "tar": "tar",
    "xz": "xz-utils",
}
#: Programs that the guest needs; the guest uses the host's files.
GUEST_PROGRAMS = {"mnexec": "mininet", "ip": "iproute2", "tc": "iproute2", "bash": "bash"}


def missing() -> dict[str, str]:
    """Return the programs and files that are missing to build a kernel and to run guests, with the Debian packages."""
    lacking = {name: package for name, package in PROGRAMS.items() if not _is_installed(name)}
    lacking |= missing_for_guests()
    if not Path("/usr/include/x86_64-linux-gnu/sys/types.h").exists() and not Path("/usr/include/sys/types.h").exists():
        lacking["C library headers"] = "libc6-dev"
    if source.is_missing():
        lacking["kernel source"] = releases.SOURCE_PACKAGE
    return lacking


def missing_for_guests(programs: Path | None = None) -> dict[str, str]:
    """Return the missing programs that guests need, with the Debian package of each.

    Parameters
    ----------
    programs : Path, optional
        Directory of the programs that came with the kernel.
    """
    carried = {path.name for path in programs.iterdir()} if programs is not None else set()
    return {
        name: package for name, package in GUEST_PROGRAMS.items() if name not in carried and not _is_installed(name)
    }


def _is_installed(program: str) -> bool:
    path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])
    return shutil.which(program, path=path) is not None


def remedy(lacking: dict[str, str]) -> str:
    """Return one command that installs missing programs and files."""
    return f"sudo apt-get install -y {' '.join(sorted(set(lacking.values())))}"


def require() -> None:
    """Raise RunError if something is missing to build a kernel; the message has the command that installs it."""
    _refuse(missing())


def require_for_guests(programs: Path | None = None) -> None:
    """Raise RunError if a program is missing that guests need; `programs` as in `missing_for_guests`."""
    _refuse(missing_for_guests(programs))


def _refuse(lacking: dict[str, str]) -> None:
    if lacking:
        raise RunError(f"the kernel engine needs {', '.join(sorted(lacking))}; install with: {remedy(lacking)}")


@functools.cache
def compiler() -> str:
    """Return the first line of ``gcc --version``."""
    try:
        answer = subprocess.run(["gcc", "--version"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        raise RunError(f"the kernel engine needs gcc; install with: {remedy({'gcc': 'gcc'})}") from None
    return answer.stdout.splitlines()[0]
