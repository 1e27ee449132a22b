# SPDX-License-Identifier: Apache-2.0
"""Run the tests of the circuit switch in a guest. They are in the directory of its patches."""

from __future__ import annotations

import re

import pytest

from rdcnlab.engines.kernel import build
from rdcnlab.engines.kernel.build import patches
from rdcnlab.scenario import Scenario
from rdcnlab.system import places
from tests.engines.conftest import RunGuest

pytestmark = [pytest.mark.guest, pytest.mark.slow]

HERE = patches.root() / "tests" / "ocs"
INSIDE = build.HERE / "inside"
CASES = places.tree() / "tests" / "queue_cases.json"


@pytest.mark.parametrize(
    "name",
    [
        "links",
        "steps",
        "faults",
        "lines",
        "cards",
        "fabric",
        "hops",
        "timetable",
        "queues",
        "cases",
        "notify",
        "retcp",
        "version",
        "netlink",
        "accounts",
        "life",
        "charge",
    ],
)
def test_in_the_guest(run_guest: RunGuest, two_hosts: Scenario, name: str) -> None:
    line = (
        "nsenter -t 1 -n ip link del ocs0; "  # the scenario's own switch, whose last packets would disturb the tests
        "mount -t tracefs none /sys/kernel/tracing; "  # Mininet's hosts have their own /sys
        f"PYTHONPATH=/run/rdcnlab /usr/bin/python3 -s /run/rdcnlab/{name}.py; echo status $?"
    )
    files = [*HERE.glob("*.py"), *INSIDE.glob("ocs*.py"), CASES]
    answer = run_guest(two_hosts, commands=[("a", line)], files=files).answers[0]
    lines = [line.strip() for line in answer.splitlines()]
    assert "status 0" in lines, answer
    assert len([line for line in lines if re.match(r"ok ", line)]) >= 3, answer
    assert not [line for line in lines if line.startswith("not ok")], answer
