# SPDX-License-Identifier: Apache-2.0
"""Run the tests of MPTCP's scheduler for time-division networks in a guest. They are in the directory of its patch."""

from __future__ import annotations

import pandas as pd
import pytest

from rdcnlab.scenario import Scenario
from tests.engines.conftest import RunGuest, Seen
from tests.engines.kernel.checks.protocols import check

pytestmark = [pytest.mark.guest, pytest.mark.slow]


def test_in_the_guest(run_guest: RunGuest, two_hosts: Scenario) -> None:
    check(run_guest, two_hosts, "mptcp", "tdm")


@pytest.fixture
def hybrid() -> Scenario:
    """A flow with two subflows over two networks, each with its own queue."""
    tdns = [
        {"duration": "6 ms", "link": "slow", "tdn": 0},
        ["1 ms", "dark"],
        {"duration": "3 ms", "link": "fast", "tdn": 1},
    ]
    return Scenario.from_dict(
        {
            "network": {
                "name": "hybrid",
                "mtu": 9000,
                "hosts": [{"name": name, "rate": "100 Gb/s"} for name in ("a", "b")],
                "links": [
                    {"name": "slow", "rate": "1 Gb/s", "delay": "100 us"},
                    {"name": "fast", "rate": "10 Gb/s", "delay": "50 us"},
                ],
                "schedules": [{"name": name, "queue": "100 packets", "slots": tdns} for name in ("there", "back")],
            },
            "flows": [
                {
                    "name": "flow", "size": "1 GB", "src": "a", "dst": "b", "protocol": "mptcp",
                    "path": "there", "back": "back",
                }
            ],
            "notify": {},
            "mptcp": {"isolation": "all"},
            "limit": "200 ms",
            "probes": {"bin": "100 us", "acks": True, "packets": True},
            "transport": {"rto_min_us": 20000},
        }
    )  # fmt: skip


#: Share of packets that leave on the active network's subflow if a scheduler selects it. The others come from timeouts
#: of a subflow, which send when they expire, independent of the active network.
OWN = 0.99


def sent_by(seen: Seen) -> pd.DataFrame:
    """Return ``subflow`` and the active ``tdn`` of each full packet that a host has sent."""
    events = seen.tables["events"]
    full = events[(events["event"] == "enqueue") & (events["value"] > 8000) & events["link"].str.startswith("there.")]
    tdn = (full["t_ns"] % 10_000_000 >= 7_000_000).astype(int)
    return pd.DataFrame({"subflow": full["link"].str[-1].astype(int), "tdn": tdn})


def test_subflows_keep_to_their_networks(run_guest: RunGuest, hybrid: Scenario) -> None:
    seen = run_guest(hybrid)
    sent = sent_by(seen)
    assert (sent["subflow"] == sent["tdn"]).mean() > OWN
    counts = sent["subflow"].value_counts()
    assert counts[1] > counts[0] > 100
    # acknowledged bytes of both subflows equal the received bytes, except for the last ACKs and data sent on both
    received = int(seen.tables["flows"]["received_B"].iloc[0])
    throughput = seen.tables["throughput"]
    acked = throughput.loc[throughput["where"] == "sender", "bytes"].sum()
    assert acked == pytest.approx(received, rel=0.1)
    assert received > 0.5 * (6e-3 * 1e9 + 3e-3 * 1e10) / 8 * 20


def test_linux_own_scheduler_waits_for_no_network(run_guest: RunGuest, hybrid: Scenario) -> None:
    seen = run_guest(hybrid.with_(**{"mptcp.scheduler": "default", "limit": "50 ms"}))
    sent = sent_by(seen)
    assert (sent["subflow"] == sent["tdn"]).mean() < OWN
