# SPDX-License-Identifier: Apache-2.0
"""Run stored scenarios again, and compare the tables bit by bit."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rdcnlab.runs.campaign import CampaignError, campaign
from rdcnlab.runs.run import Run
from rdcnlab.runs.shipped import Shipped
from rdcnlab.runs.store import Store
from rdcnlab.scenario import Scenario


def sample(store: Store, count: int, seed: int) -> list[Run]:
    """Choose stored runs: shipped ones first, then local ones.

    Parameters
    ----------
    store : Store
        The store to choose from.
    count : int
        Number of runs, at most.
    seed : int
        Seed of the random choice.
    """
    rng = random.Random(seed)
    shipped = sorted(store.shipped, key=lambda row: row.hash)
    rows = rng.sample(shipped, min(count, len(shipped)))
    # by the row, not by the scenario: a default that changed since must not hide a run
    runs = [Run(row.id, Scenario.from_dict(row.data), row.provenance, row.digests, row) for row in rows]
    local = list(store) if len(runs) < count else []
    return runs + rng.sample(local, min(count - len(runs), len(local)))


def verify(
    runs: Sequence[Run], *, workers: int | None = None, cluster: Any = None, progress: bool = True
) -> list[dict[str, Any]]:
    """Run each scenario again, on this machine or a cluster, in a temporary store, and compare every table.

    Returns
    -------
    list of dict
        One row for each run: ``run``, ``seed``, ``source`` (shipped or local), ``same`` and ``note``. The note names
        the tables that differ, or says why there is nothing to compare.
    """
    with tempfile.TemporaryDirectory(prefix="rdcnlab-verify-") as directory:
        fresh = Store(Path(directory) / "runs", shipped=Shipped(Path(directory) / "none"))
        failures: dict[str, str] = {}
        try:
            scenarios = [run.scenario for run in runs]
            rerun = campaign(scenarios, workers=workers, cluster=cluster, store=fresh, progress=progress, hints=False)
        except CampaignError as error:
            rerun = error.runs
            failures = {failure.scenario.hash: failure.error.reason for failure in error.failures}
        rerun_by_hash = {run.scenario.hash: run for run in rerun}
    return [_compare(run, rerun_by_hash.get(run.scenario.hash), failures.get(run.scenario.hash)) for run in runs]


def _compare(run: Run, rerun: Run | None, failure: str | None) -> dict[str, Any]:
    notes = []
    differing: list[str] = []
    if rerun is None:
        notes.append(f"could not be run: {failure}")
    else:
        # a run that was stored before there were ledgers has none
        names = sorted(run.digests.keys() | (rerun.digests.keys() - {"ledger"}))
        differing = [name for name in names if run.digests.get(name) != rerun.digests.get(name)]
        if differing:
            notes.append(f"differs in {', '.join(differing)}")
        if run.provenance.get("identity") != rerun.provenance.get("identity"):
            notes.append("by another build of the engine")
    return {
        "run": run.id[:12],
        "seed": run.scenario.seed,
        "source": "shipped" if run.shipped else "local",
        "same": rerun is not None and not differing,
        "note": "; ".join(notes),
    }
