# SPDX-License-Identifier: Apache-2.0
"""What applications of flows do, carried out in the guest: rounds, rates, pauses, stages, and datagrams alone."""

from __future__ import annotations

from typing import Any

import pytest

from rdcnlab.analysis.tables import mean_rates
from rdcnlab.engines import ns3
from rdcnlab.fields.errors import InputError
from rdcnlab.scenario import Scenario
from rdcnlab.scenario.ideal import ideal_ns
from tests.engines.conftest import RunGuest

#: Two hosts behind a line of 1 Gb/s; the way of a packet there is 101 us long, without its times on lines.
PAIR = {
    "fabric": "dumbbell", "pairs": 2, "rate": "1 Gb/s", "delay": "97 us", "host_delay": "2 us", "host_rate": "10 Gb/s",
}  # fmt: skip
PAYLOAD, WIRE, DATAGRAM = 1448, 1538, 1472
FRAME_NS = WIRE * 8


def flows(*given: dict[str, Any], **fields: Any) -> Scenario:
    named = [{"name": f"f{n}", "src": "s1", "dst": "r1", **flow} for n, flow in enumerate(given)]
    return Scenario.from_dict({"network": PAIR, "flows": named, "limit": "20 s", **fields}, text=True)


@pytest.mark.parametrize("size", [1, 1000, 10_000])
@pytest.mark.parametrize("connect", ["start", "ahead"])
def test_rounds_with_think_time_take_what_arithmetic_says(run_guest: RunGuest, size: int, connect: str) -> None:
    scenario = flows({"size": f"{size} B", "rounds": 50, "think": "3 ms", "connect": connect, "start": "1 ms"})
    row = run_guest(scenario).tables["flows"].iloc[0]
    (flow,) = scenario.flows
    assert row["received_B"] == row["size_B"] == 50 * size
    # a way there and back in each round, one more to open the connection; frames take time besides
    ways_ns = 2 * 101_000 * (50 + (connect == "start")) + 49 * 3_000_000
    assert ways_ns < row["fct_s"] * 1e9 < ways_ns + 50 * (10_000 / PAYLOAD + 3) * FRAME_NS * 1.3
    assert row["fct_s"] * 1e9 == pytest.approx(ideal_ns(scenario, flow), rel=2e-3)


def test_large_answers_come_in_rounds_too(run_guest: RunGuest) -> None:
    scenario = flows({"size": "2 MB", "rounds": 5, "think": "100 ms"})
    row = run_guest(scenario).tables["flows"].iloc[0]
    assert row["received_B"] == 10_000_000
    # the line is full in all rounds but for slow start
    least = 10_000_000 / PAYLOAD * FRAME_NS / 1e9 + 0.4
    assert least < row["fct_s"] < least + 5 * 0.01


