# SPDX-License-Identifier: Apache-2.0
"""Measure what a reader waits for: the first curve of the explorer, and the race of a congestion control."""

from __future__ import annotations

import shutil
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

from rdcnlab.app.explore.choice import Choice
from rdcnlab.app.explore.curves import Shown, image_of
from rdcnlab.app.explore.job import Job
from rdcnlab.app.race import own_algorithm
from rdcnlab.engines.kernel import build, cores
from rdcnlab.engines.kernel.build import patches
from rdcnlab.fields.errors import RunError
from rdcnlab.runs.shipped import Shipped
from rdcnlab.runs.store import Store

#: The congestion control that is raced.
_EXAMPLE = "tcp_gentle.c"


def waits() -> Iterator[tuple[str, float, float]]:
    """Yield what is waited for, the time in s, and the most that it shall be in s."""
    yield "explorer: from the click to the first curve, nothing stored", first_curve(), 10.0
    # the first file of a user's own needs a tree of the kernel, which takes as long as the kernel itself, and stays
    own_algorithm(patches.root() / "examples" / _EXAMPLE, progress=False)
    yield "own algorithm: build it in the kernel's tree, race it on three networks, draw, nothing stored", race(), 300.0


def first_curve(choice: Choice | None = None) -> float:
    """Return the time in s from the start of a job of the explorer until the curves of its first run are drawn.

    Raises
    ------
    RunError
        The job failed.
    """
    times: list[float] = []

    def changed(job: Job) -> None:
        if len(job.runs) and not times:
            image_of([Shown("", job.runs)])
            times.append(time.monotonic() - start_s)

    with tempfile.TemporaryDirectory() as name:
        start_s = time.monotonic()
        job = Job((choice or Choice()).scenarios(), _empty(Path(name)), cores(), changed)
        job.start()
        job.join()
        if job.state != "done":
            raise RunError(job.note)
    return times[0]


def race() -> float:
    """Return the time in s that a new congestion control takes: its build, all runs on every core, and the figure."""
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / _EXAMPLE
        text = (patches.root() / "examples" / _EXAMPLE).read_text()
        # a file that was never seen, so that there is no build of it
        file.write_text(f"{text}/* {uuid.uuid4()} */\n")
        start_s = time.monotonic()
        mine = own_algorithm(file, progress=False)
        try:
            mine.race(store=_empty(Path(name)), progress=False).plot()
            return time.monotonic() - start_s
        finally:
            _forget(build.find(algorithm=mine.algorithm))


def _empty(folder: Path) -> Store:
    return Store(folder / "runs", shipped=Shipped(folder / "none"))


def _forget(kernel: build.Kernel | None) -> None:
    """Remove a build that nobody will use again."""
    if kernel is not None:
        for path in kernel.directory.parent.glob(f"{kernel.directory.name}*"):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()
