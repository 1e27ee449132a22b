# SPDX-License-Identifier: Apache-2.0
"""File locks, which let one process at a time do something."""

from __future__ import annotations

import contextlib
import fcntl
from collections.abc import Callable, Iterator
from pathlib import Path


@contextlib.contextmanager
def locked(path: Path, waiting: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Hold a file lock; it is released when the process ends, for whatever reason.

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
        yield
