# SPDX-License-Identifier: Apache-2.0
"""File locks, which let one process at a time do something."""

from __future__ import annotations

import contextlib
import fcntl
from collections.abc import Callable, Iterator
from pathlib import Path


@contextlib.contextmanager
def locked(path: Path, waiting: Callable[[], None] = lambda: None) -> Iterator[int]:
    """Hold a file lock, and yield its descriptor; it is released when the process ends, for whatever reason.

    A child that inherits the descriptor holds the lock, too, until it ends.

    Parameters
    ----------
    path : Path
        File of the lock; it is created if missing, and is not removed.
    waiting : callable
        Called before the wait, if another process holds the lock.
    """
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            waiting()
            fcntl.flock(file, fcntl.LOCK_EX)
        yield file.fileno()
