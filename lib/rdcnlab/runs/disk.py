# SPDX-License-Identifier: Apache-2.0
"""What can be wrong with the disk that runs are on: no room, no right to write, tables that are damaged."""

from __future__ import annotations

import contextlib
import errno
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from rdcnlab.fields.errors import RunError
from rdcnlab.fields.units import SIZE

__all__ = ["damaged_table", "no_room", "writing"]

#: A file system with less room counts as full: a guest needs more for its tables.
FULL_BYTES = 1_000_000
#: Both ends of a file of parquet.
_MARK = b"PAR1"
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
def writing(directory: Path) -> Iterator[None]:
    """Turn errors of the file system while a directory is written to into sentences.

    Raises
    ------
    RunError
        There is no room, or no right to write there. The message has the path and the cure.
    """
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            reason = no_room(directory) or f"there is no room in {directory}. Make room there, {_ELSEWHERE}"
        elif error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
            read_only = error.errno == errno.EROFS
            why = "its file system is read-only" if read_only else "this user has no right to write there"
            reason = f"nothing can be written to {directory}: {why}. Give the right, {_ELSEWHERE}"
        else:
            raise
        raise RunError(reason) from None


def damaged_table(directory: Path, names: Iterable[str]) -> Path | None:
    """Return the first table of a run that is missing or not complete; None if there is no such table.

    A table that was not written to its end lacks the mark there. The content is not read.
    """
    for name in names:
        path = directory / f"{name}.parquet"
        try:
            with path.open("rb") as file:
                begins = file.read(len(_MARK)) == _MARK
                ends = (
                    begins and file.seek(0, 2) > 3 * len(_MARK) and file.seek(-len(_MARK), 2) and file.read() == _MARK
                )
        except OSError:
            return path
        if not ends:
            return path
    return None
