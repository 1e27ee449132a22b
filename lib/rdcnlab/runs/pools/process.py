# SPDX-License-Identifier: Apache-2.0
"""A process that runs scenarios, seen from the process that started it.

The process calls `rdcnlab.runs.pools.serve.main`. It reads a task (one line of JSON) from its standard input, and
answers with one line on its standard output. So nothing is pickled, ``__main__`` is not imported again, and the process
inherits no state of the parent's threads. It ends when its input ends. Its input also ends when the parent is killed.
"""

from __future__ import annotations

import contextlib
import json
import select
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from rdcnlab.fields.errors import RunError

#: Seconds a process has to stop its guest and clean up before it is killed.
_GRACE_S = 10.0
_MAIN = "from rdcnlab.runs.pools.serve import main; main()"


@dataclass(frozen=True)
class Answer:
    """What a process answered: the error if it failed, otherwise data."""

    error: RunError | None = None
    data: Mapping[str, Any] = field(default_factory=dict)


class Process:
    """One process that runs scenarios.

    Parameters
    ----------
    root : Path
        Directory of the store that it puts results in.
    core : int, optional
        The core that it is pinned to. By default it leases a free one for each run; see `rdcnlab.runs.pools.lease`.
    environment : dict, optional
        Its environment; by default that of this process.
    """

    def __init__(self, root: Path, core: int | None = None, environment: Mapping[str, str] | None = None) -> None:
        self.core, self.ended = core, False
        command = [sys.executable, "-c", _MAIN, str(root), "" if core is None else str(core)]
        # It has its own session: Ctrl-C at the terminal reaches only the parent, which then stops its processes.
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env=None if environment is None else dict(environment),
        )

    @property
    def answers(self) -> IO[str]:
        """The process's standard output; it can be read when the process has answered or ended."""
        assert self.process.stdout is not None
        return self.process.stdout

    def give(self, task: Mapping[str, Any]) -> None:
        """Give a task; see `rdcnlab.runs.pools.serve`."""
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # `answer` reports a process that died
            self.process.stdin.write(json.dumps(task) + "\n")
            self.process.stdin.flush()

    def wait_for_answer(self, timeout_s: float) -> bool:
        """Wait for an answer, at most `timeout_s`, and return whether there is one."""
        return bool(select.select([self.answers], [], [], timeout_s)[0])

    def answer(self) -> Answer:
        """Read the answer to the last task. Call this when `answers` can be read."""
        line = self.answers.readline()
        if not line:
            self.ended = True
            code = self.process.wait()
            cause = signal.Signals(-code).name if code < 0 else f"exit status {code}"
            return Answer(RunError(f"the worker process ended by {cause}"))
        answer = json.loads(line)
        if answer["ok"]:
            return Answer(data=answer)
        return Answer(RunError(answer["reason"], Path(answer["log"]) if answer["log"] else None), answer)

    def stop(self) -> None:
        """Ask the process to stop."""
        if self.process.poll() is None:
            self.process.terminate()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()


def stop_all(processes: Sequence[Process]) -> None:
    """Stop processes and wait until they have cleaned up."""
    for process in processes:
        process.stop()
    for process in processes:
        try:
            process.process.wait(_GRACE_S)
        except subprocess.TimeoutExpired:
            process.process.kill()
            process.process.wait()
