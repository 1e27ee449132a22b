# SPDX-License-Identifier: Apache-2.0
"""What can be wrong with the disk that runs are on: no room, no right to write, no directory."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from rdcnlab.fields.errors import RunError
from rdcnlab.fields.units import SIZE

__all__ = ["error_of", "no_room", "writing"]

#: A file system with less room counts as full: a guest needs more for its tables.
FULL_BYTES = 1_000_000
_OF_DISKS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO, errno.ESTALE})
_ELSEWHERE = "or set RDCNLAB_STORE to another directory"


def no_room(directory: Path) -> str | None:
    """Return a sentence that says that a directory's file system is full, with its cure; None if it is not.

    Parameters
    ----------
    directory : Path
        A directory, which need not exist yet.
    """
    existing = next(path for path in (directory, *directory.parents) if path.is_dir())
    usage = shutil.disk_usage(existing)
    if usage.free >= FULL_BYTES:
        return None
    free, total = SIZE.format(usage.free), SIZE.format(usage.total)
    return f"there is no room in {directory}: {free} of {total} are free. Make room there, {_ELSEWHERE}"


@contextlib.contextmanager
def writing(directory: Path, *, only_there: bool = False) -> Iterator[None]:
    """Turn errors of the file system while a directory is written to into sentences.

    Parameters
    ----------
    directory : Path
        The directory.
    only_there : bool
        Whether nothing else happens in the block. Otherwise only errors are turned that come from the disk.

    Raises
    ------
    RunError
        It cannot be written to. The message has the path, the cause and the cure.
    """
    try:
        yield
    except OSError as error:
        if only_there or error.errno in _OF_DISKS:
            raise error_of(error, directory) from error
        raise


def error_of(error: OSError, directory: Path) -> RunError:
    """Return the sentence for an error of the file system in a directory, with its cure."""
    if error.errno == errno.EDQUOT:
        return RunError(f"there is no room in {directory}: this user's quota is used up. Make room there, {_ELSEWHERE}")
    if error.errno == errno.ENOSPC:
        return RunError(no_room(directory) or f"there is no room in {directory}. Make room there, {_ELSEWHERE}")
    if error.errno == errno.EROFS:
        why, cure = "its file system is read-only", "Give the right"
    elif error.errno in (errno.EACCES, errno.EPERM):
        why, cure = "this user has no right to write there", "Give the right"
    elif error.errno in (errno.ENOTDIR, errno.EEXIST):
        why, cure = "it is no directory, or a part of its path is none", "Remove that file"
    elif error.errno == errno.ELOOP:
        why, cure = "a link in its path leads to itself", "Remove that link"
    else:
        why = os.strerror(error.errno) if error.errno else str(error)
        cure = "Try again later"
    return RunError(f"nothing can be written to {directory}: {why}. {cure}, {_ELSEWHERE}")
