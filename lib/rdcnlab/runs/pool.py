# SPDX-License-Identifier: Apache-2.0
"""Worker processes: there is one for each core, and each runs one scenario at a time.

A worker is a process that calls `main`. It reads a task (one line of JSON) from its standard input, and answers with
one line on its standard output. So nothing is pickled, ``__main__`` is not imported again, and the worker inherits no
state of the parent's threads. A worker ends when its input ends. Its input also ends when the parent is killed.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

from rdcnlab.engines import get_engine
from rdcnlab.fields.errors import InputError, RdcnlabError, RunError
from rdcnlab.runs.store import Run, Store, run_id
from rdcnlab.scenario import Scenario

#: Seconds a worker has to stop its guest and clean up before it is killed.
_GRACE_S = 10.0


@dataclass(frozen=True)
class Done:
    """A task that ended: its index, and its error if it failed."""

    index: int
    error: RunError | None


class Pool(Protocol):
    """The interface that runs many scenarios, in any order, and stores the results. Other machines can provide it."""

    def run(self, scenarios: Sequence[Scenario]) -> Iterator[Done]:
        """Run all scenarios. Closing the iterator stops those that still run."""
        ...


def run_one(scenario: Scenario, store: Store, *, core: int | None, wall_limit_s: float) -> Run:
    """Run one scenario in this process, and store the result.

    Raises
    ------
    RunError
        The run failed; its log is kept.
    """
    engine = get_engine(scenario)
    engine.prepare(scenario)
    identity = engine.identity(scenario)
    with store.workspace(run_id(scenario, identity)) as directory:
        inner = directory / "engine"
        inner.mkdir()
        outcome = engine.run(scenario, inner, core=core, wall_limit_s=wall_limit_s)
        return store.put(scenario, identity, outcome, directory)


class LocalPool:
    """Workers on this machine.

    Parameters
    ----------
    cores : sequence of int
        One worker is pinned to each core.
    store : Store
        Where results are stored.
    wall_limit_s : float
        Wall-clock limit of one run.
    """

    def __init__(self, cores: Sequence[int], store: Store, *, wall_limit_s: float) -> None:
        self.cores, self.store, self.wall_limit_s = tuple(cores), store, wall_limit_s

    def run(self, scenarios: Sequence[Scenario]) -> Iterator[Done]:
        """Run scenarios, each on the next free worker."""
        waiting = list(enumerate(scenarios))[::-1]
        busy: dict[_Worker, int] = {}
        idle = [_Worker(core, self.store.root) for core in self.cores[: len(waiting)]]
        with selectors.DefaultSelector() as selector:
            for worker in idle:
                selector.register(worker.answers, selectors.EVENT_READ, worker)
            try:
                while waiting or busy:
                    while waiting and idle:
                        worker = idle.pop()
                        index, scenario = waiting.pop()
                        busy[worker] = index
                        worker.give(scenario, self.wall_limit_s)
                    for key, _ in selector.select():
                        worker = key.data
                        index = busy.pop(worker)
                        error = worker.answer()
                        if worker.ended:
                            selector.unregister(worker.answers)
                            worker.stop()
                            worker = _Worker(worker.core, self.store.root)
                            selector.register(worker.answers, selectors.EVENT_READ, worker)
                        idle.append(worker)
                        yield Done(index, error)
            finally:
                stop_all([*idle, *busy])


class _Worker:
    """One worker process, seen from the parent."""

    def __init__(self, core: int, root: Path) -> None:
        self.core, self.ended = core, False
        command = [sys.executable, "-c", "from rdcnlab.runs.pool import main; main()", str(root), str(core)]
        # The worker has its own session: Ctrl-C at the terminal reaches only the parent, which then stops its workers.
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
        )

    @property
    def answers(self) -> IO[str]:
        assert self.process.stdout is not None
        return self.process.stdout

    def give(self, scenario: Scenario, wall_limit_s: float) -> None:
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # `answer` reports a worker that died
            self.process.stdin.write(json.dumps({"scenario": scenario.to_dict(), "wall_limit_s": wall_limit_s}) + "\n")
            self.process.stdin.flush()

    def answer(self) -> RunError | None:
        """Read the answer to the last task. Call this when there is something to read."""
        line = self.answers.readline()
        if not line:
            self.ended = True
            code = self.process.wait()
            cause = signal.Signals(-code).name if code < 0 else f"exit status {code}"
            return RunError(f"the worker process ended by {cause}")
        answer = json.loads(line)
        if answer["ok"]:
            return None
        return RunError(answer["reason"], Path(answer["log"]) if answer["log"] else None)

    def stop(self) -> None:
        """Ask the worker to stop."""
        if self.process.poll() is None:
            self.process.terminate()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()


def stop_all(workers: Sequence[_Worker]) -> None:
    """Stop workers and wait until they have cleaned up."""
    for worker in workers:
        worker.stop()
    for worker in workers:
        try:
            worker.process.wait(_GRACE_S)
        except subprocess.TimeoutExpired:
            worker.process.kill()
            worker.process.wait()


# In the worker process ------------------------------------------------------------------------------------------------


def _interrupt(*_: object) -> None:
    # Only one interrupt: the parent's signal and the end of the input come together, and nothing may interrupt the
    # clean-up.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise KeyboardInterrupt


def _tasks() -> Iterator[str]:
    """Yield lines of standard input. Interrupt the main thread if the input ends while a task runs.

    A second thread reads the input, because the parent may be killed while the main thread waits for its guest.
    """
    ready: list[str] = []
    condition = threading.Condition()
    ended = threading.Event()

    def read() -> None:
        for line in sys.stdin:
            with condition:
                ready.append(line)
                condition.notify()
        ended.set()
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=read, daemon=True).start()
    while not ended.is_set():
        with condition:
            while not ready:
                condition.wait()
            line = ready.pop(0)
        yield line


def _serve(root: Path, core: int) -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # so that nothing that an engine prints is read as an answer
    store = Store(root)
    with contextlib.suppress(OSError):
        os.sched_setaffinity(0, {core})
    for line in _tasks():
        task = json.loads(line)
        answer: dict[str, object] = {"ok": True}
        try:
            scenario = Scenario.from_dict(task["scenario"])
            run_one(scenario, store, core=core, wall_limit_s=task["wall_limit_s"])
        except RunError as error:
            answer = {"ok": False, "reason": error.reason, "log": str(error.log) if error.log else None}
        except (RdcnlabError, InputError) as error:
            answer = {"ok": False, "reason": str(error), "log": None}
        except Exception as error:  # noqa: BLE001 - a fault in one run must not end the campaign
            traceback.print_exc()
            answer = {"ok": False, "reason": f"{type(error).__name__}: {error}", "log": None}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def main() -> None:
    """Run tasks from standard input until it ends. Arguments: directory of the store, core."""
    signal.signal(signal.SIGTERM, _interrupt)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(KeyboardInterrupt):
        _serve(Path(sys.argv[1]), int(sys.argv[2]))
