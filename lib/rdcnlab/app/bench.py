# SPDX-License-Identifier: Apache-2.0
"""Measure the speed of the engine, and the cost of scoring. Goals are ratios, because seconds depend on the machine.

Measurements that are compared are made in the same rounds, see `rdcnlab.app.bench_rounds`. All parts together take six
minutes on two idle cores, so a workload that is added needs a short one beside it.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence

from rdcnlab.app import bench_cluster, bench_packets, bench_use
from rdcnlab.app.bench_rounds import Load, Row, Say, missing, row, silent
from rdcnlab.fields.errors import RunError
from rdcnlab.system import progress

#: Starts a command and waits for all processes that it leaves: workers of a pool end after it, and their time counts.
_WITH_ALL = """
import contextlib, ctypes, os, subprocess, sys
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
status = subprocess.call(sys.argv[1:])
with contextlib.suppress(ChildProcessError):
    while True:
        os.wait()
sys.exit(status)
"""


def scores(say: Say) -> Iterator[Row]:
    """Yield what the scorecard of all items costs."""
    say("score of all items")
    yield from scoring()


#: What is measured, in this order: names for the progress bar, and generators of rows.
PARTS: dict[str, Callable[[Say], Iterator[Row]]] = {
    "two flows": bench_packets.kernel,
    "fabrics": bench_packets.fabric,
    "shapes of long runs": bench_packets.shapes,
    "switches": bench_packets.switches,
    "ns-3": bench_packets.simulated,
    "local pool": bench_cluster.local,
    "cluster": bench_cluster.cluster,
    "explorer": bench_use.first_curves,
    "own algorithm": bench_use.races,
    "score": scores,
}


def measure(*, shown: bool = True) -> Iterator[Row]:
    """Yield one row for each measurement; the fields are those of `rdcnlab.app.bench_rounds.row`.

    Parameters
    ----------
    shown : bool
        Whether to show a progress bar.

    Raises
    ------
    RunError
        A part failed. Its row says so, and the parts after it are measured before.
    """
    failed = []
    with contextlib.closing(progress.bar(len(PARTS), "part", shown=shown)) as bar:
        for name, part in PARTS.items():
            # in a log, only the end of a part makes a line
            say: Say = (lambda message: bar.set_postfix_str(message)) if sys.stderr.isatty() else silent
            try:
                yield from part(say)
            except RunError as error:
                failed.append(name)
                yield missing(name, f"it failed: {error}")
            bar.update()
    if failed:
        raise RunError(f"parts of the benchmark failed: {', '.join(failed)}")


def scoring(names: Sequence[str] = ()) -> Iterator[Row]:
    """Yield time and memory for judging all stored results, or those of some items, in a separate process."""
    load, begun = Load(), time.monotonic()
    line = "from rdcnlab.app.cli import main; main()"
    command = [sys.executable, "-c", line, "score", "--again", *names]
    process = subprocess.Popen([sys.executable, "-c", _WITH_ALL, *command], stdout=subprocess.DEVNULL)
    try:
        _, status, used = os.wait4(process.pid, 0)
    except BaseException:
        process.kill()
        raise
    process.returncode = os.waitstatus_to_exitcode(status)
    wall, other = time.monotonic() - begun, load.other()
    if process.returncode:
        raise RunError(f"rdcnlab score ended with {process.returncode}")
    label = " ".join(["rdcnlab score", *names])
    # Linux gives kB
    peak_mb = used.ru_maxrss * 1024 / 1e6
    yield row(label, [wall], "s", at_most=None if names else 20, other=other)
    yield row(f"{label}: time on cores", [used.ru_utime + used.ru_stime], "s", other=other)
    yield row(f"{label}: memory of its largest process", [peak_mb], "MB", at_most=None if names else 700, other=other)
