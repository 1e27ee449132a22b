# SPDX-License-Identifier: Apache-2.0
"""The tests of MPTCP's scheduler for time-division networks, which live beside its patch and run in a guest."""

from __future__ import annotations

import pytest

from rdcnlab.scenario import Scenario
from tests.engines.conftest import RunGuest
from tests.engines.protocols import check

pytestmark = [pytest.mark.guest, pytest.mark.slow]


def test_in_the_guest(run_guest: RunGuest, two_hosts: Scenario) -> None:
    check(run_guest, two_hosts, "mptcp", "tdm")
