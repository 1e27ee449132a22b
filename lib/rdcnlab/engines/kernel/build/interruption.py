# SPDX-License-Identifier: Apache-2.0
"""What an interrupted make may have left half-written.

Make compares times only: a file that was being written when make was killed looks as new as a complete one. Files that
were changed shortly before the end are removed, so that make writes them again; all others stay.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

#: Seconds before the last change in which files may be incomplete if make was killed: compilers write at their end.
KILLED_S = 10.0
#: The same if the machine was switched off: Linux writes changes to disk after 30 s, and file systems take their time.
SWITCHED_OFF_S = 120.0
_BOOT = Path("/proc/sys/kernel/random/boot_id")


@contextlib.contextmanager
def marked(mark: Path, directory: Path, since: Path) -> Iterator[None]:
    """Mark a directory while files are written to it; if the mark exists before, remove files that may be incomplete.

    Parameters
    ----------
    mark : Path
        The mark, a file that names the boot of the machine. It stays if the block is left by an exception.
    directory : Path
        The directory that make writes to.
    since : Path
        A file; what is older than this file is complete.
    """
    if mark.is_file():
        killed = mark.read_text() == _boot()
        remove_last(directory, since, KILLED_S if killed else SWITCHED_OFF_S)
    with mark.open("w") as file:
        file.write(_boot())
        file.flush()
        os.fsync(file.fileno())
    yield
    os.sync()  # a power failure after this takes nothing of what was written
    mark.unlink()


def remove_last(directory: Path, since: Path, seconds: float) -> None:
    """Remove the files of a directory that were changed within some seconds before the last change.

    Parameters
    ----------
    directory, since : Path
        As in `marked`.
    seconds : float
        How long before the last change, in seconds.
    """
    files = [path for path in directory.rglob("*") if path.is_file() and not path.is_symlink()]
    changed_s = {path: path.stat().st_mtime for path in files}
    after_s = max(since.stat().st_mtime, max(changed_s.values(), default=0.0) - seconds)
    for path, when_s in changed_s.items():
        if when_s > after_s:
            path.unlink()


def _boot() -> str:
    """Return the number of the machine's boot; empty where the system does not tell it."""
    try:
        return _BOOT.read_text()
    except OSError:
        return ""