@pytest.mark.parametrize("initiator", ["src", "dst"])
def test_a_sender_of_100_mbit_delivers_100_mbit(run_guest: RunGuest, initiator: str) -> None:
    scenario = flows({"rate": "100 Mb/s", "until": "1 s", "initiator": initiator})
    seen = run_guest(scenario)
    row = seen.tables["flows"].iloc[0]
    assert row["finished"]
    assert row["received_B"] == pytest.approx(12_500_000, rel=1e-3)
    assert float(mean_rates(seen.tables["flows"], 20, unit=1e-6).iloc[0]) == pytest.approx(100, rel=0.01)
    carried = seen.tables["throughput"].query("where == 'receiver'").set_index("bin")["bytes"]
    # segments leave evenly: 86 or 87 of them arrive in 10 ms
    in_tens = carried.groupby(carried.index // 10).sum().loc[2:98] / PAYLOAD
    assert set(in_tens) <= {86, 87}


def test_a_sender_that_is_on_and_off_is_silent_while_it_is_off(run_guest: RunGuest) -> None:
    pauses = {"rate": "80 Mb/s", "on": "20 ms", "off": "30 ms", "until": "500 ms"}
    scenario = flows(pauses, {**pauses, "protocol": "udp", "src": "s2", "dst": "r2"})
    seen = run_guest(scenario)
    table = seen.tables["flows"].set_index("flow")
    # ten times 20 ms of 80 Mb/s: 2 MB
    assert (table["received_B"] - 2_000_000).abs().max() <= 10 * DATAGRAM
    for flow, delay in (("f0", 1), ("f1", 1)):
        bins = seen.tables["throughput"].query("where == 'receiver' and flow == @flow")["bin"]
        assert set(bins[bins > 1] % 50) <= set(range(20 + delay)), flow


def test_a_sender_without_a_rate_fills_the_line_while_it_is_on(run_guest: RunGuest) -> None:
    scenario = flows({"size": "20 MB", "on": "50 ms", "off": "100 ms"}, transport={"wmem": ["4 kB", "64 kB", "64 kB"]})
    seen = run_guest(scenario)
    assert seen.tables["flows"].iloc[0]["finished"]
    bins = seen.tables["throughput"].query("where == 'receiver'")
    # what the buffer of 64 kB still has takes less than 2 ms
    assert set(bins["bin"] % 150) <= set(range(53))
    assert bins.groupby(bins["bin"] // 150)["bytes"].sum().iloc[1] > 0.02 * 125e6


def test_stages_never_overlap(run_guest: RunGuest) -> None:
    stage = {"pattern": "all-to-all", "hosts": ["s1", "s2", "r1", "r2"], "sizes": "200 kB", "arrivals": "once"}
    workloads = [
        {**stage, "name": "map"},
        {**stage, "name": "shuffle", "after": "map", "start": "1 ms"},
        {**stage, "name": "reduce", "after": "probe"},
    ]
    probe = {"name": "probe", "src": "s1", "dst": "r1", "size": "1 MB", "after": "shuffle"}
    scenario = Scenario.from_dict({"network": PAIR, "workloads": workloads, "flows": [probe], "limit": "20 s"})
    seen = run_guest(scenario).tables["flows"]
    assert seen["finished"].all()
    stages = seen.groupby(seen["flow"].str.split(".").str[0])[["start_s", "end_s"]].agg(["min", "max"])
    for one, other, gap_s in (("map", "shuffle", 1e-3), ("shuffle", "probe", 0), ("probe", "reduce", 0)):
        begins, ended = stages.loc[other, ("start_s", "min")], stages.loc[one, ("end_s", "max")]
        assert begins == pytest.approx(ended + gap_s, abs=1e-9)


def test_what_waits_for_a_flow_that_does_not_end_does_not_start(run_guest: RunGuest) -> None:
    scenario = flows({"size": "100 GB"}, {"size": "1 kB", "after": "f0"}, limit="50 ms")
    row = run_guest(scenario).tables["flows"].iloc[1]
    assert row[["start_s", "end_s", "fct_s"]].isna().all()
    assert not row["finished"]


@pytest.mark.parametrize("buffer", [100, 400])
def test_datagrams_alone_lose_what_arithmetic_says(run_guest: RunGuest, buffer: int) -> None:
    network = {**PAIR, "buffer": f"{buffer} packets"}
    scenario = flows({"protocol": "udp", "rate": "1.5 Gb/s", "until": "200 ms"}, network=network, limit="60 s")
    seen = run_guest(scenario)
    row = seen.tables["flows"].iloc[0]
    sent = scenario.total_B(scenario.flows[0]) // DATAGRAM
    assert sent == pytest.approx(0.2 * 1.5e9 / 8 / DATAGRAM, abs=1)
    # the line takes so many frames while datagrams come; then the queue is full
    passed = 0.2e9 / FRAME_NS + buffer + 1
    assert row["received_B"] / DATAGRAM == pytest.approx(passed, abs=2)
    drops = seen.tables["events"]["event"].str.startswith("drop").sum()
    assert drops == sent - row["received_B"] // DATAGRAM
    # the goodput is that of the time of sending, not of the limit
    assert row["end_s"] == pytest.approx(0.2, abs=1e-4)
    rate = float(mean_rates(seen.tables["flows"], 60, unit=1e-9).iloc[0])
    assert rate == pytest.approx(8e-9 * row["received_B"] / 0.2, rel=1e-3)


def test_bursts_alone_are_a_scenario_and_the_last_datagram_may_be_short(run_guest: RunGuest) -> None:
    scenario = flows({"protocol": "udp", "size": "100001 B", "burst": 10, "interval": "5 ms"})
    row = run_guest(scenario).tables["flows"].iloc[0]
    assert row["received_B"] == 100_001
    assert row["finished"]
    assert row["end_s"] == 7 * 0.005


def test_datagrams_beside_another_flow_have_the_goodput_of_their_time(run_guest: RunGuest) -> None:
    datagrams = {"protocol": "udp", "rate": "10 Mb/s", "until": "10 s", "src": "s2", "dst": "r2"}
    seen = run_guest(flows({"size": "10 MB", "rate": "100 Mb/s"}, datagrams)).tables["flows"]
    # the run ends with the other flow, after 0.8 s
    assert seen["end_s"].iloc[1] == pytest.approx(0.8, rel=0.01)
    assert mean_rates(seen, 20, unit=1e-6).iloc[1] == pytest.approx(10, rel=0.01)


def test_applications_repeat(run_guest: RunGuest) -> None:
    scenario = flows(
        {"size": "10 kB", "rounds": 20, "think": "1 ms", "cc": "bbr"},
        {"size": "5 MB", "rate": "400 Mb/s", "src": "s2", "dst": "r2", "cc": "bbr"},
        {"size": "1 MB", "after": "f0"},
    )
    one, other = (run_guest(scenario, core=core) for core in (0, 1))
    assert one.digest == other.digest


def test_ns3_carries_datagrams_of_a_rate_and_refuses_the_rest() -> None:
    datagrams = {"protocol": "udp", "rate": "100 Mb/s", "until": "100 ms"}
    ns3.check.check(flows(datagrams))
    refused = {
        "rounds": {"size": "1 kB", "rounds": 2},
        "rate": {"size": "1 MB", "rate": "1 Mb/s"},
        "on": {"size": "1 MB", "on": "1 ms", "off": "1 ms"},
    }
    for field, flow in refused.items():
        with pytest.raises(InputError, match=rf"flows\.[a-z0-9-]+\.{field}.*ns3, whose flows send at once"):
            ns3.check.check(flows(flow))
    with pytest.raises(InputError, match="a whole number of ns, with ns3"):
        ns3.check.check(flows({**datagrams, "rate": "1.5 Gb/s"}))
