# SPDX-License-Identifier: Apache-2.0
"""The local pool: one process for each core of this machine, and each runs one scenario at a time."""

from __future__ import annotations

import os
import selectors
from collections.abc import Iterator, Sequence

from rdcnlab.runs.pools import Done, Stopped
from rdcnlab.runs.pools.lease import choose_cores
from rdcnlab.runs.pools.process import Process, stop_all
from rdcnlab.runs.store import Store
from rdcnlab.scenario import Scenario


class LocalPool:
    """Workers on this machine.

    Parameters
    ----------
    cores : sequence of int
        Cores that may be used. Each worker is pinned to one, as far as possible to one that no other pool has.
    store : Store
        Where results are stored.
    wall_limit_s : float
        Wall-clock limit of one run in seconds.
    workers : int, optional
        Number of workers; by default there are as many as cores.
    """

    def __init__(self, cores: Sequence[int], store: Store, *, wall_limit_s: float, workers: int | None = None) -> None:
        self.cores, self.store, self.wall_limit_s = tuple(cores), store, wall_limit_s
        self.workers = len(self.cores) if workers is None else workers
        self._stop = os.eventfd(0, os.EFD_CLOEXEC)

    def __del__(self) -> None:
        os.close(self._stop)

    def stop(self) -> None:
        """End the runs; any thread may call this, also before they begin. `run` then raises `Stopped`."""
        os.eventfd_write(self._stop, 1)

    def run(self, scenarios: Sequence[Scenario]) -> Iterator[Done]:
        """Run scenarios, each on the next free worker.

        Raises
        ------
        Stopped
            `stop` was called. Runs in progress were ended; finished runs are stored.
        """
        with choose_cores(self.cores, min(self.workers, len(scenarios))) as cores:
            yield from self._run_on(cores, scenarios)

    def _run_on(self, cores: Sequence[int], scenarios: Sequence[Scenario]) -> Iterator[Done]:
        pending = list(enumerate(scenarios))[::-1]
        busy: dict[Process, int] = {}
        idle = [Process(self.store.root, core) for core in cores]
        with selectors.DefaultSelector() as selector:
            selector.register(self._stop, selectors.EVENT_READ)
            for worker in idle:
                selector.register(worker.answers, selectors.EVENT_READ, worker)
            try:
                while pending or busy:
                    while pending and idle:
                        worker = idle.pop()
                        index, scenario = pending.pop()
                        busy[worker] = index
                        worker.give({"scenario": scenario.to_dict(), "wall_limit_s": self.wall_limit_s})
                    ready = [key.data for key, _ in selector.select()]
                    if None in ready:
                        raise Stopped
                    for worker in ready:
                        index = busy.pop(worker)
                        answer = worker.answer()
                        if worker.ended:
                            selector.unregister(worker.answers)
                            worker.stop()
                            worker = Process(self.store.root, worker.core)
                            selector.register(worker.answers, selectors.EVENT_READ, worker)
                        idle.append(worker)
                        yield Done(index, answer.error)
            finally:
                stop_all([*idle, *busy])
