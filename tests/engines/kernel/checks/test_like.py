# SPDX-License-Identifier: Apache-2.0
"""Run the tests of older kernels' behaviour in a guest. They are in the directory of its patches."""

from __future__ import annotations

import pytest

from rdcnlab.scenario import Scenario
from tests.engines.conftest import RunGuest
from tests.engines.kernel.checks.protocols import check

pytestmark = [pytest.mark.guest, pytest.mark.slow]


@pytest.mark.parametrize("name", ["timers", "behaviour"])
def test_in_the_guest(run_guest: RunGuest, two_hosts: Scenario, name: str) -> None:
    check(run_guest, two_hosts, "like", name, "retcp/path.py")
