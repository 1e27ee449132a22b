# SPDX-License-Identifier: Apache-2.0
"""Processes that execute notebooks. They end at once when they are interrupted, or when their parent has ended.

They are forks of a server process that has loaded libraries once: to load pandas takes a core two seconds. The server
itself starts from nothing, so it has no threads or locks of this process.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context, parent_process, set_forkserver_preload

#: Seconds that a notebook has to end its kernel. A kernel whose process was killed ends by itself.
_PATIENCE_S = 5.0


@contextlib.contextmanager
def executor(count: int, libraries: Sequence[str] = ()) -> Iterator[ProcessPoolExecutor]:
    """Yield a pool of processes. After an exception they are ended, otherwise all tasks are finished.

    Parameters
    ----------
    count : int
        Number of processes.
    libraries : sequence of str
        Modules that are loaded once for all processes. Only the first pool of this process loads them.
    """
    set_forkserver_preload([*libraries])
    # the server keeps the environment in which it was started
    pool = ProcessPoolExecutor(count, get_context("forkserver"), initializer=_begin, initargs=(dict(os.environ),))
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


def _begin(environment: Mapping[str, str]) -> None:
    """Take the parent's environment; ignore Ctrl-C, which the parent handles; end when the parent has ended."""
    os.environ.clear()
    os.environ.update(environment)
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
