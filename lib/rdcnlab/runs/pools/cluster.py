# SPDX-License-Identifier: Apache-2.0
"""The pool on many machines: each Dask worker runs scenarios and sends the tables back, and this process stores them.

Dask carries messages and lists the workers; this module decides which worker runs which scenario. A worker gets no run
before it was examined, and then one run for each of its threads. So a worker of another version gets no run, a scenario
is at one worker at a time, and a run is lost only together with its worker or with the scheduler; then it starts again.
"""

from __future__ import annotations

import contextlib
import math
import pickle
import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Any

from rdcnlab.engines import get_engine
from rdcnlab.fields.errors import InputError, Problem, RdcnlabError, RunError
from rdcnlab.runs.pools import Done, build_bundle, run_message, worker_environment
from rdcnlab.runs.pools.address import Cluster, Link
from rdcnlab.runs.pools.run_message import FailureMessage, RunMessage
from rdcnlab.runs.store import Store
from rdcnlab.scenario import Scenario
from rdcnlab.system.progress import notice

#: Seconds between two looks at the workers.
_LOOK_S = 1.0
#: Seconds to wait for a worker, or for a scheduler that has gone.
_PATIENCE_S = 600.0
#: Seconds without a fit worker after which the run ends with an error, if all workers that came are unfit.
_UNFIT_S = 10.0
#: Number of workers that may vanish with the same scenario before it counts as failed.
_MOST_VANISHED = 3
#: Seconds that a result may take to arrive before a look at whether its worker is still there; doubled each time.
_ARRIVES_S = 10.0
#: An expression of builtins and the standard library only: neither the scheduler nor another version of Python needs
#: anything of ours to read it, and a worker without rdcnlab says so.
_CALL = "__import__('importlib').import_module('rdcnlab.runs.pools.remote').call(order)"


@dataclass
class _Machine:
    """A worker: its address, its number of threads, and whether it was examined.

    ``problem`` is the reason why it cannot be used; ``fit`` is None as long as it is not known.
    """

    address: str
    threads: int
    fit: bool | None = None
    is_asked: bool = False
    problem: RdcnlabError | None = None
    installs: int = 0


@dataclass(frozen=True)
class _Task:
    """A task of a worker: ``admit``, ``install``, or ``work`` with the scenario's index and the engine's identity."""

    kind: str
    machine: _Machine
    future: Any
    index: int = -1
    identity: str = ""


class _Lost(Exception):
    """The connection to the scheduler is lost."""


class ClusterPool:
    """Workers of a Dask cluster.

    Parameters
    ----------
    cluster : str, Path, distributed.Client or distributed.deploy.Cluster
        See `rdcnlab.runs.pools.address.Link`.
    store : Store
        Where results are stored.
    wall_limit_s : float
        Wall-clock limit of one run in seconds.
    patience_s : float, optional
        Seconds to wait for a worker, or for a scheduler that has gone, before giving up; by default 600. Then jobs of
        SLURM may wait in their queue without a limit.

    Raises
    ------
    InputError
        There is no such scheduler.
    RunError
        The extra ``cluster`` is not installed.
    """

    def __init__(self, cluster: Cluster, store: Store, *, wall_limit_s: float, patience_s: float | None = None) -> None:
        self.store, self.wall_limit_s = store, wall_limit_s
        self.link = Link(cluster)
        self.patience_s = _PATIENCE_S if patience_s is None else patience_s
        self.workers_within_s = math.inf if patience_s is None and self.link.is_queued else self.patience_s
        self.given_up: RunError | None = None

    def run(self, scenarios: Sequence[Scenario]) -> Iterator[Done]:
        """Run scenarios, each on the next free thread of a worker.

        Raises
        ------
        InputError
            No worker is fit; the error names each and what differs.
        RunError
            There was no worker, or no scheduler, for too long. Later calls do not wait again.
        """
        if self.given_up is not None:
            raise self.given_up
        yield from _Running(self, scenarios).results()

    def close(self) -> None:
        """Close the connection, unless it is the caller's."""
        self.link.close()


