# SPDX-License-Identifier: Apache-2.0
"""Of two equal senders of datagrams into one full line one loses nearly all; with a jitter both lose half."""

from __future__ import annotations

import pytest

from rdcnlab.analysis.results.phase import jittered
from rdcnlab.scenario import Scenario
from tests.engines.conftest import RunGuest

pytestmark = pytest.mark.guest

NETWORK = {
    "name": "two", "switches": [{"name": "a"}, {"name": "b"}],
    "hosts": [{"name": "s[1-2]", "at": "a", "rate": "1 Gb/s"}, {"name": "r1", "at": "b", "rate": "1 Gb/s"}],
    "links": [{"name": "l", "between": ["a", "b"], "rate": "10 Mb/s", "delay": "1 ms", "buffer": "50 packets"}],
}  # fmt: skip


def test_a_jitter_of_one_frame_ends_the_phase_effect(run_guest: RunGuest) -> None:
    flows = {"name": "f[1-2]", "src": "s[1-2]", "dst": "r1", "protocol": "udp", "rate": "10 Mb/s", "until": "2 s"}
    scenario = Scenario.from_dict({"network": NETWORK, "flows": [flows], "limit": "5 s"})
    received = []
    for each in (scenario, jittered(scenario)):
        flows_of = run_guest(each).tables["flows"].set_index("flow")["received_B"]
        received.append(flows_of["f1"] / flows_of.sum())
    assert min(received[0], 1 - received[0]) < 0.1
    assert received[1] == pytest.approx(0.5, abs=0.05)
