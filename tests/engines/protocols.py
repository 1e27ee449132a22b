# SPDX-License-Identifier: Apache-2.0
"""Run the tests of a protocol, which live beside its patches, in a guest."""

from __future__ import annotations

import re

from rdcnlab.engines.kernel import build
from rdcnlab.engines.kernel.build import patches
from rdcnlab.scenario import Scenario
from tests.engines.conftest import RunGuest

#: What those of the switch have for all: a runner, namespaces, comparisons.
LAB = patches.root() / "tests" / "ocs" / "lab.py"
INSIDE = build.HERE / "inside"


def check(run_guest: RunGuest, scenario: Scenario, suite: str, name: str) -> None:
    """Run a file of a suite; fail unless each of its cases says ok."""
    line = (
        "nsenter -t 1 -n ip link del ocs0; "  # the scenario's own switch has no part in this
        "mount -t tracefs none /sys/kernel/tracing; "  # Mininet's hosts have a /sys of their own
        # a transfer that hangs would let virtual time run on for ever
        f"PYTHONPATH=/run/rdcnlab timeout 600 /usr/bin/python3 -s /run/rdcnlab/{name}.py; echo status $?; "
        "dmesg | grep -A 20 -E 'WARNING:|BUG:' | sed 's/^/not ok kernel: /'"
    )
    files = [*(patches.root() / "tests" / suite).glob("*.py"), LAB]
    files += [INSIDE / "ocs.py", INSIDE / "ocs_netlink.py"]
    answer = run_guest(scenario, commands=[("a", line)], files=files).answers[0]
    lines = [line.strip() for line in answer.splitlines()]
    assert "status 0" in lines, answer
    assert len([line for line in lines if re.match(r"ok ", line)]) >= 3, answer
    assert not [line for line in lines if line.startswith("not ok")], answer
