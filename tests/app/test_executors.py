# SPDX-License-Identifier: Apache-2.0
"""Processes of notebooks end when what they work for is interrupted."""

from __future__ import annotations

import os
import sys
import time
from multiprocessing import get_context
from pathlib import Path

import pytest

from rdcnlab.app.executors import executor
from tests.conftest import alive

#: Seconds in which a process ends; a task takes much longer.
_ENDS_S, _TASK_S = 30, 600


def _task(folder: Path) -> None:
    (folder / str(os.getpid())).touch()
    time.sleep(_TASK_S)


def _interrupted(folder: Path, interrupt: bool = True) -> None:
    with executor(2) as pool:
        for _ in range(6):
            pool.submit(_task, folder)
        while len(list(folder.iterdir())) < 2:
            time.sleep(0.1)
        if interrupt:
            raise KeyboardInterrupt


def _left(folder: Path) -> bool:
    """Return whether processes of tasks are alive after the time in which they end."""
    pids = [int(path.name) for path in folder.iterdir()]
    end = time.monotonic() + _ENDS_S
    while any(map(alive, pids)) and time.monotonic() < end:
        time.sleep(0.1)
    return any(map(alive, pids))


def test_an_interruption_ends_tasks_that_are_running(tmp_path: Path) -> None:
    """A process takes a task beforehand, which must not keep it alive."""
    with pytest.raises(KeyboardInterrupt):
        _interrupted(tmp_path)
    assert not _left(tmp_path)


def test_a_killed_parent_ends_its_processes(tmp_path: Path) -> None:
    """Nobody is left to end them."""
    parent = get_context("spawn").Process(target=_interrupted, args=(tmp_path, False))
    parent.start()
    while len(list(tmp_path.iterdir())) < 2:
        time.sleep(0.1)
    parent.kill()
    parent.join()
    assert not _left(tmp_path)


def test_tasks_are_finished_otherwise() -> None:
    with executor(1) as pool:
        future = pool.submit(os.getpid)
    assert future.result() != os.getpid()


def _variable(name: str) -> str | None:
    return os.environ.get(name)


def test_a_task_sees_the_environment_of_now(monkeypatch: pytest.MonkeyPatch) -> None:
    """The processes are forks of a server that was started earlier, with another environment."""
    for value in ("first", "second"):
        monkeypatch.setenv("RDCNLAB_MODELS", value)
        with executor(1) as pool:
            assert pool.submit(_variable, "RDCNLAB_MODELS").result() == value
    monkeypatch.delenv("RDCNLAB_MODELS")
    with executor(1) as pool:
        assert pool.submit(_variable, "RDCNLAB_MODELS").result() is None


def _loaded(name: str) -> bool:
    return name in sys.modules


def _loaded_at_first(folder: Path) -> None:
    with executor(1, ["colorsys"]) as pool:
        (folder / f"{pool.submit(_loaded, 'colorsys').result()}").touch()


def test_a_process_begins_with_the_libraries(tmp_path: Path) -> None:
    parent = get_context("spawn").Process(target=_loaded_at_first, args=(tmp_path,))
    parent.start()
    parent.join()
    assert [path.name for path in tmp_path.iterdir()] == ["True"]
