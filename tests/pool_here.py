# SPDX-License-Identifier: Apache-2.0
"""A pool for tests of what is made from runs: it runs scenarios in this process, one after the other.

A worker process loads rdcnlab, pandas and the engine for tests anew, which takes a core 1.5 s for each campaign. Tests
of campaigns, pools and the explorer have worker processes.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence

from rdcnlab.fields.errors import RunError
from rdcnlab.runs.pools import Done
from rdcnlab.runs.pools.serve import run_one
from rdcnlab.runs.store import Store
from rdcnlab.scenario import Scenario


class PoolHere:
    """A pool with the arguments of `rdcnlab.runs.pools.local.LocalPool`."""

    def __init__(self, cores: Sequence[int], store: Store, *, wall_limit_s: float, workers: int | None = None) -> None:
        assert workers is None or workers > 0
        self.core, self.store, self.wall_limit_s = cores[0], store, wall_limit_s

    def run(self, scenarios: Sequence[Scenario]) -> Iterator[Done]:
        for index, scenario in enumerate(scenarios):
            error = None
            try:
                # as a worker gets it: in plain data
                copy = Scenario.from_dict(scenario.to_dict())
                with contextlib.redirect_stdout(sys.stderr):  # a worker's standard output has its answers
                    run_one(copy, self.store, core=self.core, wall_limit_s=self.wall_limit_s)
            except RunError as failure:
                error = failure
            yield Done(index, error)
