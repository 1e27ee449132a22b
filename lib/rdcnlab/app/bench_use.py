# SPDX-License-Identifier: Apache-2.0
"""Measure what a reader waits for: the first curve of the explorer, and the race of a congestion control."""

from __future__ import annotations

import itertools
import shutil
import tempfile
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rdcnlab.app.bench_rounds import Load, Row, Say, missing, row, silent, take
from rdcnlab.app.explore.choice import Choice
from rdcnlab.app.explore.curves import Shown, image_of
from rdcnlab.app.explore.job import Job
from rdcnlab.app.race import NETWORKS, RIVALS, own_algorithm
from rdcnlab.engines.kernel import build, cores
from rdcnlab.engines.kernel.build import patches
from rdcnlab.fields.errors import RunError
from rdcnlab.runs.shipped import Shipped
from rdcnlab.runs.store import Store

#: The congestion control that is raced.
_EXAMPLE = "tcp_gentle.c"
#: The rivals that are run here: one that loss stops and one that does not.
_RIVALS = ("cubic", "bbr")
#: Runs of a whole race with two seeds: each transport among its own and against CUBIC, which is the same for CUBIC.
_ALL_RUNS = 2 * len(NETWORKS) * (2 * (1 + len(RIVALS)) - 1)


def first_curves(say: Say) -> Iterator[Row]:
    """Yield how long a reader of the explorer waits."""
    rounds = take({"first curve": first_curve}, say=say, what="explorer")
    yield rounds.row(
        "explorer: from the click to the first curve, nothing stored", lambda t: t["first curve"], "s", at_most=10.0
    )


def races(say: Say) -> Iterator[Row]:
    """Yield how long the author of a congestion control waits.

    A part of the race is run: one seed instead of two, two rivals instead of four. The time of the whole race is
    computed from the number of its runs.
    """
    name = "own algorithm: build in the kernel's tree, race on three networks, figure, nothing stored"
    if not build.has_tree():
        reason = 'the kernel\'s tree does not exist; own_algorithm("tcp_gentle.c") makes it, in minutes'
        yield missing(name, reason, "s")
        return
    load = Load()
    say("own algorithm: build")
    times = race(say)
    other = load.other()
    yield row("own algorithm: build in the kernel's tree", [times.build_s], "s", other=other)
    yield row(f"own algorithm: {times.runs} of the {_ALL_RUNS} runs of its race", [times.runs_s], "s", other=other)
    whole_s = times.build_s + times.runs_s * _ALL_RUNS / times.runs + times.figure_s
    yield row(f"{name}; computed from {times.runs} runs", [whole_s], "s", at_most=300.0, other=other)


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
        # one run for each core: more would begin after the first curve
        asked = choice or Choice(runs=len(cores()))
        job = Job(asked.scenarios(), _empty(Path(name)), cores(), changed)
        try:
            job.start()
            job.join()
        finally:
            if not job.ended:  # interrupted
                job.stop()
                job.join()
        if job.state != "done":
            raise RunError(job.note)
    return times[0]


@dataclass(frozen=True)
class Race:
    """The seconds of the parts of a race with one seed and two rivals, and the number of its runs."""

    build_s: float
    runs_s: float
    figure_s: float
    runs: int


def race(say: Say = silent) -> Race:
    """Return the times that a new congestion control takes: its build, runs on every core, and the figure."""
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / _EXAMPLE
        text = (patches.root() / "examples" / _EXAMPLE).read_text()
        # a file that was never seen, so that there is no build of it
        file.write_text(f"{text}/* {uuid.uuid4()} */\n")
        times = [time.monotonic()]
        mine = own_algorithm(file, progress=False)
        times.append(time.monotonic())
        try:
            say("own algorithm: race")
            raced = mine.race(rivals=_RIVALS, seeds=1, store=_empty(Path(name)), progress=False)
            times.append(time.monotonic())
            raced.plot()
            times.append(time.monotonic())
        finally:
            _forget(build.find(algorithm=mine.algorithm))
    build_s, runs_s, figure_s = (after - before for before, after in itertools.pairwise(times))
    return Race(build_s, runs_s, figure_s, len(raced.runs))


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
