# SPDX-License-Identifier: Apache-2.0
"""Run many scenarios on all cores, with a progress bar. A campaign that was stopped resumes where it stopped."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rdcnlab import engines
from rdcnlab.engines import get_engine
from rdcnlab.fields.errors import HintWarning, InputError, RdcnlabError, RunError, shown
from rdcnlab.runs import clocks, views
from rdcnlab.runs.clocks import Identity
from rdcnlab.runs.frame import Runs
from rdcnlab.runs.parts import Part
from rdcnlab.runs.pools import Pool
from rdcnlab.runs.pools.local import LocalPool
from rdcnlab.runs.run import Run
from rdcnlab.runs.store import Store, run_id
from rdcnlab.scenario import Scenario
from rdcnlab.scenario.additions import additions
from rdcnlab.scenario.cautions import cautions
from rdcnlab.scenario.families import one_of_each
from rdcnlab.system import limits
from rdcnlab.system.progress import bar as progress_bar

#: A function that gives the parts of tables that the run of a scenario must have.
Needs = Callable[[Scenario], Mapping[str, Part]]


@dataclass(frozen=True)
class Failure:
    """A scenario that could not be run."""

    scenario: Scenario
    error: RunError


#: Sentences of runs that are printed, at most.
MOST_HINTS = 3


class CampaignError(RdcnlabError):
    """Some runs failed; the others are stored.

    Parameters
    ----------
    failures : sequence of Failure
        The scenarios that failed, and why.
    runs : Runs
        The runs that did not fail.
    """

    def __init__(self, failures: Sequence[Failure], runs: Runs) -> None:
        self.failures, self.runs = tuple(failures), runs
        lines = [f"  {_name(failure.scenario)} {label(failure.scenario)}: {failure.error}" for failure in failures]
        super().__init__("\n".join([f"{len(failures)} of {len(failures) + len(runs)} runs failed:", *lines]))


def campaign(
    scenarios: Iterable[Scenario] | Scenario,
    *,
    workers: int | None = None,
    store: Store | None = None,
    progress: bool = True,
    wall_limit_s: float | None = None,
    pool: Pool | None = None,
    cluster: Any = None,
    needs: Needs | None = None,
    done: Callable[[Scenario, RunError | None], None] | None = None,
    hints: bool = True,
) -> Runs:
    """Run the scenarios that have no stored run, and return all runs in the order of the scenarios.

    Parameters
    ----------
    scenarios : iterable of Scenario, or Scenario
        Equal scenarios are run once and returned once.
    workers : int, optional
        Number of worker processes; by default one on every core that this process may use.
    store : Store, optional
        Where runs are stored; by default the user's store.
    progress : bool
        Show a progress bar, in the terminal or the notebook.
    wall_limit_s : float, optional
        Seconds of wall clock after which a run is stopped and counts as failed; by default, the limit of its engine.
    pool : Pool, optional
        Workers to use instead of the local ones.
    cluster : str, Path, distributed.Client or distributed.deploy.Cluster, optional
        A Dask cluster whose workers run the scenarios instead of the local ones: the address of its scheduler, such as
        ``tcp://10.0.0.1:8786``, a scheduler file, ``slurm:N`` for N jobs of SLURM, or an object of Dask. Results are
        stored here, and are the same bytes.
    needs : callable, optional
        Gives the parts of tables that the run of a scenario must have. A shipped run may lack some of them; then the
        scenario is run here.
    done : callable, optional
        Called after each run that is made, with its scenario, and with the error if it failed.
    hints : bool
        Warn of what is legal in the scenarios and nearly always a mistake, see `rdcnlab.scenario.cautions`, and of what
        runs found, such as a buffer that limited a flow, or equal senders of which one lost all packets.

    Warns
    -----
    HintWarning
        A scenario is probably not what was intended, such as DCTCP where nothing marks packets; the message has the
        cure. Or a run finished, but no flow received anything through the user's own P4 program.

    Raises
    ------
    CampaignError
        Some runs failed. The error holds the runs that did not fail.
    InputError
        There is no such cluster, or none of its workers can be used.
    RunError
        The store cannot be written to, the engine cannot be prepared, or the cluster has gone.
    KeyboardInterrupt
        The user pressed Ctrl-C. Running guests are stopped; finished runs are kept.
    """
    # a scenario can be iterated over, too: over its fields
    distinct = list(dict.fromkeys([scenarios] if isinstance(scenarios, Scenario) else scenarios))
    if hints:
        for message in cautions_of(distinct):
            warnings.warn(message, HintWarning, stacklevel=2)
    store = Store() if store is None else store
    identity = _asked_once()
    stored = lookup(distinct, store, needs, identity)
    runs_by_hash = {scenario.hash: run for scenario, run in zip(distinct, stored, strict=True)}
    missing = [scenario for scenario in distinct if runs_by_hash[scenario.hash] is None]
    failures: list[Failure] = []
    if missing:
        with contextlib.ExitStack() as stack:
            if pool is None:
                limit_s = engines.wall_limit_s(missing) if wall_limit_s is None else wall_limit_s
                pool = stack.enter_context(_pool(cluster, workers, store, limit_s))
            store.check_writable()
            prepare(missing, progress=progress)
            bar = stack.enter_context(
                progress_bar(len(distinct), "run", initial=len(distinct) - len(missing), shown=progress)
            )
            if progress:
                stack.enter_context(clocks.shown(missing, store, bar, identity))
            ended = stack.enter_context(contextlib.closing(pool.run(missing)))  # type: ignore[type-var]
            for task in ended:
                scenario = missing[task.index]
                error = task.error
                if error is None:
                    runs_by_hash[scenario.hash] = lookup([scenario], store, needs, identity)[0]
                    if runs_by_hash[scenario.hash] is None:
                        error = RunError("the engine changed during the campaign; start it again")
                if error is not None:
                    failures.append(Failure(scenario, error))
                    bar.set_postfix(failed=len(failures))
                bar.update()
                if done is not None:
                    done(scenario, error)
    runs = Runs([run for run in runs_by_hash.values() if run is not None])
    if hints:
        for message in hints_of(runs):
            warnings.warn(message, HintWarning, stacklevel=2)
    if failures:
        raise CampaignError(failures, runs)
    return runs


def hints_of(runs: Iterable[Run]) -> list[str]:
    """Return what runs say of themselves that their user may want to change: some sentences, and how many more."""
    said = [f"{label(run.scenario)}: {words}" for run in runs for words in _said(run)]
    more = len(said) - MOST_HINTS
    if more > 0:
        said[MOST_HINTS:] = [f"{more} more {'runs say' if more > 1 else 'run says'} such a thing"]
    return said


def _said(run: Run) -> list[str]:
    """Return what the engine said of a run, and what its tables say."""
    engine = [str(run.provenance["hint"])] if "hint" in run.provenance else []
    return engine + views.current.hints(run)


def cautions_of(scenarios: Iterable[Scenario]) -> list[str]:
    """Return what is legal in scenarios and nearly always a mistake, each sentence once."""
    # scenarios that differ in the seed only share their family, and their cautions
    return list(dict.fromkeys(str(caution) for scenario in one_of_each(scenarios) for caution in cautions(scenario)))


def lookup(
    scenarios: Sequence[Scenario], store: Store, needs: Needs | None = None, identity: Identity | None = None
) -> list[Run | None]:
    """Return for each scenario the local run by the present engine, otherwise the shipped run, otherwise None.

    A run counts as missing if it lacks a part of a table that `needs` returns.
    """
    identity = identity or _identity
    runs = []
    local = store.hashes()
    for scenario in scenarios:
        # computing an identity takes time, and only a local run needs it
        run = store.find(scenario, identity(scenario) if scenario.hash in local else None)
        runs.append(run if run is None or needs is None or run.holds(needs(scenario)) else None)
    return runs


def _identity_settings(scenario: Scenario) -> Hashable:
    """Return the settings that the engine's identity depends on."""
    programs = scenario.quic if any(flow.protocol == "quic" for flow in scenario.flows) else None
    return scenario.engine, scenario.switch, programs, scenario.programs, additions(scenario)


