# SPDX-License-Identifier: Apache-2.0
"""Boot a guest, watch it, and end it. Each run has its own guest on one core."""

from __future__ import annotations

import json
import mmap
import os
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from rdcnlab.engines.kernel.build import HERE, Kernel
from rdcnlab.engines.kernel.guest import memory, quota, watchdog
from rdcnlab.engines.kernel.guest.processes import Started, started
from rdcnlab.engines.kernel.jail import sandbox
from rdcnlab.fields.errors import RunError

#: Wall clock of the guest at boot, in ns since 1970.
WALL_CLOCK = 1_700_000_000 * 10**9
#: Seconds of processor time. A guest that uses more while its virtual clock stands still counts as spinning.
STALL_S = 20.0
#: ns of virtual time after a scenario's limit in which the guest must store its results and end.
MARGIN_NS = 600 * 10**9

#: Texts on the console that show why a guest ended, in the order in which they are searched.
SIGNS = (
    ("Out of memory", "the guest ran out of memory; give it more with RDCNLAB_GUEST_MEMORY (MiB)"),
    ("cannot allocate memory", "the guest ran out of memory; give it more with RDCNLAB_GUEST_MEMORY (MiB)"),
    ("System is deadlocked on memory", "the guest ran out of memory; give it more with RDCNLAB_GUEST_MEMORY (MiB)"),
    ("sleep forever", "everything in the guest sleeps and no timer is left to wake it"),
    ("Kernel panic", "the guest's kernel panicked"),
    ("No space left on device", "a file system of the host is full"),
)
#: Message of ``tools/init.c`` if the guest's program did not end normally.
PROGRAM_ENDED = re.compile(r"^rdcn-guest: the scenario's program (.+)$", re.MULTILINE)

#: The C library of a statically linked kernel must not register an area for restartable sequences with the host. The
#: kernel unmaps this area in each new process of the guest, and the host ends a process whose area it cannot write.
NO_RSEQ = "glibc.pthread.rseq=0"

#: A core. None chooses one. ``any`` leaves the guest to the host's scheduler, which is many times slower.
Core = int | Literal["any"] | None


@dataclass(frozen=True)
class Report:
    """Statistics of a guest: wall clock in s, virtual time at its end in ns, memory, and walls of its jail."""

    wall_s: float
    virtual_ns: int
    memory_bytes: int
    jail: str


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
    visit: watchdog.Visitor | None = None,
    stall_s: float = STALL_S,
    most_processes: int | None = None,
) -> Report:
    """Run a plan in a guest; afterwards `directory` contains the results.

    Parameters
    ----------
    kernel : Kernel
        The build to boot.
    plan : dict
        The plan that `rdcnlab.engines.kernel.plan.compile_plan` made.
    directory : Path
        The only directory that the guest may write to.
    core : int, 'any' or None
        Core to which all processes of the guest are pinned. None chooses one; ``any`` does not pin.
    wall_limit_s : float
        Seconds of wall clock after which the run is stopped with an error.
    python : str
        Python interpreter for the guest; it must have Mininet.
    read : sequence of Path
        Paths that the scenario's programs are loaded from, in addition to the system and Python.
    watch : callable, optional
        Called from time to time with the virtual time in ns.
    visit : callable, optional
        Called again and again with the guest, which it may stop for a while.
    stall_s : float
        Seconds of processor time without progress in virtual time after which the run is stopped.
    most_processes : int, optional
        Number of processes of the guest from which on the run is stopped.

    Raises
    ------
    RunError
        The guest did not end normally. The message says how it ended; the log is in `directory`.
    """
    switches = sum(switch.get("memory_kB", 0) for switch in plan["switches"])
    need = memory.size(switches + plan["memory_kB"])
    (directory / "plan.json").write_text(json.dumps(plan, sort_keys=True))
    every = [HERE / "inside", *(Path(file) for switch in plan["switches"] for file in switch.get("files", [])), *read]
    return boot(
        kernel, directory, need, python=python, inside=str(HERE / "inside"), read=every, core=core,
        wall_limit_s=wall_limit_s, watch=watch, visit=visit, stall_s=stall_s,
        virtual_limit_ns=plan["limit_ns"] + MARGIN_NS, most_processes=most_processes, most_stored_B=quota.most_B(plan),
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
    visit: watchdog.Visitor | None = None,
    stall_s: float = STALL_S,
    virtual_limit_ns: int | None = None,
    most_processes: int | None = None,
    most_stored_B: int = quota.BASE,  # noqa: N803  (unit)
) -> Report:
    """Boot a guest and wait for its end; its program writes ``outcome.json`` (``ok`` and, on failure, ``error``).

    Parameters
    ----------
    kernel : Kernel
        The build to boot.
    directory : Path
        The only directory that the guest may write to; its path in the guest is /run/rdcnlab.
    need : int
        Memory of the guest in bytes.
    python : str
        Python interpreter for the guest.
    inside : str
        Directory of the guest's program ``main.py``, as a path in the guest.
    read : sequence of Path
        Paths that the guest may read in addition to the system and Python.
    options : sequence of str
        Additional options for the kernel's command line.
    core, wall_limit_s, watch, visit, stall_s
        As in `run`.
    virtual_limit_ns : int, optional
        ns of virtual time since boot after which the guest is ended.
    most_processes : int, optional
        As in `run`.
    most_stored_B : int
        Bytes in the directory from which on the run is stopped.

    Raises
    ------
    RunError
        The guest did not end normally. The message says how it ended; the log is in `directory`.
    """
    directory = directory.resolve()
    log = directory / "console.log"
    clock = directory / "clock"
    clock.write_bytes(bytes(mmap.PAGESIZE))
    # the guest must not see the user's environment or an unusual TMPDIR
    environment = {"HOME": str(directory), "PATH": "/usr/bin:/bin", "GLIBC_TUNABLES": NO_RSEQ}
    begun = time.monotonic()
    limits = watchdog.Limits(wall_limit_s, stall_s, virtual_limit_ns, most_processes, most_stored_B)
    with memory.private(need) as room, log.open("wb") as console:
        named = sandbox.DIRECTORY
        line = [*arguments(kernel, named, named / "clock", need, python, inside), *options, *programs(kernel)]
        command = sandbox.command(
            kernel.launch,
            core=_pinned(core),
            write=[directory],
            directory=directory,
            memory=room,
            most_file=max(need, most_stored_B),
            read=[kernel.directory, kernel.tools, *read],
            program=[str(kernel.linux), *line],
        )
        with started(command, directory, environment, console) as guest:
            reason = watchdog.wait(guest, clock, log, limits, watch, visit)
    if reason is None:
        reason = _verdict(directory, log, guest)
    if reason is not None:
        raise RunError(reason, log)
    return Report(time.monotonic() - begun, watchdog.read(clock), need, guest.jail)


