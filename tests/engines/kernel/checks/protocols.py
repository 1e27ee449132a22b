# SPDX-License-Identifier: Apache-2.0
"""Run the tests of a protocol in a guest. The tests are in the directory of the protocol's patches."""

from __future__ import annotations

import re

from rdcnlab.engines.kernel import build
from rdcnlab.engines.kernel.build import patches
from rdcnlab.scenario import Scenario
from tests.engines.conftest import RunGuest

#: The module of the switch's tests that all suites share: a runner, namespaces, comparisons.
LAB = patches.root() / "tests" / "ocs" / "lab.py"
INSIDE = build.HERE / "inside"


def check(run_guest: RunGuest, scenario: Scenario, suite: str, name: str, *shared: str) -> None:
    """Run a file of a suite, with shared files of other suites. Fail unless each of its cases reports ok."""
    line = (
        "nsenter -t 1 -n ip link del ocs0; "  # the scenario's own switch is not used
        "mount -t tracefs none /sys/kernel/tracing; "  # Mininet's hosts have their own /sys
        # if a transfer hangs, virtual time would run on forever
        f"PYTHONPATH=/run/rdcnlab timeout 600 /usr/bin/python3 -s /run/rdcnlab/{name}.py; echo status $?; "
        "dmesg | grep -A 20 -E 'WARNING:|BUG:' | sed 's/^/not ok kernel: /'"
    )
    files = [*(patches.root() / "tests" / suite).glob("*.py"), LAB]
    files += [patches.root() / "tests" / path for path in shared]
    files += INSIDE.glob("ocs*.py")
    answer = run_guest(scenario, commands=[("a", line)], files=files).answers[0]
    lines = [line.strip() for line in answer.splitlines()]
    assert "status 0" in lines, answer
    assert len([line for line in lines if re.match(r"ok ", line)]) >= 3, answer
    assert not [line for line in lines if line.startswith("not ok")], answer
