# SPDX-License-Identifier: Apache-2.0
"""Boot a guest, watch it, and end it: one scenario, one guest, one core."""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import re
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from rdcnlab.engines.kernel.build import HERE, Kernel
from rdcnlab.engines.kernel.guest import memory, sandbox, watchdog
from rdcnlab.fields.errors import RunError

#: The guest's wall clock at boot, ns since 1970.
WALL_CLOCK = 1_700_000_000 * 10**9
#: Seconds of processor time without the virtual clock moving after which a guest is taken to spin.
STALL_S = 20.0
#: Virtual time after a scenario's limit within which the guest collects what was seen and ends.
MARGIN_NS = 600 * 10**9

#: Words on the console that tell why a guest ended, in the order they are looked for.
SIGNS = (
    ("Out of memory", "the guest ran out of memory; give it more with RDCNLAB_GUEST_MEMORY (MiB)"),
    ("cannot allocate memory", "the guest ran out of memory; give it more with RDCNLAB_GUEST_MEMORY (MiB)"),
    ("System is deadlocked on memory", "the guest ran out of memory; give it more with RDCNLAB_GUEST_MEMORY (MiB)"),
    ("sleep forever", "everything in the guest sleeps and no timer is left to wake it"),
    ("Kernel panic", "the guest's kernel panicked"),
    ("No space left on device", "a file system of the host is full"),
)
#: What ``tools/init.c`` prints at the end of a guest's program that did not end well.
PROGRAM_ENDED = re.compile(r"^rdcn-guest: the scenario's program (.+)$", re.MULTILINE)

#: A core; None chooses one, and ``any`` leaves the guest to the host's scheduler, which is many times slower.
Core = int | Literal["any"] | None


@dataclass(frozen=True)
class Report:
    """How a guest ended: seconds of wall clock, and ns of virtual time on its clock."""

    wall_s: float
    virtual_ns: int
    memory_bytes: int
    confinement: str


def run(
    kernel: Kernel,
    plan: dict[str, Any],
    directory: Path,
    *,
    core: Core = None,
    wall_limit_s: float = 3600.0,
    python: str,
    read: Sequence[Path] = (),
    watch: watchdog.Watcher | None = None,
    stall_s: float = STALL_S,
) -> Report:
    """Run a plan in a guest; what it saw is in `directory` afterwards.

    Parameters
    ----------
    kernel : Kernel
        The build to boot.
    plan : dict
        Made by `rdcnlab.engines.kernel.plan.compile_plan`.
    directory : Path
        The one place the guest may write to.
    core : int, 'any' or None
        Core to pin all of it to; None chooses one, ``any`` pins it nowhere.
    wall_limit_s : float
        Seconds of wall clock after which the run is given up.
    python : str
        Interpreter for the guest; it has to have Mininet.
    read : sequence of Path
        What programs of the scenario's are loaded from, beyond the system and Python.
    watch : callable, optional
        Called with the virtual time in ns now and then.
    stall_s : float
        Seconds of processor time without progress in virtual time that end the run.

    Raises
    ------
    RunError
        The guest did not end well; the message says how, the log is kept in `directory`.
    """
    buffers = sum(probe["buffer_kB"] for probe in plan["probes"])
    switches = sum(switch.get("memory_kB", 0) for switch in plan["switches"])
    need = memory.size(buffers + switches + plan["memory_kB"])
    (directory / "plan.json").write_text(json.dumps(plan, sort_keys=True))
    every = [HERE / "inside", *(Path(file) for switch in plan["switches"] for file in switch.get("files", [])), *read]
    return boot(
        kernel, directory, need, python=python, inside=str(HERE / "inside"), read=every, core=core,
        wall_limit_s=wall_limit_s, watch=watch, stall_s=stall_s, virtual_limit_ns=plan["limit_ns"] + MARGIN_NS,
    )  # fmt: skip


