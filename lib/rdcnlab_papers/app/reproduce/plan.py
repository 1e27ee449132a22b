# SPDX-License-Identifier: Apache-2.0
"""The work that remains for each item: its missing runs, and an estimate of their cost."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from rdcnlab.fields.units import NS_PER_S
from rdcnlab.runs.campaign import lookup
from rdcnlab.runs.store import Store
from rdcnlab.scenario import Scenario
from rdcnlab.scenario.flow import TCP_HEADERS
from rdcnlab_papers.app.notebooks import of_item
from rdcnlab_papers.items.item import Item

#: Time of a core in s: for a run without traffic, for each host, and for a data packet.
_START_S, _HOST_S = 0.6, 0.05
_PACKET_S = {"kernel": 12e-6, "bmv2": 150e-6, "ns3": 40e-6, "quic": 500e-6}


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
    def hashes(self) -> list[str]:
        """The hashes of the missing runs' scenarios."""
        return [scenario.hash for batch in self.batches for scenario in batch.missing]

    @property
    def work(self) -> float:
        """Estimated work of the missing runs; see `work`."""
        return sum(work(scenario) for batch in self.batches for scenario in batch.missing)

    def without(self, planned: Collection[str]) -> Job:
        """Return this job without the runs of some scenarios, which have these hashes."""
        batches = (
            replace(batch, missing=tuple(scenario for scenario in batch.missing if scenario.hash not in planned))
            for batch in self.batches
        )
        return replace(self, batches=tuple(batches))


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
    left = [_job(kind, parameters, store) for kind in kinds]
    cost = {scenario.hash: work(scenario) for job in left for batch in job.batches for scenario in batch.missing}
    ordered: list[Job] = []
    while left:
        # a run of the job before may be missing in others, too
        planned = set(ordered[-1].hashes) if ordered else set()
        left = [job.without(planned) for job in left]
        first = min(left, key=lambda job: sum(map(cost.__getitem__, job.hashes)))
        ordered.append(first)
        left.remove(first)
    return ordered


def work(scenario: Scenario) -> float:
    """Estimate the work of a run in seconds of a core: its set-up, and the packets that it can send until its limit.

    The estimate orders jobs and divides the time that is left; no result depends on it. Of 250 shipped
    runs 77 % took between a half and twice as long.
    """
    packets = _most_sent(scenario) / (scenario.network.mtu - TCP_HEADERS)
    return _START_S + _HOST_S * len(scenario.network.hosts) + _packet_s(scenario) * packets


def _most_sent(scenario: Scenario) -> float:
    """Return how many bytes hosts can send until the limit, and links carry away from the switches of these hosts."""
    seconds = scenario.limit / NS_PER_S
    size_by_host: Counter[str] = Counter()
    for flow in scenario.flows:
        size_by_host[flow.src] += flow.size
    hosts = {host.name: host for host in scenario.network.hosts}
    sent_by_switch: defaultdict[str | None, float] = defaultdict(float)
    for name, size in size_by_host.items():
        sent_by_switch[hosts[name].at] += min(size, hosts[name].rate / 8 * seconds)
    return sum(min(sent, _away(scenario, switch) / 8 * seconds) for switch, sent in sent_by_switch.items())


def _away(scenario: Scenario, switch: str | None) -> float:
    """Return the rate in bit/s of all links that leave a switch; of all links if they are inside the only one."""
    links = scenario.network.links
    away = [link.rate for link in links if link.between is None or switch in link.between]
    return sum(away) if away else math.inf


def _packet_s(scenario: Scenario) -> float:
    if scenario.engine.kind == "ns3":
        return _PACKET_S["ns3"]
    if any(flow.protocol == "quic" for flow in scenario.flows):
        return _PACKET_S["quic"]
    return _PACKET_S["bmv2" if scenario.switch.kind == "bmv2" else "kernel"]


def _job(kind: type[Item], parameters: Mapping[str, Any], store: Store) -> Job:
    item = kind(**of_item(kind, parameters))
    batches: list[Batch] = []
    known: set[str] = set()
    # as `Item.explain` does: the quick profile runs no experiments
    experiments = item.causes() if item.profile == "paper" else []
    for shown_by in (*item.learns_from(), item, *(cause.shown_by for cause in experiments)):
        missing = tuple(scenario for scenario in _missing(shown_by, store) if scenario.hash not in known)
        known |= {scenario.hash for scenario in missing}
        batches.append(Batch(shown_by, missing))
    return Job(kind, item, tuple(batches))


def _missing(item: Item, store: Store) -> tuple[Scenario, ...]:
    scenarios = list(dict.fromkeys(item.scenarios()))
    runs = lookup(scenarios, store, item.parts_of)
    return tuple(scenario for scenario, run in zip(scenarios, runs, strict=True) if run is None)