def arguments(kernel: Kernel, directory: Path, clock: Path, need: int, python: str, inside: str) -> list[str]:
    """Return the guest kernel's command line."""
    return [
        f"mem={need // memory.MIB}M",
        "root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro",
        f"init={kernel.tool}",
        "time-travel=inf-cpu", f"time-travel-start={WALL_CLOCK}", f"time-travel-clock={clock}",
        # seed of the RNG during boot; the scenario's seed replaces it at the scenario's start
        "random-seed=1",
        # Otherwise every new interface would send IPv6 solicitations at random times. A sysctl in the first namespace
        # is not enough, because new namespaces take this value from the module's parameter.
        "ipv6.disable_ipv6=1",
        "con=null", "con0=null,fd:1", "console=tty0", "quiet", "panic=-1",
        f"uml_dir={directory}", "umid=guest",
        f"RDCN_RUN={directory}", f"RDCN_PYTHON={python}", f"RDCN_INSIDE={inside}",
    ]  # fmt: skip


def programs(kernel: Kernel) -> list[str]:
    """Return the part of the command line that names the programs that came with the kernel; ``main.py`` uses them.

    It is not among `arguments`, because results do not depend on it.
    """
    return [] if kernel.programs is None else [f"RDCN_PROGRAMS={kernel.programs}"]


def _pinned(core: Core) -> int | None:
    """Return the core to pin a guest to; None if it is not pinned."""
    if core is None:
        mine = sorted(os.sched_getaffinity(0))
        return mine[os.getpid() % len(mine)]
    return None if core == "any" else core


def _verdict(directory: Path, log: Path, guest: Started) -> str | None:
    """Return why a guest that ended by itself has failed; None if it was successful."""
    outcome = directory / "outcome.json"
    text = log.read_text(errors="replace")
    if watchdog.complained(log):
        return watchdog.LOST
    # The kernel may have killed a part of the run, and the rest continued without it.
    if outcome.is_file() and "Out of memory" not in text:
        told = json.loads(outcome.read_text())
        return None if told["ok"] else str(told["error"])
    for sign, reason in SIGNS:
        if sign in text:
            return reason
    if guest.died_of() == "SIGXFSZ":
        return "the guest wrote a file that is larger than all files of a run may be"
    if guest.died_of():
        return f"the guest was ended from outside by {guest.died_of()}"
    ended = PROGRAM_ENDED.search(text)
    how = (
        f"the guest's program {ended[1]}"
        if ended
        else f"the guest ended with status {guest.process.returncode} and left no result"
    )
    words = (text[: ended.start()] if ended else text).strip().splitlines()
    return how + (f": {words[-1].strip()}" if words else "")
