# SPDX-License-Identifier: Apache-2.0
"""Runs in progress: their virtual clocks, and what their flows have received. A guest writes all else at its end."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rdcnlab.engines import Arrived, Engine, get_engine
from rdcnlab.fields.errors import RdcnlabError
from rdcnlab.runs.live import curves, screen
from rdcnlab.runs.store import Store, run_id
from rdcnlab.scenario import Scenario

#: Seconds between two looks at the clocks.
LOOK_S = 0.5
#: Most scenarios whose clocks a bar shows. Of more runs the count itself moves, and their ids take long to compute.
MOST = 64
#: Most scenarios whose flows are shown. In a campaign of more, runs come and go too fast to be read.
FEW = 4


@dataclass(frozen=True)
class Seen:
    """A run in progress: its scenario, virtual time in ns since the scenario's start, and what its flows received."""

    scenario: Scenario
    virtual_ns: int
    arrived: Arrived | None = None


#: Returns the identity of the engine for a scenario; None if this machine lacks something that it depends on.
Identity = Callable[[Scenario], str | None]


class Clocks:
    """The virtual clocks of the runs of some scenarios on this machine.

    Parameters
    ----------
    scenarios : sequence of Scenario
        The scenarios that are run.
    store : Store
        Where their runs will be stored.
    identity : callable, optional
        Returns the identity of the engine for a scenario, if the caller knows it.
    """

    def __init__(self, scenarios: Sequence[Scenario], store: Store, identity: Identity | None = None) -> None:
        self._work = store.root / ".work"
        # kept, because what an engine compiles of its scenario takes time
        self._engines: dict[str, Engine] = {}
        for one in scenarios:
            engine = get_engine(one)
            known = engine.identity() if identity is None else identity(one)
            if known is not None:
                self._engines[run_id(one, known)] = engine

    def read(self, *, flows: bool = False) -> list[Seen]:
        """Return the runs in progress, in the order of the scenarios; with `flows` also what they have received.

        A guest that still boots is at 0.
        """
        seen: dict[str, Seen] = {}
        for directory in self._work.glob("*/engine"):
            identifier = directory.parent.name.partition(".")[0]
            engine = self._engines.get(identifier)
            if engine is None:
                continue
            now = engine.virtual_ns(directory)
            if now is not None:
                seen[identifier] = Seen(engine.scenario, now, engine.arrived(directory) if flows else None)
        return [seen[identifier] for identifier in self._engines if identifier in seen]


@contextlib.contextmanager
def shown(scenarios: Sequence[Scenario], store: Store, bar: Any, identity: Identity | None = None) -> Iterator[None]:
    """Show the virtual time of the runs in progress in a progress bar, inside the block, unless there are many.

    Of few scenarios, the rates of the flows are shown below the bar.
    """
    if len(scenarios) > MOST:
        yield
        return
    try:
        clocks = Clocks(scenarios, store, identity)
    except RdcnlabError:  # the campaign itself will say so
        yield
        return
    ended = threading.Event()
    few = len(scenarios) <= FEW

    def follow() -> None:
        with contextlib.closing(screen()) as below:
            while not ended.wait(LOOK_S):
                seen = clocks.read(flows=few)
                words = describe(seen)
                if words:
                    bar.set_description_str(words)
                if few:
                    of_many = len(scenarios) > 1
                    curves_of_runs = [curves(one.scenario, one.arrived, of_many=of_many) for one in seen]
                    below.show([curve for of_run in curves_of_runs for curve in of_run])

    thread = threading.Thread(target=follow, name="rdcnlab clocks", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        bar.set_description_str("")


def describe(seen: Sequence[Seen]) -> str:
    """Return the virtual times of runs in progress in words; of many, the earliest and the latest.

    Examples
    --------
    >>> scenario = Scenario.from_dict({"network": "aykurt", "limit": "20 s", "flows": [
    ...     {"name": "main", "size": "1 GiB", "path": "green"}]})
    >>> describe([Seen(scenario, 1_250_000_000), Seen(scenario, 400_000_000)])
    'virtual time 0.40 to 1.25 s (ends by 20 s)'
    """
    if not seen:
        return ""
    times = sorted({f"{one.virtual_ns / 1e9:.2f}" for one in seen}, key=float)
    span = times[0] if len(times) == 1 else f"{times[0]} to {times[-1]}"
    return f"virtual time {span} s (ends by {max(one.scenario.limit for one in seen) / 1e9:g} s)"
