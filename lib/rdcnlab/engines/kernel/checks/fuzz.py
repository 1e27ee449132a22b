# SPDX-License-Identifier: Apache-2.0
"""Random requests to the kernel: messages of the switch's family, options of links and of sockets; by a seed.

``kernel-patches/tests/fuzz`` draws and sends them. This module boots the guest and reports the result.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

from rdcnlab.engines.kernel import build, guest
from rdcnlab.engines.kernel.build import patches
from rdcnlab.engines.kernel.checks import soak
from rdcnlab.fields.errors import RunError

#: Suites with the fuzzer, the helpers of a guest, and the books of the soak.
SUITES = ("alone", "ocs", "tdtcp", "mptcp", "soak", "fuzz")


def run(
    kernel: build.Kernel,
    seed: int,
    requests: int,
    directory: Path,
    *,
    fault: bool = False,
    core: int | None = None,
    limit_s: float = soak.LIMIT_S,
) -> soak.Ended:
    """Send the requests of a seed in a guest.

    Parameters
    ----------
    kernel : Kernel
        The build to test. Only a debug build detects all errors.
    seed, requests : int
        The seed, and how many requests are drawn from it.
    directory : Path
        Directory for the results. It is emptied first, or made if it is missing.
    fault : bool
        Whether the kernel complains on purpose.
    core : int, optional
        Core to pin the guest to.
    limit_s : float
        Seconds of wall clock.
    """
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    for suite in SUITES:
        for file in (patches.root() / "tests" / suite).glob("*.py"):
            shutil.copy(file, directory)
    for file in (build.HERE / "inside").glob("ocs*.py"):
        shutil.copy(file, directory)
    (directory / "case.json").write_text(json.dumps({"seed": seed, "requests": requests, "fault": fault}))
    error, wall_s, virtual_s = "", 0.0, 0.0
    try:
        report = guest.boot(
            kernel, directory, soak.MEMORY, python=sys.executable, inside="/run/rdcnlab", options=soak.OPTIONS,
            core=core, wall_limit_s=limit_s, stall_s=soak.STALL_S,
        )  # fmt: skip
        wall_s, virtual_s = report.wall_s, report.virtual_ns / 1e9
    except RunError as failure:
        error = soak.complaint(directory / "console.log") or failure.reason
    outcome = directory / "outcome.json"
    told = json.loads(outcome.read_text()) if outcome.is_file() else {}
    return soak.Ended(seed, "fuzz", error or told.get("error", ""), told.get("facts", {}), wall_s, virtual_s, directory)
