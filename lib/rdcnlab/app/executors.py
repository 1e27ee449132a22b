# SPDX-License-Identifier: Apache-2.0
"""Processes that execute notebooks. They end at once when they are interrupted, or when their parent has ended."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context, parent_process

#: Seconds that a notebook has to end its kernel. A kernel whose process was killed ends by itself.
_PATIENCE_S = 5.0


@contextlib.contextmanager
def executor(count: int) -> Iterator[ProcessPoolExecutor]:
    """Yield a pool of processes. After an exception they are ended, otherwise all tasks are finished.

    Parameters
    ----------
    count : int
        Number of processes.
    """
    pool = ProcessPoolExecutor(count, get_context("spawn"), initializer=_begin)
    try:
        yield pool
    except BaseException:
        _stop(pool)
        raise
    pool.shutdown()


def _stop(pool: ProcessPoolExecutor) -> None:
    """End the processes of a pool. SIGTERM lets a notebook end its kernel, but then a process takes its next task."""
    processes = list((pool._processes or {}).values())
    pool.shutdown(wait=False, cancel_futures=True)
    for process in processes:
        process.terminate()
    end = time.monotonic() + _PATIENCE_S
    for process in processes:
        process.join(max(end - time.monotonic(), 0))
        if process.is_alive():
            process.kill()


def _begin() -> None:
    """Ignore Ctrl-C, which a terminal sends to all and the parent handles; end when the parent has ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End this process when its parent was killed: it would wait for tasks for ever, because it holds its own queue."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(_PATIENCE_S)
        os._exit(1)
