# SPDX-License-Identifier: Apache-2.0
"""The tests of time-division TCP, which live beside its patches and run in a guest."""

from __future__ import annotations

import pytest

from rdcnlab.scenario import Scenario
from tests.engines.conftest import RunGuest
from tests.engines.protocols import check

pytestmark = [pytest.mark.guest, pytest.mark.slow]


@pytest.mark.parametrize("name", ["handshake", "state", "loss"])
def test_in_the_guest(run_guest: RunGuest, two_hosts: Scenario, name: str) -> None:
    check(run_guest, two_hosts, "tdtcp", name)
