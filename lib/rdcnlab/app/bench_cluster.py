# SPDX-License-Identifier: Apache-2.0
"""Measure pools: how long their start takes, and what two workers of a cluster on this machine are worth."""

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
def clustered(workers: int) -> Iterator[Any]:
    """Yield a Dask cluster of worker processes on this machine, each with one thread."""
    from distributed import LocalCluster

    with LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as cluster:
        yield cluster


def seconds(asked: list[Scenario], **how: Any) -> tuple[float, Runs]:
    """Return how long a campaign with a new store takes in s, and its runs; options as for `campaign`."""
    with tempfile.TemporaryDirectory() as name:
        store = Store(Path(name) / "runs", shipped=Shipped(Path(name) / "none"))
        begun = time.monotonic()
        runs = campaign(asked, store=store, progress=False, **how)
        return time.monotonic() - begun, runs


def start(scenario: Scenario, *, cluster: bool) -> float:
    """Return how long one run takes in s, without its guest's time: in the local pool, or in a new local cluster."""
    begun = time.monotonic()
    if cluster:
        with clustered(1) as made:
            ready = time.monotonic() - begun
            spent, runs = seconds([scenario], cluster=made)
    else:
        ready = time.monotonic() - begun
        spent, runs = seconds([scenario], workers=1)
    return ready + spent - float(runs[0].provenance["wall_s"])


def work(asked: list[Scenario], workers: int) -> float:
    """Return how long runs take in s on a cluster of some workers that has already made the first of them."""
    with clustered(workers) as made:
        seconds(asked[:workers], cluster=made)
        return seconds(asked[workers:], cluster=made)[0]
