# SPDX-License-Identifier: Apache-2.0
"""A campaign of random cases on the debug build: each seed in a guest of its own, so that one can be run again alone.

What a case is and what it checks lives in ``kernel-patches/tests/soak``; here guests are booted and their ends told.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rdcnlab.engines.kernel import build, guest
from rdcnlab.engines.kernel.build import patches
from rdcnlab.engines.kernel.guest import memory
from rdcnlab.fields.errors import RunError

#: Suites whose helpers a case uses, and the switch's client.
SUITES = ("alone", "ocs", "tdtcp", "mptcp", "soak")
#: Memory of the guest: KASAN keeps what is freed for a while.
MEMORY = 768 * memory.MIB
#: Transports, and errors that can be made on purpose: in the bytes, and in the kernel.
KINDS = ("tdtcp", "mptcp", "retcp", "tcp")
FAULTS = ("payload", "warning", "overflow", "freed", "bug")
#: What a case tells of itself: frames at the switch, bytes compared, what connections met.
FACTS = ("came", "told", "went", "lost", "bytes", "flows", "tdtcp", "joins", "retransmits", "timeouts", "resets")
#: Seconds of wall clock for a case, and of processor time without virtual time moving.
LIMIT_S, STALL_S = 900.0, 120.0
#: What the kernel says when it finds an error, as it stands on the console.
COMPLAINT = re.compile(r"(BUG:|WARNING:|UBSAN:|Kernel panic|kernel BUG|INFO: (?:possible|task)).*")
#: Warnings are shown, `quiet` hides them; UML's own boot trips over SLUB's checks and KASAN together.
OPTIONS = ("loglevel=5", "slab_debug=-")


@dataclass(frozen=True)
class Ended:
    """How a case ended.

    Parameters
    ----------
    seed : int
        Of the case.
    kind : str
        Transport.
    error : str
        What was wrong; empty if nothing was.
    facts : dict
        Bytes compared, frames that came, went and were lost.
    wall_s, virtual_s : float
        What it took; 0 if the guest did not end by itself.
    directory : Path
        Case, console and kernel log.
    """

    seed: int
    kind: str
    error: str
    facts: dict[str, Any]
    wall_s: float
    virtual_s: float
    directory: Path

    def row(self) -> dict[str, Any]:
        """Return it as a row of a table."""
        told = {"seed": self.seed, "kind": self.kind, "passed": not self.error}
        facts = {name: self.facts.get(name) for name in FACTS}
        return told | facts | {"wall_s": round(self.wall_s, 1), "error": self.error[:300]}


def draw(seed: int, kind: str | None = None) -> dict[str, Any]:
    """Return the case of a seed."""
    code = "import json, sys, draw; print(json.dumps(draw.case(int(sys.argv[1]), sys.argv[2] or None)))"
    # its own interpreter: the directory of the guest's modules has no business on this one's path
    done = subprocess.run(
        [sys.executable, "-c", code, str(seed), kind or ""],
        cwd=patches.root() / "tests" / "soak", capture_output=True, text=True, check=True,
    )  # fmt: skip
    case: dict[str, Any] = json.loads(done.stdout)
    return case


def run(
    kernel: build.Kernel,
    seed: int,
    directory: Path,
    *,
    kind: str | None = None,
    fault: str | None = None,
    core: int | None = None,
) -> Ended:
    """Run the case of a seed in a guest.

    Parameters
    ----------
    kernel : Kernel
        The build to try; only a debug build sees all.
    seed : int
        Says which case.
    directory : Path
        For what it leaves; made if need be.
    kind : str, optional
        Transport, in place of the one that the seed draws.
    fault : {'payload', 'warning', 'overflow', 'freed', 'bug'}, optional
        An error made on purpose, which has to be found.
    core : int, optional
        Core to pin to.
    """
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    root = patches.root() / "tests"
    modules = [file for suite in SUITES for file in (root / suite).glob("*.py")]
    for file in [*modules, *(build.HERE / "inside").glob("ocs*.py")]:
        shutil.copy(file, directory)
    case = draw(seed, kind) | ({"fault": fault} if fault else {})
    (directory / "case.json").write_text(json.dumps(case, indent=1))
    error, wall_s, virtual_s = "", 0.0, 0.0
    try:
        report = guest.boot(
            kernel, directory, MEMORY, python=sys.executable, inside="/run/rdcnlab", options=OPTIONS, core=core,
            wall_limit_s=LIMIT_S, stall_s=STALL_S,
        )  # fmt: skip
        wall_s, virtual_s = report.wall_s, report.virtual_ns / 1e9
    except RunError as why:
        error = complaint(directory / "console.log") or why.reason
        error += "" if why.reason in error else f" ({why.reason})"
    outcome = directory / "outcome.json"
    facts = json.loads(outcome.read_text()).get("facts", {}) if outcome.is_file() else {}
    if not error:
        for file in directory.glob("*.py"):  # what failed keeps all it takes to look at it
            file.unlink()
    return Ended(seed, case["kind"], error, facts, wall_s, virtual_s, directory)


def complaint(log: Path) -> str:
    """Return the first complaint of the kernel on a console, or nothing."""
    found = COMPLAINT.search(log.read_text(errors="replace")) if log.is_file() else None
    return found[0].strip() if found else ""
