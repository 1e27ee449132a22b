# SPDX-License-Identifier: Apache-2.0
"""Run the tests of NUFTCP in a guest. They are in the directory of its patches."""

from __future__ import annotations

import pytest

from rdcnlab.scenario import Scenario
from tests.engines.conftest import RunGuest
from tests.engines.kernel.checks.protocols import check

pytestmark = [pytest.mark.guest, pytest.mark.slow]


@pytest.mark.parametrize("name", ["window", "hold"])
def test_in_the_guest(run_guest: RunGuest, two_hosts: Scenario, name: str) -> None:
    check(run_guest, two_hosts, "nuftcp", name, "retcp/path.py")
