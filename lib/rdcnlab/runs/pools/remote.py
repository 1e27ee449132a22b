# SPDX-License-Identifier: Apache-2.0
"""The part of a Dask worker in a campaign: it receives builds, reports facts about its machine, and runs scenarios.

A worker asks a process of its own for each run (`rdcnlab.runs.pools.serve`). Such a process stays for the next run, and
ends a while after the last one. It leases a core for each run. It ends, and its guest with it, when the worker is
killed, when the worker loses its scheduler, and when the client cancels the run or goes away.
"""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rdcnlab.runs.pools import build_bundle, run_message, worker_environment
from rdcnlab.runs.pools.process import Answer, Process, stop_all
from rdcnlab.runs.pools.run_message import FailureMessage, RunMessage
from rdcnlab.runs.store import Store

#: Seconds between two looks at whether a run is still wanted.
_LOOK_S = 0.5
#: Seconds after which a process without work ends. Its start takes about a second, and it keeps 100 MB.
_IDLE_S = 60.0


class Unwanted(Exception):
    """The run was cancelled; the campaign does not read this error."""


def call(order: bytes) -> Any:
    """Call a function of this module; `order` is its name and its arguments."""
    name, arguments = pickle.loads(order)
    functions: dict[str, Callable[..., Any]] = {"admit": admit, "install": install, "work": work}
    return functions[name](*arguments)


def admit(
    places: list[str], general: Mapping[str, str], examples: list[dict[str, Any]], settings: Mapping[str, Any]
) -> dict[str, Any]:
    """Report whether this machine can make the runs of a campaign.

    Parameters
    ----------
    places : list of str
        Places of the campaign's builds; see `rdcnlab.runs.pools.build_bundle`.
    general : dict of str to str
        Facts that do not depend on a scenario; they are compared first.
    examples : list of dict
        Scenarios (``scenario``), each with the facts that the client has (``facts``).
    settings : dict
        ``environment`` and ``scripts`` of the bundle of builds.

    Returns
    -------
    dict
        ``general``: the general facts of this machine. If these are equal, ``lacking``: places of builds that are not
        here; if all are here, ``facts`` for each scenario, or the ``reason`` why a scenario cannot run here.
    """
    report: dict[str, Any] = {"general": worker_environment.general(), "lacking": build_bundle.lacking(places)}
    if report["general"] != general or report["lacking"]:
        return report
    scenarios, expected = ([example[key] for example in examples] for key in ("scenario", "facts"))
    task = {"examine": scenarios, "facts": expected}
    answer = _answer_of(task, settings)
    if answer.error is not None:
        return {**report, "reason": answer.error.reason}
    return {**report, "facts": answer.data["facts"]}


def install(builds: list[build_bundle.Build]) -> None:
    """Receive builds."""
    for build in builds:
        build_bundle.unpack(build)


def work(task: Mapping[str, Any], settings: Mapping[str, Any]) -> RunMessage | FailureMessage:
    """Run a scenario, and return the message with its result."""
    answer = _answer_of(task, settings)
    if answer.error is None:
        run = Store(_root()).get(answer.data["run"])
        assert run is not None
        return run_message.of_run(run)
    other_engine = bool(answer.data.get("other_engine", False))
    return run_message.of_failure(answer.error.reason, answer.error.log, _root(), other_engine=other_engine)


@dataclass
class _Idle:
    """Processes without work, by their environment."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    processes: dict[tuple[tuple[str, str], ...], list[Process]] = field(default_factory=dict)

    def take(self, environment: Mapping[str, str]) -> Process:
        with self.lock:
            idle = self.processes.get(_key(environment), [])
            while idle:
                process = idle.pop()
                if process.process.poll() is None:
                    return process
        return Process(_root(), None, environment)

    def give_back(self, process: Process, environment: Mapping[str, str]) -> None:
        with self.lock:
            self.processes.setdefault(_key(environment), []).append(process)
        timer = threading.Timer(_IDLE_S, self.end, (process, environment))
        timer.daemon = True
        timer.start()

    def end(self, process: Process, environment: Mapping[str, str]) -> None:
        """End a process if it has no work. It may end early if it had work meanwhile; then the next run starts one."""
        with self.lock:
            idle = self.processes.get(_key(environment), [])
            if process not in idle:
                return
            idle.remove(process)
        stop_all([process])


_IDLE = _Idle()


def _key(environment: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(environment.items()))


def _answer_of(task: Mapping[str, Any], settings: Mapping[str, Any]) -> Answer:
    """Return a process's answer to a task; stop the process if the result is no longer wanted."""
    environment = build_bundle.environment(settings["environment"], settings["scripts"])
    is_wanted = _task_check()
    process = _IDLE.take(environment)
    try:
        process.give(task)
        while not process.wait_for_answer(_LOOK_S):
            if not is_wanted():
                raise Unwanted
        answer = process.answer()
    except BaseException:
        stop_all([process])
        raise
    if process.ended:
        process.stop()
    else:
        _IDLE.give_back(process, environment)
    return answer


def _task_check() -> Callable[[], bool]:
    """Return a function that says whether the task of this thread is still wanted, and its worker still works."""
    from distributed import Status, get_worker

    worker = get_worker()
    key = worker.get_current_task()

    def is_wanted() -> bool:
        task = worker.state.tasks.get(key)
        return worker.status == Status.running and task is not None and task.state != "cancelled"

    return is_wanted


def _root() -> Path:
    """Return the directory of this worker's own store. Dask removes it after the worker's end."""
    from distributed import get_worker

    return Path(get_worker().local_directory) / "rdcnlab"
