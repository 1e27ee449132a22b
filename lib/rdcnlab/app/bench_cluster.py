# SPDX-License-Identifier: Apache-2.0
"""Measure pools: the time that their start takes, and the time of runs on a cluster on this machine."""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rdcnlab.runs.campaign import campaign
from rdcnlab.runs.frame import Runs
from rdcnlab.runs.shipped import Shipped
from rdcnlab.runs.store import Store
from rdcnlab.scenario import Scenario


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
