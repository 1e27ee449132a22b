# SPDX-License-Identifier: Apache-2.0
"""Run the tests of our patches to User-Mode Linux in a guest. They are in the directory of these patches."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from rdcnlab.engines.kernel.build import patches
from rdcnlab.scenario import Scenario
from tests.engines.conftest import RunGuest

pytestmark = pytest.mark.guest

HERE = patches.root() / "tests" / "um"


def test_registers_stay_what_they_were(run_guest: RunGuest, two_hosts: Scenario, tmp_path: Path) -> None:
    program = tmp_path / "registers"
    subprocess.run(
        ["gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-static", "-pthread", "-o", program, HERE / "registers.c"],
        check=True,
    )
    # the directory may be mounted without permission to execute files
    line = "cp /run/rdcnlab/registers /dev/shm && /dev/shm/registers; echo status $?"
    answer = run_guest(two_hosts, commands=[("a", line)], files=[program]).answers[0]
    assert [word.strip() for word in answer.splitlines() if not word.startswith("ok ")] == ["status 0"], answer
    assert answer.count("ok ") == 6
