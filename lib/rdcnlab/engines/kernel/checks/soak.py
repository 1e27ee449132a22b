# SPDX-License-Identifier: Apache-2.0
"""A campaign of random cases on the debug build; each seed has its own guest, so that one can be repeated alone.

``kernel-patches/tests/soak`` defines the cases and their checks. This module boots the guests and reports the results.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rdcnlab.engines.kernel import build, guest
from rdcnlab.engines.kernel.build import patches
from rdcnlab.engines.kernel.guest import memory
from rdcnlab.fields.errors import RunError

#: Suites with the helpers of a case, and with the switch's client.
SUITES = ("alone", "ocs", "tdtcp", "mptcp", "soak")
#: Memory of the guest in bytes: KASAN keeps freed memory for some time.
MEMORY = 768 * memory.MIB
#: Transports; and errors that can be caused on purpose, in the payload and in the kernel.
KINDS = ("tdtcp", "mptcp", "retcp", "nuftcp", "tcp")
FAULTS = ("payload", "warning", "overflow", "freed", "bug")
#: Numbers that a case reports: frames at the switch, bytes compared, events of connections.
FACTS = ("came", "told", "went", "lost", "bytes", "flows", "tdtcp", "joins", "retransmits", "timeouts", "resets")
#: Limits of a case: seconds of wall clock, and of processor time while virtual time stands still.
LIMIT_S, STALL_S = 900.0, 120.0
#: Messages of the kernel on the console when it finds an error.
COMPLAINT = re.compile(r"(BUG:|WARNING:|UBSAN:|Kernel panic|kernel BUG|INFO: (?:possible|task)).*")
#: The log level shows warnings, which `quiet` hides. SLUB's checks together with KASAN break UML's own boot.
OPTIONS = ("loglevel=5", "slab_debug=-")


@dataclass(frozen=True)
class Ended:
    """The result of a case.

    Parameters
    ----------
    seed : int
        Seed of the case.
    kind : str
        Transport of the case.
    error : str
        The error that was found; empty if there was none.
    facts : dict
        Numbers that the case reports, such as bytes compared and frames received, sent and lost.
    wall_s, virtual_s : float
        Duration in seconds of wall clock and of virtual time; 0 if the guest did not end by itself.
    directory : Path
        Directory with the case, the console and the kernel's log.
    """

    seed: int
    kind: str
    error: str
    facts: dict[str, Any]
    wall_s: float
    virtual_s: float
    directory: Path

    def row(self) -> dict[str, Any]:
        """Return the result as a row of a table."""
        case = {"seed": self.seed, "kind": self.kind, "passed": not self.error}
        facts = {name: self.facts.get(name) for name in FACTS}
        return case | facts | {"wall_s": round(self.wall_s, 1), "error": self.error[:300]}


def draw(seed: int, kind: str | None = None) -> dict[str, Any]:
    """Draw the case of a seed; `kind` replaces its transport."""
    return draw_all([seed], kind)[0]


def draw_all(seeds: Sequence[int], kind: str | None = None) -> list[dict[str, Any]]:
    """Draw the cases of several seeds, in their order; `kind` replaces their transports."""
    cases_code = "[draw.case(seed, sys.argv[1] or None) for seed in json.load(sys.stdin)]"
    code = f"import json, sys, draw; print(json.dumps({cases_code}))"
    # A separate interpreter, because the directory of the guest's modules must not be on the path of this one.
    result = subprocess.run(
        [sys.executable, "-c", code, kind or ""], input=json.dumps(list(seeds)),
        cwd=patches.root() / "tests" / "soak", capture_output=True, text=True, check=True,
    )  # fmt: skip
    cases: list[dict[str, Any]] = json.loads(result.stdout)
    return cases


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
        The build to test. Only a debug build detects all errors.
    seed : int
        Number that determines the case.
    directory : Path
        Directory for the results. It is emptied first, or made if it is missing.
    kind : str, optional
        Transport; replaces the one that the seed determines.
    fault : {'payload', 'warning', 'overflow', 'freed', 'bug'}, optional
        An error that is caused on purpose, and that the checks must find.
    core : int, optional
        Core to pin the guest to.
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
    except RunError as failure:
        error = complaint(directory / "console.log") or failure.reason
        error += "" if failure.reason in error else f" ({failure.reason})"
    outcome = directory / "outcome.json"
    facts = json.loads(outcome.read_text()).get("facts", {}) if outcome.is_file() else {}
    if not error:
        for file in directory.glob("*.py"):  # only a failed case keeps the files that are needed to examine it
            file.unlink()
    return Ended(seed, case["kind"], error, facts, wall_s, virtual_s, directory)


def complaint(log: Path) -> str:
    """Return the first complaint of the kernel in a log; empty if there is none."""
    match = COMPLAINT.search(log.read_text(errors="replace")) if log.is_file() else None
    return match[0].strip() if match else ""
