# SPDX-License-Identifier: Apache-2.0
"""The two testbeds of `tdtcp` and connections that are opened ahead, in a guest: instants to the nanosecond."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rdcnlab.scenario import Scenario
from tests.engines.conftest import RunGuest

pytestmark = pytest.mark.guest

US, MS = 1_000, 1_000_000
#: Bits of a frame of 9000 B and of an ACK on the wire.
FRAME, ACK = (9000 + 38) * 8, (52 + 38) * 8
#: Payload of a full frame, with TCP time stamps.
MSS = 8948


def single(network: str, start: str = "0 us", **more: Any) -> Scenario:
    """Return one flow of one full frame."""
    flow = {"name": "flow-1", "size": MSS, "start": start}
    settings = {"jitter": {"start": 0}, "limit": "10 ms", "probes": {"tcp": "ack", "packets": True}}
    return Scenario.from_dict({"network": network, "flows": [flow], **settings, **more})


@pytest.mark.parametrize(
    ("network", "start_us", "there", "back", "rtt_ns"),
    [
        ("tdtcp", 0, "packet", "packet", 100_000),
        ("tdtcp", 1210, "circuit", "circuit", 40_000),
        # the reverse pair has its circuit on the days on which the data have the packet network, so that a round trip
        # takes half of each: 70 us, but for a frame and its ACK, which take 7230 and 72 ns on the packet network's link
        ("tdtcp-artefact", 10, "packet", "circuit", 73_221),
        ("tdtcp-artefact", 1210, "circuit", "packet", 66_779),
    ],
)
def test_a_frame_and_its_ack_take_the_rtt(
    run_guest: RunGuest, network: str, start_us: int, there: str, back: str, rtt_ns: int
) -> None:
    """The RTT is the sum of what lines take. Each line rounds to whole nanoseconds; data leave 1 ns after the start."""
    scenario = single(network, f"{start_us} us")
    tables = run_guest(scenario).tables
    host = scenario.network.hosts[0].rate
    # the line of a host that sends: its kernel keeps the rate, and a single packet leaves at once
    lines = [(scenario.network.link(there).rate, scenario.network.link(there).delay), (host, 0)]
    answers = [(scenario.network.link(back).rate, scenario.network.link(back).delay), (host, 0)]
    exact = sum(FRAME * 1e9 / rate + delay for rate, delay in lines)
    exact += sum(ACK * 1e9 / rate + delay for rate, delay in answers)
    seen = int(tables["tcp"]["t_ns"].iloc[0]) - start_us * US
    assert seen == pytest.approx(exact, abs=5)
    assert seen == pytest.approx(rtt_ns, abs=5)
    carried = set(tables["throughput"]["where"]) - {"receiver", "sender"}
    assert carried == {f"{there}@rack1"}


@pytest.mark.parametrize("network", ["tdtcp", "tdtcp-artefact"])
def test_slots_change_at_their_nanosecond_at_both_switches(run_guest: RunGuest, network: str) -> None:
    scenario = single(network).with_(size="100 GiB")
    slots = run_guest(scenario).tables["events"].query("event == 'slot'")
    for schedule, end in (("forward", "rack1"), ("reverse", "rack2")):
        here = slots[slots["flow"] == schedule]
        asked = scenario.network.schedule(schedule)
        assert asked is not None
        at, expected = 0, []
        while at < 10 * MS:
            for slot in asked.slots:
                expected.append((at, slot.link if slot.link == "dark" else f"{slot.link}@{end}"))
                at += slot.duration
        seen = list(zip(here["t_ns"], here["link"], strict=True))
        assert len(seen) > 20
        assert set(seen) <= set(expected)


def test_data_leave_at_the_start_if_the_connection_was_opened_ahead(run_guest: RunGuest) -> None:
    """All 16 connections are there, and every first frame reaches the switch a nanosecond after the flow's start."""
    flows = [{"name": "flow-[1-16]", "size": "1 MB"}]
    scenario = Scenario.from_dict({"network": "tdtcp", "flows": flows, "limit": "20 ms", "probes": {"packets": True}})
    at_start = {f"flows.flow-{number}.connect": "start" for number in range(1, 17)}
    for asked, later in ((scenario, 0), (scenario.with_(**at_start), 92)):
        tables = run_guest(asked).tables
        events = tables["events"]
        # 16 first windows are more than the queue takes
        arrivals = events["event"].isin(["enqueue", "drop_tail"]) & (events["link"] == "forward")
        first = events[arrivals & (events["value"] > 8000)].groupby("flow")["t_ns"].min()
        for flow, start in zip(scenario.flows, scenario.start_times(), strict=True):
            if later:
                assert first.get(flow.name, start + later * US) >= start + later * US
            else:
                assert first[flow.name] == start + 1
        assert events["t_ns"].min() >= 0
        starts = dict(zip(tables["flows"]["flow"], tables["flows"]["start_s"], strict=True))
        assert starts == {f.name: at / 1e9 for f, at in zip(scenario.flows, scenario.start_times(), strict=True)}


