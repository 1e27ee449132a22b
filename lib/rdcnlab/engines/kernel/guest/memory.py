# SPDX-License-Identifier: Apache-2.0
"""The guest's memory: a sparse file in a directory of the host with enough space and without ``noexec``."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from rdcnlab.fields.errors import InputError, RunError

MIB = 2**20
#: Bytes for the kernel, Mininet and sockets, and for the overhead of a sparse file.
BASE = 512 * MIB
#: Smallest and largest memory of a guest in bytes.
SMALLEST, LARGEST = 256 * MIB, 64 * 1024 * MIB


def size(more_kB: int) -> int:  # noqa: N803  (unit)
    """Return the memory that a run needs in bytes: a base, and what its plan asks for in addition.

    ``RDCNLAB_GUEST_MEMORY`` (MiB) overrides it; results do not depend on it.

    Raises
    ------
    InputError
        The variable is not a number in the allowed range.
    """
    named = os.environ.get("RDCNLAB_GUEST_MEMORY")
    if named is None:
        return (BASE + more_kB * 1000 * 9 // 8 + MIB - 1) // MIB * MIB
    if not named.isascii() or not named.isdigit() or not SMALLEST <= int(named) * MIB <= LARGEST:
        allowed = f"MiB between {SMALLEST // MIB} and {LARGEST // MIB}"
        raise InputError.of("RDCNLAB_GUEST_MEMORY", named, allowed)
    return int(named) * MIB


def directory(need: int) -> Path:
    """Return a directory for the memory file.

    Parameters
    ----------
    need : int
        Number of bytes that the guest may use.

    Raises
    ------
    RunError
        No directory is suitable. The message gives the reason for each.
    """
    named = [os.environ.get("RDCNLAB_MEMORY_DIR")]
    candidates = named if named[0] else ["/dev/shm", os.environ.get("TMPDIR"), "/tmp", "/var/tmp"]
    reasons = []
    for name in candidates:
        if not name:
            continue
        path = Path(name).resolve()
        reason = _unfit(path, need)
        if reason is None:
            return path
        reasons.append(f"{path} {reason}")
    raise RunError(
        f"there is no place for {need // MIB} MiB of guest memory: {'; '.join(reasons)}. "
        "Name a directory with room in RDCNLAB_MEMORY_DIR"
    )


@contextlib.contextmanager
def private(need: int) -> Iterator[Path]:
    """Yield an empty directory for a guest's memory file, which no other run may use, and remove it afterwards.

    The launcher removes it before the guest starts, where the file system can make a file without a name.

    Raises
    ------
    RunError
        No directory is suitable. The message gives the reason for each.
    """
    place = Path(tempfile.mkdtemp(prefix="rdcnlab-memory-", dir=directory(need)))
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _unfit(path: Path, need: int) -> str | None:
    """Return why a directory cannot hold the memory file; None if it can."""
    if not path.is_dir():
        return "is no directory"
    if not os.access(path, os.W_OK | os.X_OK):
        return "is not writable"
    state = os.statvfs(path)
    if state.f_flag & os.ST_NOEXEC:
        return "is mounted noexec"
    free = state.f_bavail * state.f_frsize
    if free < need:
        return f"has only {free // MIB} MiB free"
    return None
