# SPDX-License-Identifier: Apache-2.0
"""Measure pools, of this machine and of a cluster: the time that their start takes, and what a second worker gives."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rdcnlab.app.bench_packets import two_flows
from rdcnlab.app.bench_rounds import Row, Say, missing, row, take, without
from rdcnlab.engines.kernel import cores
from rdcnlab.runs.campaign import campaign
from rdcnlab.runs.frame import Runs
from rdcnlab.runs.shipped import Shipped
from rdcnlab.runs.store import Store
from rdcnlab.scenario import Scenario
from rdcnlab.system import extras

#: Runs of a campaign on one and on two workers.
_RUNS = 4
#: Payload of each flow of such a run: traffic takes about as long as set-up.
_SIZE = "512 MiB"
#: Plain arithmetic, about half a second: what two cores of this machine can give at all.
_LOOP = "n = 0\nfor k in range(10_000_000): n += k"
#: Rows of both pools.
_START = "a run in the local pool, without its guest's time"
_CLUSTER_START = "a run in a new local cluster of Dask, without its guest's time"
_ARITHMETIC = "two cores over one, plain arithmetic: what this machine gives"
_SPEEDUP = "two workers over one, without the start of the pool"
_CLUSTER_SPEEDUP = "two workers of a cluster over one, without its start"


def local(say: Say) -> Iterator[Row]:
    """Yield the start of the local pool, its speed-up by a second worker, and that of plain arithmetic.

    The start counts as that of both sides of the speed-up, because few runs are made here. In a long campaign it does
    not matter.
    """
    empty, full = two_flows("1 B"), _full()
    measured: dict[str, Callable[[], float]] = {"start": partial(start, empty)}
    if len(cores()) > 1:
        measured |= {
            "arithmetic on one core": partial(_arithmetic, cores()[:1]),
            "arithmetic on two cores": partial(_arithmetic, cores()[:2]),
            "one worker": lambda: seconds(full, workers=1)[0],
            "two workers": lambda: seconds(full, workers=2)[0],
        }
    rounds = take(measured, say=say, what="local pool")
    yield rounds.row(_START, lambda t: t["start"], "s", at_most=2.0)
    if len(cores()) < 2:
        yield missing(_ARITHMETIC, "there is only one core")
        yield missing(_SPEEDUP, "there is only one core")
        return
    yield rounds.row(
        _ARITHMETIC, lambda t: 2 * t["arithmetic on one core"] / t["arithmetic on two cores"], "", ratio=True
    )
    yield rounds.row(
        _SPEEDUP,
        lambda t: without(t["one worker"], t["start"]) / without(t["two workers"], t["start"]),
        "",
        at_least=1.7,
        ratio=True,
    )


def cluster(say: Say) -> Iterator[Row]:
    """Yield the start of a cluster of Dask on this machine, and its speed-up by a second worker."""
    if not extras.is_installed("cluster"):
        yield missing(_CLUSTER_START, "Dask is not installed", "s")
        yield missing(_CLUSTER_SPEEDUP, "Dask is not installed")
        return
    empty, starts = two_flows("1 B"), []

    def worked(workers: int) -> float:
        # the first run of each worker does not count, so it has no traffic
        first = [empty.with_(seed=seed) for seed in range(workers)]
        start_s, work_s = work(first + _full(), workers)
        if workers == 1:
            starts.append(start_s)
        return work_s

    measured = {"one worker": partial(worked, 1)}
    if len(cores()) > 1:
        measured["two workers"] = partial(worked, 2)
    rounds = take(measured, say=say, what="cluster")
    yield row(_CLUSTER_START, starts, "s", other=max(rounds.others))
    if len(cores()) < 2:
        yield missing(_CLUSTER_SPEEDUP, "there is only one core")
        return
    yield rounds.row(_CLUSTER_SPEEDUP, lambda t: t["one worker"] / t["two workers"], "", at_least=1.7, ratio=True)


def _full() -> list[Scenario]:
    return [two_flows(_SIZE).with_(seed=seed) for seed in range(_RUNS)]


@contextlib.contextmanager
def start_cluster(workers: int) -> Iterator[Any]:
    """Yield a Dask cluster of worker processes on this machine, each with one thread."""
    from distributed import LocalCluster

    with LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as cluster:
        yield cluster


def seconds(scenarios: list[Scenario], **options: Any) -> tuple[float, Runs]:
    """Return the time in s that a campaign with a new store takes, and its runs; options as for `campaign`."""
    with tempfile.TemporaryDirectory() as name:
        store = Store(Path(name) / "runs", shipped=Shipped(Path(name) / "none"))
        start_s = time.monotonic()
        runs = campaign(scenarios, store=store, progress=False, hints=False, **options)
        return time.monotonic() - start_s, runs


def start(scenario: Scenario) -> float:
    """Return the time in s of one run in the local pool, without its guest's time."""
    campaign_s, runs = seconds([scenario], workers=1)
    return campaign_s - _guest_s(runs)


def work(scenarios: list[Scenario], workers: int) -> tuple[float, float]:
    """Run scenarios on a new cluster.

    Returns
    -------
    float
        Time in s of the start: of the cluster and of the first run of each worker, without the time of the guests.
    float
        Time in s of the other runs.
    """
    start_s = time.monotonic()
    with start_cluster(workers) as dask_cluster:
        _, first = seconds(scenarios[:workers], cluster=dask_cluster)
        start_s = time.monotonic() - start_s - _guest_s(first)
        return start_s, seconds(scenarios[workers:], cluster=dask_cluster)[0]


def _guest_s(runs: Runs) -> float:
    """Return the time in s of the longest run's guest; the engine of tests has none."""
    return max(float(run.provenance.get("wall_s", 0.0)) for run in runs)


def _arithmetic(numbers: Sequence[int]) -> float:
    """Return the time in s of a loop on each of these cores at once. Two threads of one core give less than twice."""
    begun = time.monotonic()
    loops = [subprocess.Popen(["taskset", "-c", str(core), sys.executable, "-c", _LOOP]) for core in numbers]
    try:
        for loop in loops:
            loop.wait()
    finally:
        for loop in loops:
            loop.kill()
    return time.monotonic() - begun
