# SPDX-License-Identifier: Apache-2.0
"""Leases of cores: on a machine, a core has one guest of a cluster at a time, and campaigns have different cores.

Several Dask workers on one machine know nothing of each other, and neither do campaigns. So a process takes a name in
the kernel's abstract name space of sockets, which holds for all users of the machine and needs no file. The kernel
gives the name back when the process ends, however it ends.
"""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import sys
import time
from collections.abc import Iterator, Sequence

#: Begin of the names of leases; the number of the core follows. Cores of local pools have names of their own, because a
#: pool shares a core if it must.
NAME, POOL = "rdcnlab-core-", "rdcnlab-pool-"
#: Seconds between two attempts while all cores are taken.
_RETRY_S = 0.2


@contextlib.contextmanager
def lease_core() -> Iterator[int]:
    """Wait for a free core among those that this process may use, pin this process to it, and yield its number."""
    affinity = sorted(os.sched_getaffinity(0))
    core, name = _first_free(affinity)
    with name:
        os.sched_setaffinity(0, {core})
        try:
            yield core
        finally:
            os.sched_setaffinity(0, affinity)


def _first_free(cores: list[int]) -> tuple[int, socket.socket]:
    announced = False
    while True:
        for core in cores:
            name = take(core)
            if name is not None:
                return core, name
        if not announced:
            words = ", ".join(map(str, cores))
            print(f"rdcnlab: all cores of this worker ({words}) have a guest; this run waits", file=sys.stderr)
            announced = True
        time.sleep(_RETRY_S)


@contextlib.contextmanager
def choose_cores(cores: Sequence[int], count: int) -> Iterator[list[int]]:
    """Choose cores for a local pool: first those that no other pool on this machine has chosen.

    Parameters
    ----------
    cores : sequence of int
        Cores that may be chosen.
    count : int
        Number of cores to choose. If too few are free, cores of other pools are shared, and then their own.
    """
    with contextlib.ExitStack() as names:
        free: list[int] = []
        for core in cores:
            name = take(core, POOL) if len(free) < count else None
            if name is not None:
                names.enter_context(name)
                free.append(core)
        others = [core for core in cores if core not in free]
        chosen = sorted([*free, *others[: count - len(free)]])
        yield [chosen[index % len(chosen)] for index in range(count)]


def take(core: int, begin: str = "") -> socket.socket | None:
    """Take the lease of a core and return it; None if another process has it. Closing it gives the lease back."""
    name = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        name.bind(f"\0{begin or NAME}{core}")
    except OSError as error:
        name.close()
        if error.errno != errno.EADDRINUSE:
            raise
        return None
    return name
