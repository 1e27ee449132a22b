# SPDX-License-Identifier: Apache-2.0
"""The virtual clocks of runs in progress. A guest writes its records at its end; before, only its clock is seen."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Sequence
from typing import Any

from rdcnlab.engines import get_engine
from rdcnlab.fields.errors import RdcnlabError
from rdcnlab.runs.store import Store, run_id
from rdcnlab.scenario import Scenario

#: Seconds between two looks at the clocks.
LOOK_S = 0.5
#: Most scenarios whose clocks a bar shows. Of more runs the count itself moves, and their ids take long to compute.
MOST = 64


class Clocks:
    """The virtual clocks of the runs of some scenarios on this machine.

    Parameters
    ----------
    scenarios : sequence of Scenario
        The scenarios that are run.
    store : Store
        Where their runs will be stored.
    """

    def __init__(self, scenarios: Sequence[Scenario], store: Store) -> None:
        self._work = store.root / ".work"
        self._scenarios = {run_id(one, get_engine(one).identity(one)): one for one in scenarios}

    def read(self) -> list[tuple[Scenario, int]]:
        """Return the scenario of each run in progress, and its virtual time in ns since the start of the scenario.

        A guest that still boots is at 0.
        """
        found = []
        for directory in self._work.glob("*/engine"):
            scenario = self._scenarios.get(directory.parent.name.partition(".")[0])
            now = None if scenario is None else get_engine(scenario).virtual_ns(directory)
            if scenario is not None and now is not None:
                found.append((scenario, now))
        return found


@contextlib.contextmanager
def shown(scenarios: Sequence[Scenario], store: Store, bar: Any) -> Iterator[None]:
    """Show the virtual time of the runs in progress in a progress bar, inside the block, unless there are many."""
    if len(scenarios) > MOST:
        yield
        return
    try:
        clocks = Clocks(scenarios, store)
    except RdcnlabError:  # the campaign itself will say so
        yield
        return
    ended = threading.Event()

    def follow() -> None:
        while not ended.wait(LOOK_S):
            words = describe(clocks.read())
            if words:
                bar.set_description_str(words)

    thread = threading.Thread(target=follow, name="rdcnlab clocks", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        bar.set_description_str("")


def describe(clocks: list[tuple[Scenario, int]]) -> str:
    """Return the virtual times of runs in progress in words; of many, the earliest and the latest.

    Examples
    --------
    >>> scenario = Scenario.from_dict({"network": "aykurt", "limit": "20 s", "flows": [
    ...     {"name": "main", "size": "1 GiB", "path": "green"}]})
    >>> describe([(scenario, 1_250_000_000), (scenario, 400_000_000)])
    'virtual time 0.40 to 1.25 s (ends by 20 s)'
    """
    if not clocks:
        return ""
    times = sorted({f"{ns / 1e9:.2f}" for _, ns in clocks}, key=float)
    span = times[0] if len(times) == 1 else f"{times[0]} to {times[-1]}"
    return f"virtual time {span} s (ends by {max(scenario.limit for scenario, _ in clocks) / 1e9:g} s)"