@dataclass
class _Running:
    """Scenarios on their way through a cluster."""

    pool: ClusterPool
    scenarios: Sequence[Scenario]
    machines: dict[str, _Machine] = field(default_factory=dict)
    busy: dict[str, _Task] = field(default_factory=dict)
    vanished: Counter[int] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.waiting = deque(range(len(self.scenarios)))
        self.ended: SimpleQueue[str] = SimpleQueue()
        self.refused: list[Done] = []
        # one scenario for each engine and kind of switch; a worker is examined with them before it gets runs
        examples = {_engine_of(scenario): scenario for scenario in self.scenarios}.values()
        self.bundle = build_bundle.pack(examples)
        self.examples = [
            {"scenario": scenario.to_dict(), "facts": worker_environment.of_scenario(scenario)} for scenario in examples
        ]
        self.settings = {"environment": dict(self.bundle.environment), "scripts": self.bundle.scripts}
        self.last_look = float("-inf")
        self.last_served = time.monotonic()
        self.is_announced = False

    def results(self) -> Iterator[Done]:
        """Yield each result as it arrives; no run stays on the cluster afterwards, also after an error."""
        try:
            while self.waiting or self.refused or any(task.kind == "work" for task in self.busy.values()):
                try:
                    self._look()
                    self._hand_out()
                    task = self._next()
                    result = None if task is None else self._result(task)
                except (_Lost, OSError, TimeoutError, CancelledError):
                    self._reconnect()
                    continue
                yield from self.refused
                self.refused.clear()
                if result is not None:
                    yield result
        finally:
            self._cancel(list(self.busy))

    # Workers ----------------------------------------------------------------------------------------------------------

    def _look(self) -> None:
        """Update the list of workers, and examine new workers."""
        if self.pool.link.is_lost:
            raise _Lost
        if time.monotonic() < self.last_look + _LOOK_S:
            return
        self.last_look = time.monotonic()
        present: dict[str, int] = self.pool.link.client.nthreads()
        for address in set(self.machines) - set(present):
            self._lose(self.machines.pop(address))
        for address, threads in present.items():
            machine = self.machines.setdefault(address, _Machine(address, threads))
            if machine.fit is None and not machine.is_asked:
                machine.is_asked = True
                self._admit(machine)
        self._check_patience()

    def _admit(self, machine: _Machine) -> None:
        order = (list(self.bundle.builds), worker_environment.general(), self.examples, self.settings)
        self._submit("admit", machine, order)

    def _lose(self, machine: _Machine) -> None:
        """Give the runs of a worker that vanished to others."""
        keys = [key for key, task in self.busy.items() if task.machine is machine]
        runs = [self.busy[key].index for key in keys if self.busy[key].kind == "work"]
        self._cancel(keys)
        if machine.fit:
            suffix = f"; {len(runs)} of its runs start again" if runs else ""
            notice(f"the worker {machine.address} has gone{suffix}")
        for index in reversed(runs):
            self._retry(index)

    def _retry(self, index: int) -> None:
        """Put a scenario whose worker vanished first in the queue; after `_MOST_VANISHED` times it counts as failed."""
        self.vanished[index] += 1
        if self.vanished[index] < _MOST_VANISHED:
            self.waiting.appendleft(index)
        else:
            reason = f"{_MOST_VANISHED} workers vanished while they ran this; it may need more memory than they have"
            self.refused.append(Done(index, RunError(reason)))

    def _check_patience(self) -> None:
        """Raise an error if there has been no fit worker for too long."""
        now, machines = time.monotonic(), list(self.machines.values())
        if any(machine.fit for machine in machines):
            self.last_served, self.is_announced = now, False
            return
        unserved_s = now - self.last_served
        unfit = [machine.problem for machine in machines if machine.problem is not None]
        if unfit and len(unfit) == len(machines) and unserved_s > _UNFIT_S:
            raise _joined(unfit)
        if unserved_s > self.pool.workers_within_s:
            self.pool.given_up = RunError(
                f"the cluster {self.pool.link.name} had no worker that can be used for "
                f"{self.pool.workers_within_s:g} s; finished runs are kept"
            )
            raise self.pool.given_up
        if not machines and not self.is_announced and unserved_s > _LOOK_S:
            self.is_announced = True
            advice = "SLURM starts them" if self.pool.link.is_queued else "start some with: dask worker ADDRESS"
            notice(f"the cluster {self.pool.link.name} has no workers yet; {advice}")

    def _examined(self, machine: _Machine, answer: dict[str, Any]) -> None:
        """Take a worker into service, send it the builds that it lacks, or leave it out."""
        problem: RdcnlabError | None = worker_environment.differing(
            _field(machine), answer["general"], worker_environment.general()
        )
        if problem is None and answer["lacking"]:
            if machine.installs:
                problem = RunError(f"the worker {machine.address} does not keep the builds that it was sent")
            else:
                machine.installs += 1
                builds = [self.bundle.builds[place] for place in answer["lacking"]]
                self._submit("install", machine, (builds,))
                return
        if problem is None and "reason" in answer:
            problem = RunError(f"the worker {machine.address} cannot run this: {answer['reason']}")
        if problem is None:
            pairs = zip(answer["facts"], self.examples, strict=True)
            differences = [
                worker_environment.differing(_field(machine), theirs, example["facts"]) for theirs, example in pairs
            ]
            problem = next((difference for difference in differences if difference is not None), None)
        if problem is None:
            machine.fit = True
        else:
            self._leave_out(machine, problem)

    def _leave_out(self, machine: _Machine, problem: RdcnlabError) -> None:
        machine.fit, machine.problem = False, problem
        notice(f"the worker {machine.address} is left out: {problem}")

    # Tasks ------------------------------------------------------------------------------------------------------------

    def _hand_out(self) -> None:
        """Give waiting scenarios to workers with a free thread."""
        used = Counter(task.machine.address for task in self.busy.values())
        for machine in self.machines.values():
            while machine.fit and self.waiting and used[machine.address] < machine.threads:
                index = self.waiting.popleft()
                used[machine.address] += self._give(index, machine)

    def _give(self, index: int, machine: _Machine) -> bool:
        """Give a scenario to a worker. Return False if its engine has no identity: then this error is its result."""
        scenario = self.scenarios[index]
        try:
            identity = get_engine(scenario).identity()
        except (RdcnlabError, OSError) as error:
            self.refused.append(Done(index, RunError(str(error))))
            return False
        task = {"scenario": scenario.to_dict(), "identity": identity, "wall_limit_s": self.pool.wall_limit_s}
        try:
            self._submit("work", machine, (task, self.settings), index, identity)
        except BaseException:
            self.waiting.appendleft(index)
            raise
        return True

    def _submit(
        self, kind: str, machine: _Machine, arguments: tuple[Any, ...], index: int = -1, identity: str = ""
    ) -> None:
        order = pickle.dumps((kind, arguments))
        future = self.pool.link.client.submit(
            eval, _CALL, {"order": order}, workers=[machine.address], allow_other_workers=False, pure=False
        )
        self.busy[future.key] = _Task(kind, machine, future, index, identity)
        future.add_done_callback(lambda ended: self.ended.put(ended.key))

    def _next(self) -> _Task | None:
        """Wait for half of `_LOOK_S` for a task to end, and return it; None if none ended."""
        try:
            return self.busy.pop(self.ended.get(timeout=_LOOK_S / 2), None)
        except Empty:
            return None

    def _result(self, task: _Task) -> Done | None:
        """Return the result of a run; None if the task was something else, or if the run must be made again."""
        answer, problem = self._answer(task)
        if task.kind == "admit" and answer is not None:
            self._examined(task.machine, answer)
        elif task.kind == "install" and problem is None:
            self._admit(task.machine)
        elif task.kind != "work":
            task.machine.is_asked = False
            if problem is not None:
                self._leave_out(task.machine, problem)
        elif isinstance(answer, FailureMessage) and answer.other_engine:
            self._leave_out(task.machine, RunError(answer.reason))
            self.waiting.appendleft(task.index)
        elif answer is not None:
            return Done(task.index, self._stored(task, answer))
        elif problem is not None:
            return Done(task.index, RunError(str(problem)))
        elif self.pool.link.is_lost:
            self.waiting.appendleft(task.index)  # no worker vanished; `_reconnect` comes next
        else:
            self._retry(task.index)
        return None

    def _stored(self, task: _Task, answer: RunMessage | FailureMessage) -> RunError | None:
        try:
            run_message.store_run(answer, self.scenarios[task.index], task.identity, self.pool.store)
        except RunError as error:
            return RunError(f"{error.reason} (on {task.machine.address})", error.log)
        except OSError as error:
            return RunError(f"the run could not be stored in {self.pool.store.root}: {error}")
        return None

    def _answer(self, task: _Task) -> tuple[Any, RdcnlabError | None]:
        """Return the answer to a task and None, None and its error, or twice None if it must be given again."""
        from distributed import KilledWorker

        wait = _ARRIVES_S
        try:
            while task.future.status == "finished":
                try:
                    return task.future.result(timeout=wait), None
                except TimeoutError:
                    wait *= 2
                    if task.machine.address not in self.pool.link.client.nthreads():
                        return None, None
            if task.future.status != "error":
                return None, None
            error = task.future.exception()
        except Exception as failed:  # noqa: BLE001 - after any error of the connection, the run can be made again
            error = failed
        finally:
            task.future.release()
        if isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] == "rdcnlab":
            return None, InputError.of(f"{_field(task.machine)}.rdcnlab", "none", "the version that is installed here")
        # of Dask, if a worker that comes back under its old address vanishes again and again
        if isinstance(error, KilledWorker | OSError | TimeoutError):
            return None, None
        return None, RunError(f"{type(error).__name__}: {error} (on {task.machine.address})")

    def _cancel(self, keys: list[str]) -> None:
        """Cancel tasks; their workers stop them."""
        futures = [self.busy.pop(key).future for key in keys]
        if futures and not self.pool.link.is_lost:
            # if the scheduler has gone meanwhile, its workers end what they run
            with contextlib.suppress(OSError, TimeoutError, CancelledError):
                self.pool.link.client.cancel(futures, force=True)

    def _reconnect(self) -> None:
        """Wait for the scheduler, and put all runs that were on its workers into the queue again."""
        name, patience_s = self.pool.link.name, self.pool.patience_s
        notice(f"the connection to the scheduler {name} is lost; waiting for it for at most {patience_s:g} s")
        self.waiting.extendleft(
            sorted((task.index for task in self.busy.values() if task.kind == "work"), reverse=True)
        )
        self.busy.clear()
        self.machines.clear()
        try:
            self.pool.link.renew(patience_s)
        except RunError as error:
            self.pool.given_up = error
            raise
        self.last_look, self.last_served, self.is_announced = float("-inf"), time.monotonic(), False


def _engine_of(scenario: Scenario) -> Any:
    switches = tuple(sorted({str(node.kind) for node in scenario.network.switches if node.kind}))
    protocols = tuple(sorted({flow.protocol for flow in scenario.flows}))
    return scenario.engine, scenario.switch.kind, switches, protocols


def _field(machine: _Machine) -> str:
    return f"cluster.{machine.address}"


def _joined(errors: Sequence[RdcnlabError]) -> RdcnlabError:
    problems: list[Problem] = []
    for error in errors:
        if not isinstance(error, InputError):
            return RunError("no worker can be used: " + "; ".join(map(str, errors)))
        problems += error.problems
    return InputError(*problems)
