# SPDX-License-Identifier: Apache-2.0
"""The work that remains for each item: its missing runs, and an estimate of their cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from rdcnlab.app.notebooks import of_item
from rdcnlab.papers.item import Item
from rdcnlab.runs.campaign import lookup
from rdcnlab.runs.store import Store
from rdcnlab.scenario import Scenario


@dataclass(frozen=True)
class Batch:
    """Missing runs that need the same parts of tables: those of an item, or of a cause's experiment."""

    shown_by: Item
    missing: tuple[Scenario, ...]


@dataclass(frozen=True)
class Job:
    """An item and its missing runs.

    Parameters
    ----------
    kind : type of Item
        The item.
    item : Item
        The item with its parameters.
    batches : tuple of Batch
        Missing runs: first those that a model is trained on, then those of the figure and of its causes.
    """

    kind: type[Item]
    item: Item
    batches: tuple[Batch, ...]

    @property
    def name(self) -> str:
        """The item's name, such as ``aykurt/fig4``."""
        return f"{self.kind.paper}/{self.kind.id}"

    @property
    def missing(self) -> int:
        """Number of missing runs."""
        return sum(len(batch.missing) for batch in self.batches)

    @property
    def work(self) -> float:
        """Estimated work of the missing runs; see `work`."""
        return sum(work(scenario) for batch in self.batches for scenario in batch.missing)


def plan(kinds: Iterable[type[Item]], parameters: Mapping[str, Any], store: Store) -> list[Job]:
    """Return the jobs of items in order of cost: those without missing runs first, then those with the least work.

    A run that several items need is only in the first of their jobs. Nothing is run.

    Parameters
    ----------
    kinds : iterable of type of Item
        The items.
    parameters : dict
        Parameters of the notebooks.
    store : Store
        Where runs are looked up.
    """
    jobs = [_job(kind, parameters, store) for kind in kinds]
    planned: set[str] = set()
    ordered = []
    for job in sorted(jobs, key=lambda job: job.work):
        batches = []
        for batch in job.batches:
            unplanned = tuple(scenario for scenario in batch.missing if scenario.hash not in planned)
            planned |= {scenario.hash for scenario in unplanned}
            batches.append(Batch(batch.shown_by, unplanned))
        ordered.append(Job(job.kind, job.item, tuple(batches)))
    return ordered


def work(scenario: Scenario) -> float:
    """Estimate the work of a run: the bytes that its flows can send until its limit.

    A simulated packet costs about the same time in every scenario, so that runs with more bytes take longer. The
    estimate orders jobs and divides the time that is left; no result depends on it.
    """
    rates = {host.name: host.rate for host in scenario.network.hosts}
    seconds = scenario.limit / 1e9
    return float(sum(min(flow.size, rates[flow.src] / 8 * seconds) for flow in scenario.flows))


def _job(kind: type[Item], parameters: Mapping[str, Any], store: Store) -> Job:
    item = kind(**of_item(kind, parameters))
    items = [*item.learns_from(), item, *(cause.shown_by for cause in item.causes())]
    return Job(kind, item, tuple(Batch(shown_by, _missing(shown_by, store)) for shown_by in items))


def _missing(item: Item, store: Store) -> tuple[Scenario, ...]:
    scenarios = list(dict.fromkeys(item.scenarios()))
    runs = lookup(scenarios, store, item.parts_of)
    return tuple(scenario for scenario, run in zip(scenarios, runs, strict=True) if run is None)
