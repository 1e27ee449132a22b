# SPDX-License-Identifier: Apache-2.0
"""Pools run many scenarios at once: on the cores of this machine, or on the machines of a Dask cluster.

On every machine, a separate process runs each scenario (`rdcnlab.runs.pools.serve`), pinned to a core. So all pools
start, pin, stop and clean up guests in the same way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from rdcnlab.fields.errors import RunError
from rdcnlab.scenario import Scenario


@dataclass(frozen=True)
class Done:
    """A task that ended: its index, and its error if it failed."""

    index: int
    error: RunError | None


class Stopped(Exception):
    """The runs of a pool were stopped on purpose."""


class Pool(Protocol):
    """The interface of pools: run many scenarios, in any order, and store the results."""

    def run(self, scenarios: Sequence[Scenario]) -> Iterator[Done]:
        """Run all scenarios. Closing the iterator stops those that still run."""
        ...
