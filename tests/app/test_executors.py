# SPDX-License-Identifier: Apache-2.0
"""Processes of notebooks end when what they work for is interrupted."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from rdcnlab.app.executors import executor
from tests.conftest import alive

#: Seconds in which a process ends; a task takes much longer.
_ENDS_S, _TASK_S = 30, 600


def _task(folder: Path) -> None:
    (folder / str(os.getpid())).touch()
    time.sleep(_TASK_S)


def _interrupted(folder: Path) -> None:
    with executor(2) as pool:
        for _ in range(6):
            pool.submit(_task, folder)
        while len(list(folder.iterdir())) < 2:
            time.sleep(0.1)
        raise KeyboardInterrupt


def test_an_interruption_ends_tasks_that_are_running(tmp_path: Path) -> None:
    """A process takes a task beforehand, which must not keep it alive."""
    with pytest.raises(KeyboardInterrupt):
        _interrupted(tmp_path)
    pids = [int(path.name) for path in tmp_path.iterdir()]
    end = time.monotonic() + _ENDS_S
    while any(map(alive, pids)) and time.monotonic() < end:
        time.sleep(0.1)
    assert not any(map(alive, pids))


def test_tasks_are_finished_otherwise() -> None:
    with executor(1) as pool:
        future = pool.submit(os.getpid)
    assert future.result() != os.getpid()
