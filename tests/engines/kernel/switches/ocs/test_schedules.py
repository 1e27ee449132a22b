# SPDX-License-Identifier: Apache-2.0
"""Flows that share a schedule, in a guest: check its links, its queue and the way back by arithmetic."""

from __future__ import annotations

import numpy as np
import pytest

from rdcnlab.scenario import Scenario
from tests.engines.conftest import RunGuest, SharedRun

pytestmark = [pytest.mark.guest, pytest.mark.slow]

FRAME = 9014


@pytest.fixture
def hybrid() -> Scenario:
    """Two pairs of hosts with one schedule: 1 Gb/s, dark, 10 Gb/s. The way back takes another link."""
    return Scenario.from_dict(
        {
            "network": {
                "name": "hybrid",
                "mtu": 9000,
                "hosts": [{"name": name, "rate": "100 Gb/s"} for name in ("a1", "a2", "b1", "b2")],
                "links": [
                    {"name": "slow", "rate": "1 Gb/s", "delay": "100 us"},
                    {"name": "fast", "rate": "10 Gb/s", "delay": "50 us"},
                    {"name": "acks", "rate": "10 Gb/s", "delay": "300 us", "buffer": "1 MB"},
                ],
                "schedules": [
                    {
                        "name": "pair",
                        "queue": "20 packets",
                        "slots": [["6 ms", "slow"], ["1 ms", "dark"], ["3 ms", "fast"]],
                    }
                ],
            },
            "flows": [
                {"name": "flow-[1-2]", "size": "1 GB", "src": "a[1-2]", "dst": "b[1-2]", "path": "pair", "back": "acks"}
            ],
            "limit": "50 ms",
            "probes": {"bin": "100 us", "acks": True},
            "transport": {"rto_min_us": 20000},
        }
    )


def test_links_carry_what_their_slots_allow(shared_run: SharedRun, hybrid: Scenario) -> None:
    seen = shared_run(hybrid)
    throughput, flows = seen.tables["throughput"], seen.tables["flows"]
    assert not flows["finished"].any()
    carried = throughput.groupby(["where", "bin"])["bytes"].sum()
    for link, rate, begin, end in (("slow", 10**9, 0, 60), ("fast", 10**10, 70, 100)):
        of = carried[link]
        into = of.index.to_numpy() % 100
        # a frame is counted in the bin in which its transmission begins
        assert set(into[of > 0]) <= set(range(begin, end)), link
        assert of.max() <= rate / 8 * 1e-4 + 9038
    assert carried["slow"].max() > 0.8e9 / 8 * 1e-4
    # the bytes that the sender knows to be received equal the received bytes, except for the last ACKs
    acked = throughput[throughput["where"] == "sender"].groupby("flow")["bytes"].sum()
    received = flows.set_index("flow")["received_B"]
    assert (acked <= received).all()
    assert (acked > received * 0.9).all()
    # received bytes are not counted twice
    arrived = throughput[throughput["where"] == "receiver"].groupby("flow")["bytes"].sum()
    assert (received <= arrived).all()


def test_the_queue_is_shared_and_holds_in_the_dark(shared_run: SharedRun, hybrid: Scenario) -> None:
    seen = shared_run(hybrid)
    queues, events = seen.tables["queues"], seen.tables["events"]
    assert set(queues["link"]) == {"pair"}
    assert queues["max_B"].max() == 20 * FRAME
    dark = queues[(queues["bin"] % 100 >= 62) & (queues["bin"] % 100 < 69) & (queues["bin"] > 100)]
    assert len(dark) > 10
    assert dark["mean_B"].min() > 0
    drops = events[events["event"] == "drop_tail"]
    assert set(drops["link"]) == {"pair"}
    assert len(drops) == queues["drops"].sum() > 0
    slots = events[events["event"] == "slot"]
    assert set(slots["flow"]) == {"pair"}
    assert slots["t_ns"].iloc[:3].tolist() == [0, 6_000_000, 7_000_000]


def test_acks_take_the_way_back(run_guest: RunGuest, hybrid: Scenario) -> None:
    """The first RTT sample is from the handshake: the slow link in the forward direction, 300 us on the way back."""
    one = hybrid.with_(**{"probes.tcp": "ack"})
    srtt = run_guest(one).tables["tcp"].groupby("flow")["srtt_us"].first()
    assert (srtt - 400).abs().max() < 5
    back = run_guest(one.with_(**{"flows.flow-1.back": "bypass"})).tables["tcp"].groupby("flow")["srtt_us"].first()
    assert abs(back["flow-1"] - 100) < 5
    assert abs(back["flow-2"] - 400) < 5


def test_a_fold_is_that_of_the_bins(run_guest: RunGuest, shared_run: SharedRun, hybrid: Scenario) -> None:
    whole = shared_run(hybrid).tables
    folded = run_guest(
        hybrid.with_(probes={"bin": "100 us", "acks": True, "fold": "20 ms", "fold_from": "5 ms"})
    ).tables
    for name, column, scale in (("throughput", "bytes", 1), ("queues", "mean_B", 2), ("queues", "drops", 1)):
        frame = whole[name][(whole[name]["bin"] >= 50) & (whole[name]["bin"] < 450)]
        expected = np.bincount((frame["bin"] - 50) % 200, frame[column], 200)
        in_fold = np.bincount(folded[name]["bin"], folded[name][column] * scale, 200)
        assert in_fold == pytest.approx(expected)
