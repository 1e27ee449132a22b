# SPDX-License-Identifier: Apache-2.0
"""A part of ``rdcnlab bench``: the cost of judging all claims."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence

from rdcnlab.app.bench_rounds import Load, Row, Say, row
from rdcnlab.fields.errors import RunError

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