def _asked_once() -> Identity:
    """Return `_identity` that compiles the network of each scenario once, which takes seconds with 30 000 flows."""
    known: dict[str, str | None] = {}

    def identity(scenario: Scenario) -> str | None:
        if scenario.hash not in known:
            known[scenario.hash] = _identity(scenario)
        return known[scenario.hash]

    return identity


def _identity(scenario: Scenario) -> str | None:
    try:
        return get_engine(scenario).identity()
    except RunError:
        # A machine that cannot run the engine may still have a shipped result.
        return None


def _name(scenario: Scenario) -> str:
    """Return the digits of a run's id by which its directory is found, also that of what failed."""
    identity = _identity(scenario)
    return "run" if identity is None else f"run {run_id(scenario, identity)[:12]}"


def label(scenario: Scenario) -> str:
    """Describe a scenario in a few words: its first flows, or its first programs if it has no flow."""
    flows = [f"{flow.name} {flow.cc or flow.protocol}" for flow in scenario.flows]
    names = flows or [f"program {program.name}" for program in scenario.programs]
    suffix = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"({shown(', '.join(names[:3]))[1:-1]}{suffix}; seed {scenario.seed})"


def prepare(scenarios: Sequence[Scenario], *, progress: bool) -> None:
    """Build the kernels and models that scenarios need, with a progress bar if there is something to build.

    Raises
    ------
    InputError
        A file of the user's own cannot be built.
    RunError
        The engine cannot be prepared here.
    """
    for scenario in {_identity_settings(scenario): scenario for scenario in scenarios}.values():
        with contextlib.ExitStack() as stack:
            bars: list[Any] = []

            def report(what: str, done: int, total: int, bars: list[Any] = bars, stack: Any = stack) -> None:
                if not bars:  # usually there is nothing to prepare, so no bar is shown
                    bars.append(stack.enter_context(progress_bar(total, "step", shown=progress)))
                bars[0].set_description(what, refresh=False)
                bars[0].update(done - bars[0].n)

            get_engine(scenario).prepare(report)


@contextlib.contextmanager
def _pool(cluster: Any, workers: int | None, store: Store, wall_limit_s: float) -> Iterator[Pool]:
    """Yield the workers of this machine, or those of a cluster."""
    if cluster is None:
        yield LocalPool(limits.cores(), store, wall_limit_s=wall_limit_s, workers=_checked(workers))
        return
    if workers is not None:
        raise InputError.left_out("workers", workers, "together with a cluster, which has its own workers")
    # imported here because few campaigns need it, and its own imports take time
    from rdcnlab.runs.pools.cluster import ClusterPool

    with contextlib.closing(ClusterPool(cluster, store, wall_limit_s=wall_limit_s)) as pool:
        yield pool


def _checked(workers: int | None) -> int | None:
    if workers is not None and workers < 1:
        raise InputError.of("workers", workers, "a whole number of at least 1")
    return workers
