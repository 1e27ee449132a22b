# SPDX-License-Identifier: Apache-2.0
"""Run the tests of reTCP in a guest. They are in the directory of its patch."""

from __future__ import annotations

import pytest

from rdcnlab.scenario import Scenario
from tests.engines.conftest import RunGuest
from tests.engines.kernel.checks.protocols import check

pytestmark = [pytest.mark.guest, pytest.mark.slow]


@pytest.mark.parametrize("name", ["jumps", "losses", "others"])
def test_in_the_guest(run_guest: RunGuest, two_hosts: Scenario, name: str) -> None:
    check(run_guest, two_hosts, "retcp", name)