def boot(
    kernel: Kernel,
    directory: Path,
    need: int,
    *,
    python: str,
    inside: str,
    read: Sequence[Path] = (),
    options: Sequence[str] = (),
    core: Core = None,
    wall_limit_s: float = 3600.0,
    watch: watchdog.Watcher | None = None,
    stall_s: float = STALL_S,
    virtual_limit_ns: int | None = None,
) -> Report:
    """Boot a guest whose program writes ``outcome.json`` (``ok`` and, if not, ``error``), and wait for its end.

    Parameters
    ----------
    kernel : Kernel
        The build to boot.
    directory : Path
        The one place the guest may write to; it is /run/rdcnlab there.
    need : int
        Bytes of memory.
    python : str
        Interpreter for the guest.
    inside : str
        Directory of ``main.py``, the program, as the guest sees it.
    read : sequence of Path
        What the guest may read beyond the system and Python.
    options : sequence of str
        More for the kernel's command line.
    core, wall_limit_s, watch, stall_s
        As in `run`.
    virtual_limit_ns : int, optional
        Virtual time since boot after which the guest is ended.

    Raises
    ------
    RunError
        The guest did not end well; the message says how, the log is kept in `directory`.
    """
    directory = directory.resolve()
    log = directory / "console.log"
    room = memory.directory(need)
    clock = directory / "clock"
    clock.write_bytes(bytes(mmap.PAGESIZE))
    line = [*arguments(kernel, directory, clock, need, python, inside), *options]
    command = sandbox.command(
        kernel.launch,
        core=_pinned(core),
        write=[directory, room],
        read=[kernel.directory, kernel.tools, *read],
        program=[str(kernel.linux), *line],
    )
    # neither the user's environment nor an odd TMPDIR may reach the guest
    environment = {"TMPDIR": str(room), "HOME": str(directory), "PATH": "/usr/bin:/bin"}
    begun = time.monotonic()
    with log.open("wb") as console:
        process = subprocess.Popen(
            command, cwd=directory, env=environment, stdin=subprocess.DEVNULL, stdout=console,
            stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        try:
            limits = watchdog.Limits(wall_limit_s, stall_s, virtual_limit_ns)
            reason = watchdog.wait(process, clock, log, limits, watch)
        finally:
            # whatever happened, Ctrl-C too: nothing of the guest stays
            end(process)
    if reason is None:
        reason = _verdict(directory, log, process.returncode)
    if reason is not None:
        raise RunError(reason, log)
    return Report(time.monotonic() - begun, watchdog.read(clock), need, sandbox.kind(kernel.launch))


def arguments(kernel: Kernel, directory: Path, clock: Path, need: int, python: str, inside: str) -> list[str]:
    """Return the guest kernel's command line."""
    return [
        f"mem={need // memory.MIB}M",
        "root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro",
        f"init={kernel.tool}",
        "time-travel=inf-cpu", f"time-travel-start={WALL_CLOCK}", f"time-travel-clock={clock}",
        # of what is drawn during boot; the scenario's seed comes at its start
        "random-seed=1",
        # every interface that comes up would send solicitations at random instants; a setting in the first namespace
        # would not do, new ones take this from the module's parameter
        "ipv6.disable_ipv6=1",
        "con=null", "con0=null,fd:1", "console=tty0", "quiet", "panic=-1",
        f"uml_dir={directory}", "umid=guest",
        f"RDCN_RUN={directory}", f"RDCN_PYTHON={python}", f"RDCN_INSIDE={inside}",
    ]  # fmt: skip


def _pinned(core: Core) -> int | None:
    """Return the core to pin a guest to, if any."""
    if core is None:
        mine = sorted(os.sched_getaffinity(0))
        return mine[os.getpid() % len(mine)]
    return None if core == "any" else core


def _verdict(directory: Path, log: Path, status: int) -> str | None:
    """Return why a guest that ended by itself did not do what it was to do, or None."""
    outcome = directory / "outcome.json"
    text = log.read_text(errors="replace")
    if watchdog.complained(log):
        return watchdog.LOST
    # the kernel may have ended a part of the run, and the rest went on without it
    if outcome.is_file() and "Out of memory" not in text:
        told = json.loads(outcome.read_text())
        return None if told["ok"] else str(told["error"])
    for sign, reason in SIGNS:
        if sign in text:
            return reason
    if status < 0:
        return f"the guest was ended from outside by {signal.Signals(-status).name}"
    found = PROGRAM_ENDED.search(text)
    how = f"the guest's program {found[1]}" if found else f"the guest ended with status {status} and left no result"
    words = (text[: found.start()] if found else text).strip().splitlines()
    return how + (f": {words[-1].strip()}" if words else "")


def end(process: subprocess.Popen[bytes]) -> None:
    """End every process of a guest, by its id."""
    for _ in range(100):
        members = [one.pid for one in watchdog.members(process.pid)]
        alive = [pid for pid in members if pid != process.pid or process.poll() is None]
        if not alive:
            break
        for pid in alive:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.poll()
        time.sleep(0.01)
    process.wait()
