# SPDX-License-Identifier: Apache-2.0
"""Pools run many scenarios at once: on the cores of this machine, or on the machines of a Dask cluster.

Wherever it is, a scenario is run by a process of its own (`rdcnlab.runs.pools.serve`), pinned to a core. So a guest is
started, pinned, stopped and cleaned up in the same way by all pools.
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
    """Somebody stopped the runs of a pool on purpose."""


class Pool(Protocol):
    """The interface that runs many scenarios, in any order, and stores the results."""

    def run(self, scenarios: Sequence[Scenario]) -> Iterator[Done]:
        """Run all scenarios. Closing the iterator stops those that still run."""
        ...