def test_a_flow_whose_connection_is_late_starts_when_it_is_up(run_guest: RunGuest, two_hosts: Scenario) -> None:
    """The SYN meets the dark 100 ms before the start; Linux sends it again a second later."""
    path = [["300 ms", "dark"], ["1 s", "link"]]
    seen = run_guest(two_hosts.with_(**{"flows.flow.connect": "ahead", "flows.flow.path": path}))
    flow = seen.tables["flows"].iloc[0]
    assert 0.9 < flow["start_s"] < 0.95
    assert flow["finished"]
    assert flow["fct_s"] < 0.1


def test_the_receiver_may_open_ahead_too(run_guest: RunGuest, two_hosts: Scenario) -> None:
    """It asks at the start, so data reach it an RTT later; without it, two RTTs. The cables take 100 us."""
    asked = two_hosts.with_(**{"flows.flow.initiator": "dst", "flows.flow.size": 1000, "flows.flow.path": "bypass"})
    both = (asked, asked.with_(**{"flows.flow.connect": "ahead"}))
    times = [run_guest(each).tables["flows"]["fct_s"].iloc[0] for each in both]
    assert times[0] == pytest.approx(400e-6, abs=10e-6)
    assert times[1] == pytest.approx(200e-6, abs=10e-6)


@pytest.mark.slow
@pytest.mark.parametrize("isolation", ["acks", "all", "none"])
def test_subflows_of_a_graph_keep_to_their_networks(run_guest: RunGuest, isolation: str) -> None:
    """The scheduler sends on the active network's subflow, and both subflows carry data through both switches."""
    flows = [{"name": "flow-[1-4]", "size": "100 GiB", "protocol": "mptcp"}]
    settings = {"notify": {}, "mptcp": {"isolation": isolation}, "limit": "40 ms", "probes": {"acks": True}}
    seen = run_guest(Scenario.from_dict({"network": "tdtcp", "flows": flows, **settings}))
    carried = seen.tables["throughput"].groupby("where", observed=True)["bytes"].sum()
    assert {"packet@rack1", "circuit@rack1"} <= set(carried.index)
    assert carried["receiver"] > 0.3 * 8e9 * 40e-3 / 8
    assert carried["sender"] == pytest.approx(carried["receiver"], rel=0.15)
    assert carried["circuit@rack1"] > 0.1 * carried["packet@rack1"]


@pytest.mark.slow
def test_the_echo_is_set_at_the_senders_switch(run_guest: RunGuest) -> None:
    """The window doubles with the first ACK that passes the switch in the time of the echo, and halves after it."""
    ahead = 150 * US
    echo = {"network.schedules.reverse.echo": {"of": "forward", "in_advance": ahead}}
    flow = [{"name": "flow-1", "size": "100 GiB", "cc": "retcp"}]
    probes = {"tcp": "ack", "bin": "20 us"}
    asked = Scenario.from_dict({"network": "tdtcp", "flows": flow, "limit": "20 ms", "probes": probes})
    seen = run_guest(asked.with_(**echo))
    tcp = seen.tables["tcp"]
    before = tcp["cwnd"].shift()
    into = tcp["t_ns"] % (1400 * US)
    up, down = into[tcp["cwnd"] >= 1.9 * before], into[tcp["cwnd"] <= 0.55 * before]
    begin, end = 1200 * US - ahead, 1380 * US
    # A record has the window from before its ACK, and an ACK of two frames follows the one before after 14.5 us.
    assert len(up) >= 5
    assert ((up >= begin) & (up < begin + 30 * US)).mean() > 0.7
    assert ((down >= end) & (down < end + 40 * US)).any()
    classes = json.loads((seen.directory / "switch.json").read_text())
    assert "echo" in json.dumps(classes)
