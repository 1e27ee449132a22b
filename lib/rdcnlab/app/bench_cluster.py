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
from rdcnlab.app.bench_rounds import Row, Say, missing, take
from rdcnlab.engines.kernel import cores
from rdcnlab.runs.campaign import campaign
from rdcnlab.runs.frame import Runs
from rdcnlab.runs.shipped import Shipped
from rdcnlab.runs.store import Store
from rdcnlab.scenario import Scenario
from rdcnlab.system import extras

#: Runs of a campaign on one and on two workers. Several, so that the start of the pool is a small part.
_RUNS = 6
#: Payload of each flow of such a run: traffic takes about as long as set-up.
_SIZE = "512 MiB"
#: Plain arithmetic, about half a second: what two cores of this machine can give at all.
_LOOP = "n = 0\nfor k in range(10_000_000): n += k"


def scaling(say: Say) -> Iterator[Row]:
    """Yield the speed-up by a second worker of the local pool, and by a second core for plain arithmetic."""
    if len(cores()) < 2:
        yield missing("two cores over one, plain arithmetic: what this machine gives", "there is only one core")
        yield missing("two workers over one", "there is only one core")
        return
    scenarios = [two_flows(_SIZE).with_(seed=seed) for seed in range(_RUNS)]
    measured: dict[str, Callable[[], float]] = {
        "arithmetic on one core": partial(_arithmetic, cores()[:1]),
        "arithmetic on two cores": partial(_arithmetic, cores()[:2]),
        "one worker": lambda: seconds(scenarios, workers=1)[0],
        "two workers": lambda: seconds(scenarios, workers=2)[0],
    }
    rounds = take(measured, say=say, what="two workers")
    yield rounds.row(
        "two cores over one, plain arithmetic: what this machine gives",
        lambda t: 2 * t["arithmetic on one core"] / t["arithmetic on two cores"],
        "",
        ratio=True,
    )
    yield rounds.row("two workers over one", lambda t: t["one worker"] / t["two workers"], "", at_least=1.7, ratio=True)


def pools(say: Say) -> Iterator[Row]:
    """Yield the time that pools take to start, and the speed-up by a second worker of a cluster."""
    empty, installed = two_flows("1 B"), extras.is_installed("cluster")
    measured: dict[str, Callable[[], float]] = {"local": partial(start, empty, cluster=False)}
    if installed:
        measured["cluster"] = partial(start, empty, cluster=True)
    rounds = take(measured, say=say, what="start of a pool")
    yield rounds.row("a run in the local pool, without its guest's time", lambda t: t["local"], "s", at_most=2.0)
    if not installed:
        yield missing("a run in a new local cluster of Dask, without its guest's time", "Dask is not installed", "s")
        yield missing("two workers of a cluster over one", "Dask is not installed")
        return
    yield rounds.row("a run in a new local cluster of Dask, without its guest's time", lambda t: t["cluster"], "s")
    if len(cores()) < 2:
        yield missing("two workers of a cluster over one", "there is only one core")
        return
    # the first run of each worker does not count, so it has no traffic
    full = [two_flows(_SIZE).with_(seed=seed) for seed in range(_RUNS - 2)]
    asked = {count: [empty.with_(seed=seed) for seed in range(count)] + full for count in (1, 2)}
    works = {"one worker": partial(work, asked[1], 1), "two workers": partial(work, asked[2], 2)}
    rounds = take(works, say=say, what="two workers of a cluster")
    yield rounds.row(
        "two workers of a cluster over one",
        lambda t: t["one worker"] / t["two workers"],
        "",
        at_least=1.7,
        ratio=True,
    )


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
        runs = campaign(scenarios, store=store, progress=False, **options)
        return time.monotonic() - start_s, runs


def start(scenario: Scenario, *, cluster: bool) -> float:
    """Return the time in s of one run in the local pool, or in a new local cluster, without its guest's time."""
    start_s = time.monotonic()
    if cluster:
        with start_cluster(1) as dask_cluster:
            ready = time.monotonic() - start_s
            campaign_s, runs = seconds([scenario], cluster=dask_cluster)
    else:
        ready = time.monotonic() - start_s
        campaign_s, runs = seconds([scenario], workers=1)
    return ready + campaign_s - float(runs[0].provenance["wall_s"])


def work(scenarios: list[Scenario], workers: int) -> float:
    """Return the time in s of runs on a cluster whose workers have already made one run each; these do not count."""
    with start_cluster(workers) as dask_cluster:
        seconds(scenarios[:workers], cluster=dask_cluster)
        return seconds(scenarios[workers:], cluster=dask_cluster)[0]


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
