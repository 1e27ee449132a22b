# SPDX-License-Identifier: Apache-2.0
"""The process that runs scenarios: it reads tasks from its standard input until it ends.

A task is one line of JSON. ``{"scenario": ..., "wall_limit_s": ...}`` runs a scenario and stores the result; with
``identity`` only if the engine here has this identity. ``{"examine": [scenario, ...], "facts": [...]}`` returns the
facts that the engine's identity depends on, and prepares the engine if they are the expected ones. An answer is one
line, too.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rdcnlab.engines import get_engine
from rdcnlab.fields.errors import InputError, RdcnlabError, RunError
from rdcnlab.runs.pools import lease
from rdcnlab.runs.run import Run
from rdcnlab.runs.store import Store, run_id
from rdcnlab.scenario import Scenario


class OtherEngine(RunError):
    """The engine on this machine does not have the identity that the run requires."""


def run_one(
    scenario: Scenario, store: Store, *, core: int | None, wall_limit_s: float, identity: str | None = None
) -> Run:
    """Run one scenario in this process, and store the result.

    Parameters
    ----------
    scenario : Scenario
        The scenario.
    store : Store
        Where the result is stored.
    core : int or None
        The core to pin the run to.
    wall_limit_s : float
        Wall-clock limit in seconds.
    identity : str, optional
        The identity that the engine must have.

    Raises
    ------
    OtherEngine
        The engine has another identity; nothing was run.
    RunError
        The run failed; its log is kept.
    """
    engine = get_engine(scenario)
    engine.prepare()
    engine_identity = engine.identity()
    if identity is not None and engine_identity != identity:
        raise OtherEngine(f"the engine has the identity {engine_identity[:16]} instead of {identity[:16]}")
    with store.workspace(run_id(scenario, engine_identity)) as directory:
        inner = directory / "engine"
        inner.mkdir()
        outcome = engine.run(inner, core=core, wall_limit_s=wall_limit_s)
        return store.put(scenario, engine_identity, outcome, directory)


def main() -> None:
    """Do tasks from standard input until it ends. Arguments: directory of the store; core, or nothing to lease one."""
    signal.signal(signal.SIGTERM, _interrupt)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(KeyboardInterrupt):
        _serve(Path(sys.argv[1]), int(sys.argv[2]) if sys.argv[2] else None)


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


def _serve(root: Path, core: int | None) -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # so that nothing that an engine prints is read as an answer
    store = Store(root)
    if core is not None:
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, {core})
    for line in _tasks():
        answer: dict[str, Any] = {"ok": False, "log": None}
        try:
            answer = {"ok": True, **_do(json.loads(line), store, core)}
        except RunError as error:
            answer |= {"reason": error.reason, "log": str(error.log) if error.log else None}
            answer["other_engine"] = isinstance(error, OtherEngine)
        except (RdcnlabError, InputError) as error:
            answer |= {"reason": str(error)}
        except Exception as error:  # noqa: BLE001 - a fault in one run must not end the campaign
            traceback.print_exc()
            answer |= {"reason": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def _do(task: dict[str, Any], store: Store, core: int | None) -> dict[str, Any]:
    """Do a task, and return the data of the answer."""
    if "examine" in task:
        from rdcnlab.runs.pools import worker_environment  # only a cluster examines

        pairs = zip(task["examine"], task["facts"], strict=True)
        return {"facts": [worker_environment.examine(Scenario.from_dict(data), expected) for data, expected in pairs]}
    scenario = Scenario.from_dict(task["scenario"])
    with contextlib.ExitStack() as stack:
        run_core = stack.enter_context(lease.lease_core()) if core is None else core
        wall_limit_s, identity = task["wall_limit_s"], task.get("identity")
        run = run_one(scenario, store, core=run_core, wall_limit_s=wall_limit_s, identity=identity)
    return {"run": run.id}
