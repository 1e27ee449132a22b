# SPDX-License-Identifier: Apache-2.0
"""Start the simulator's process for a run, watch it, and end it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from rdcnlab.engines.ns3.build import Models
from rdcnlab.fields.errors import InputError, RunError

WORLD = Path(__file__).resolve().parent / "world.py"
#: Memory that a run may take in MiB, unless `$RDCNLAB_NS3_MEMORY` says otherwise, and the least that is allowed:
#: libraries take 130.
MEMORY_MIB, LEAST_MIB = 4096, 160
#: Words in errors that are caused by a lack of memory.
OUT_OF_MEMORY = ("bad_alloc", "out of memory", "failed to map segment", "annot allocate memory")
#: Signals of a process whose stack could not grow: the kernel has no error to return there.
_BAD_ADDRESS = (signal.SIGSEGV, signal.SIGBUS)
MORE_MEMORY = "the simulator ran out of memory; give it more with RDCNLAB_NS3_MEMORY (MiB)"


def run(
    models: Models, plan: dict[str, Any], directory: Path, *, core: int | None, wall_limit_s: float
) -> dict[str, Any]:
    """Run a plan in a process of its own; afterwards `directory` contains the records.

    Parameters
    ----------
    models : Models
        The compiled models.
    plan : dict
        The plan that `rdcnlab.engines.ns3.plan.compile_plan` made.
    directory : Path
        Directory for records and logs.
    core : int or None
        Core to pin the process to; None leaves it to the system.
    wall_limit_s : float
        Seconds of wall clock after which the run is stopped with an error.

    Returns
    -------
    dict
        The process's report of the run: events, times, memory, flows.

    Raises
    ------
    RunError
        The process did not end normally. The message says how it ended; the log is in `directory`.
    InputError
        ``RDCNLAB_NS3_MEMORY`` is not a size that is allowed.
    """
    directory = directory.resolve()
    memory = _memory_mib() << 20
    libraries = [str(path) for path in (*models.wheel.libraries, models.library)]
    job = {"plan": plan, "libraries": libraries, "memory": memory, "core": core}
    (directory / "plan.json").write_text(json.dumps(job, sort_keys=True))
    log = directory / "console.log"
    begun = time.monotonic()
    with log.open("wb") as console:
        process = subprocess.Popen(
            # ns-3 reads defaults of attributes from the environment, so the user's environment must not reach it
            [sys.executable, "-I", str(WORLD), str(directory)], cwd=directory, env={"LC_ALL": "C"},
            stdin=subprocess.DEVNULL, stdout=console, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        try:
            process.wait(wall_limit_s)
        except subprocess.TimeoutExpired:
            raise RunError(f"the run took more than {wall_limit_s:g} s of wall clock", log) from None
        finally:
            # whatever happened, also after Ctrl-C
            if process.poll() is None:
                process.kill()
                process.wait()
    outcome = directory / "outcome.json"
    report = json.loads(outcome.read_text()) if outcome.is_file() else {"ok": False, "error": _cause(process, log)}
    if not report["ok"]:
        raise RunError(_explained(str(report["error"])), log)
    return {**report, "wall_s": time.monotonic() - begun}


def _memory_mib() -> int:
    text = os.environ.get("RDCNLAB_NS3_MEMORY", str(MEMORY_MIB))
    if not text.isdecimal() or int(text) < LEAST_MIB:
        raise InputError.of("RDCNLAB_NS3_MEMORY", text, f"a whole number of MiB, at least {LEAST_MIB}")
    return int(text)


def _cause(process: subprocess.Popen[bytes], log: Path) -> str:
    """Describe how a process ended that left no outcome, with the last line that it printed."""
    status = process.returncode
    ending = f"by {signal.Signals(-status).name}" if status < 0 else f"with status {status}"
    if -status in _BAD_ADDRESS:
        ending += f", probably at its limit of memory, {_memory_mib()} MiB; RDCNLAB_NS3_MEMORY sets a higher limit"
    lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return f"the simulator ended {ending}" + (f": {lines[-1].strip()}" if lines else "")


def _explained(error: str) -> str:
    return MORE_MEMORY if any(sign in error for sign in OUT_OF_MEMORY) else error
