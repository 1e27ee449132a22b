# SPDX-License-Identifier: Apache-2.0
"""Many scenarios at once: on all cores, resumed where it stopped, with a progress bar."""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rdcnlab.engines import get_engine
from rdcnlab.fields.errors import InputError, RdcnlabError, RunError, shown
from rdcnlab.runs.frame import Runs
from rdcnlab.runs.parts import Part
from rdcnlab.runs.pool import LocalPool, Pool
from rdcnlab.runs.store import Run, Store
from rdcnlab.scenario import Scenario
from rdcnlab.system.progress import bar as progress_bar

#: The parts of tables of a run that are wanted.
Needs = Callable[[Scenario], Mapping[str, Part]]
#: Wall-clock seconds after which one run is given up.
WALL_LIMIT_S = 1800.0


class HintWarning(UserWarning):
    """A run came to its end, but probably not as its author meant it."""


@dataclass(frozen=True)
class Failure:
    """A scenario that could not be run."""

    scenario: Scenario
    error: RunError


class CampaignError(RdcnlabError):
    """Some runs failed; the others are kept.

    Parameters
    ----------
    failures : sequence of Failure
        What failed and why.
    runs : Runs
        What did not.
    """

    def __init__(self, failures: Sequence[Failure], runs: Runs) -> None:
        self.failures, self.runs = tuple(failures), runs
        lines = [f"  {failure.scenario.hash[:12]} {label(failure.scenario)}: {failure.error}" for failure in failures]
        super().__init__("\n".join([f"{len(failures)} of {len(failures) + len(runs)} runs failed:", *lines]))


def campaign(
    scenarios: Iterable[Scenario],
    *,
    workers: int | None = None,
    store: Store | None = None,
    progress: bool = True,
    wall_limit_s: float = WALL_LIMIT_S,
    pool: Pool | None = None,
    needs: Needs | None = None,
) -> Runs:
    """Run what is not stored yet, and return all runs in the order of the scenarios.

    Parameters
    ----------
    scenarios : iterable of Scenario
        Equal ones are run once and returned once.
    workers : int, optional
        Number of worker processes; by default one on every core this process may use.
    store : Store, optional
        By default the user's.
    progress : bool
        Show a bar, in the terminal or the notebook.
    wall_limit_s : float
        Wall-clock limit of one run in seconds.
    pool : Pool, optional
        Other workers than the local ones.
    needs : callable, optional
        Tables that the run of a scenario has to have. Shipped results do not hold all; they serve where they do.

    Warns
    -----
    HintWarning
        A run came to its end, but no flow received anything through a P4 program of one's own.

    Raises
    ------
    CampaignError
        Some runs failed. It holds the runs that did not.
    RunError
        The engine cannot be prepared.
    KeyboardInterrupt
        Ctrl-C: running guests are stopped, finished runs are kept.
    """
    asked = list(dict.fromkeys(scenarios))
    store = Store() if store is None else store
    found = {scenario.hash: run for scenario, run in zip(asked, lookup(asked, store, needs), strict=True)}
    missing = [scenario for scenario in asked if found[scenario.hash] is None]
    failures: list[Failure] = []
    if missing:
        _prepare(missing, progress=progress)
        if pool is None:
            pool = LocalPool(_cores(workers), store, wall_limit_s=wall_limit_s)
        with (
            progress_bar(len(asked), "run", initial=len(asked) - len(missing), shown=progress) as bar,
            contextlib.closing(pool.run(missing)) as ended,  # type: ignore[type-var]
        ):
            for done in ended:
                scenario = missing[done.index]
                error = done.error
                if error is None:
                    found[scenario.hash] = lookup([scenario], store)[0]
                    if found[scenario.hash] is None:
                        error = RunError("the engine was changed while the campaign ran")
                if error is not None:
                    failures.append(Failure(scenario, error))
                    bar.set_postfix(failed=len(failures))
                bar.update()
    runs = Runs([run for run in found.values() if run is not None])
    for run in runs:
        if "hint" in run.provenance:
            warnings.warn(f"{label(run.scenario)}: {run.provenance['hint']}", HintWarning, stacklevel=2)
    if failures:
        raise CampaignError(failures, runs)
    return runs


def lookup(scenarios: Sequence[Scenario], store: Store, needs: Needs | None = None) -> list[Run | None]:
    """Return for each scenario the run by the engine of today, or the shipped one if it has the tables, or None."""
    runs = []
    for scenario in scenarios:
        # an identity is not for nothing; where there are no runs of one's own, it says nothing either
        run = store.find(scenario, None if store.empty else _identity(scenario))
        runs.append(run if run is None or needs is None or run.holds(needs(scenario)) else None)
    return runs


def _made_by(scenario: Scenario) -> Hashable:
    """Return all of a scenario that what makes its run, and so an engine's identity, can hang on."""
    programs = scenario.quic if any(flow.protocol == "quic" for flow in scenario.flows) else None
    return scenario.engine, scenario.switch, programs


def _identity(scenario: Scenario) -> str | None:
    try:
        return get_engine(scenario).identity(scenario)
    except RunError:
        # Without the means to run there may still be a shipped result.
        return None


def label(scenario: Scenario) -> str:
    """Describe a scenario in a few words."""
    flows = ", ".join(f"{flow.name} {flow.cc}" for flow in scenario.flows[:3])
    more = f" and {len(scenario.flows) - 3} more" if len(scenario.flows) > 3 else ""
    return f"({shown(flows)[1:-1]}{more}; seed {scenario.seed})"


def _prepare(scenarios: Sequence[Scenario], *, progress: bool) -> None:
    for scenario in {_made_by(scenario): scenario for scenario in scenarios}.values():
        with contextlib.ExitStack() as stack:
            bars: list[Any] = []

            def report(what: str, done: int, total: int, bars: list[Any] = bars, stack: Any = stack) -> None:
                if not bars:  # most of the time there is nothing to prepare, and no bar to show
                    bars.append(stack.enter_context(progress_bar(total, "step", shown=progress)))
                bars[0].set_description(what, refresh=False)
                bars[0].update(done - bars[0].n)

            get_engine(scenario).prepare(scenario, report)


def _cores(workers: int | None) -> list[int]:
    available = sorted(os.sched_getaffinity(0))
    count = len(available) if workers is None else workers
    if count < 1:
        raise InputError.of("workers", count, "a whole number of at least 1")
    return [available[index % len(available)] for index in range(count)]
