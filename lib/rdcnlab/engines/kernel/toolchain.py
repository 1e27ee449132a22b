# SPDX-License-Identifier: Apache-2.0
"""What building the kernel needs from the system, and what is missing of it."""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from rdcnlab.errors import InputError, RunError

#: Programs and the Debian package that has each.
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
#: Programs of the guest, which sees the host's files.
GUEST_PROGRAMS = {"mnexec": "mininet", "ip": "iproute2", "tc": "iproute2", "bash": "bash", "ifconfig": "net-tools"}
SOURCE_PACKAGE = "linux-source-6.12"
SOURCE = Path("/usr/src/linux-source-6.12.tar.xz")


@dataclass(frozen=True)
class Source:
    """A kernel source archive: `path`, and the sha256 of its content."""

    path: Path
    digest: str


def missing() -> dict[str, str]:
    """Return what is not there: name to Debian package."""
    path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])
    lacking = {
        name: package for name, package in {**PROGRAMS, **GUEST_PROGRAMS}.items() if not shutil.which(name, path=path)
    }
    if not Path("/usr/include/x86_64-linux-gnu/sys/types.h").exists() and not Path("/usr/include/sys/types.h").exists():
        lacking["C library headers"] = "libc6-dev"
    if source_path() is None:
        lacking["kernel source"] = SOURCE_PACKAGE
    return lacking


def remedy(lacking: dict[str, str]) -> str:
    """Return the one command that installs what is missing."""
    return f"sudo apt-get install -y {' '.join(sorted(set(lacking.values())))}"


def require(*, guest_only: bool = False) -> None:
    """Raise RunError naming what is missing and the command that mends it."""
    lacking = missing()
    if guest_only:
        lacking = {name: package for name, package in lacking.items() if name in GUEST_PROGRAMS}
    if lacking:
        raise RunError(f"the kernel engine needs {', '.join(sorted(lacking))}; install with: {remedy(lacking)}")


def source_path() -> Path | None:
    """Return the archive to build from: ``KERNEL_SOURCE``, or Debian's.

    Raises
    ------
    InputError
        ``KERNEL_SOURCE`` names no file.
    """
    named = os.environ.get("KERNEL_SOURCE")
    if named:
        path = Path(named).expanduser().resolve()
        if not path.is_file():
            raise InputError.of("KERNEL_SOURCE", named, "a tar archive of the Linux source, version 6.12")
        return path
    return SOURCE if SOURCE.is_file() else None


def source(cache: Path) -> Source:
    """Return the archive with its digest, which is kept in the cache while size and time stay the same."""
    path = source_path()
    if path is None:
        raise RunError(f"there is no kernel source at {SOURCE}; install with: {remedy({'': SOURCE_PACKAGE})}")
    stat = path.stat()
    key = hashlib.sha256(f"{path} {stat.st_size} {stat.st_mtime_ns}".encode()).hexdigest()[:24]
    note = cache / f"source-{key}"
    if note.is_file():
        return Source(path, note.read_text())
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    cache.mkdir(parents=True, exist_ok=True)
    part = note.with_suffix(f".{os.getpid()}")
    part.write_text(digest)
    part.replace(note)
    return Source(path, digest)


@functools.cache
def compiler() -> str:
    """Return the first line of ``gcc --version``."""
    try:
        answer = subprocess.run(["gcc", "--version"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        raise RunError(f"the kernel engine needs gcc; install with: {remedy({'gcc': 'gcc'})}") from None
    return answer.stdout.splitlines()[0]
