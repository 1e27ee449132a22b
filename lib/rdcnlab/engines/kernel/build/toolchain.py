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
GUEST_PROGRAMS = {"mnexec": "mininet", "ip": "iproute2", "tc": "iproute2", "bash": "bash", "ifconfig": "net-tools"}


def missing() -> dict[str, str]:
    """Return the missing programs and files, with the Debian package of each."""
    path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])
    lacking = {
        name: package for name, package in {**PROGRAMS, **GUEST_PROGRAMS}.items() if not shutil.which(name, path=path)
    }
    if not Path("/usr/include/x86_64-linux-gnu/sys/types.h").exists() and not Path("/usr/include/sys/types.h").exists():
        lacking["C library headers"] = "libc6-dev"
    if source.is_missing():
        lacking["kernel source"] = releases.SOURCE_PACKAGE
    return lacking


def remedy(lacking: dict[str, str]) -> str:
    """Return one command that installs missing programs and files."""
    return f"sudo apt-get install -y {' '.join(sorted(set(lacking.values())))}"


def require(*, guest_only: bool = False) -> None:
    """Raise RunError if something is missing; the message names it and the command that installs it."""
    lacking = missing()
    if guest_only:
        lacking = {name: package for name, package in lacking.items() if name in GUEST_PROGRAMS}
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
