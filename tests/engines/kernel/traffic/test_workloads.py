# SPDX-License-Identifier: Apache-2.0
"""Many flows in the guest: one thread carries them as threads of their own would, and times are those of arithmetic."""

from __future__ import annotations

from typing import Any

import pytest

from rdcnlab.engines.kernel.observe import limited
from rdcnlab.engines.kernel.plan.flows import by_loop
from rdcnlab.engines.kernel.traffic import quic
from rdcnlab.scenario import Scenario
from rdcnlab.scenario.ideal import ideal_ns
from tests.engines.conftest import RunGuest

FABRIC = {"fabric": "leaf-spine", "leaves": 2, "spines": 2, "hosts": 2}
#: Bytes of a full frame on the wire, its payload, and the ns that it takes at 10 Gb/s.
WIRE, PAYLOAD, FRAME_NS = 1538, 1448, 1230.4


def drawn(**fields: Any) -> Scenario:
    workload = {"name": "w", "sizes": "web-search", "arrivals": {"load": "40 %"}, "at_most": "1 MB", **fields}
    return Scenario.from_dict({"network": FABRIC, "workloads": [workload], "limit": "1 s", "seed": 3})


def test_one_thread_carries_flows_as_threads_of_their_own_do(run_guest: RunGuest) -> None:
    # flows that do not meet: the kernel draws when connections open, so those that meet differ by chance
    sizes = [1, 1448, 1449, 30_000, 40_000, 2_000_000]
    base = drawn(count=2 * len(sizes), arrivals={"interval": "10 ms"}, pattern="stride")
    pairs = [("h1", "h3"), ("h4", "h2")]
    flows = [
        {
            "name": f"f{place}",
            "size": size,
            "src": pairs[place % 2][0],
            "dst": pairs[place % 2][1],
            "start": place * 10_000_000,
            "initiator": ("src", "dst")[place // len(sizes)],
        }
        for place, size in enumerate(sizes * 2)
    ]
    by_threads = Scenario.from_dict({**base.to_dict(), "workloads": [], "flows": flows})
    looped = by_threads.model_copy(
        update={"flows": tuple(flow.model_copy(update={"workload": "w"}) for flow in by_threads.flows)}
    )
    assert not any(by_loop(by_threads, flow) for flow in by_threads.flows)
    assert all(by_loop(looped, flow) for flow in looped.flows)
    one, other = (run_guest(each).tables["flows"] for each in (by_threads, looped))
    assert one["finished"].all()
    # the clock is read once more or less, and a reading may take a nanosecond
    assert ((one["fct_s"] - other["fct_s"]).abs() < 5e-9).all()
    assert (one["received_B"] == other["received_B"]).all()


@pytest.mark.parametrize("initiator", ["src", "dst"])
def test_the_slowdown_of_a_flow_that_is_alone_is_one(run_guest: RunGuest, initiator: str) -> None:
    sizes = [1, 1000, 1448, 1449, 2897, 14_480, 32_768, 100_000, 1_000_000, 10_000_000]
    flows = [
        {"name": f"{how}{size}", "src": "h1", "dst": "h4", "size": size, "connect": how, "initiator": initiator,
         "start": 20_000_000 * (2 * place + (how == "ahead"))}
        for place, size in enumerate(sizes)
        for how in ("start", "ahead")
    ]  # fmt: skip
    # the first window, 12.3 us of the line, fills the way: four lines there and back, and a frame's time on each there
    network = {**FABRIC, "delay": "700 ns", "host_delay": "700 ns"}
    scenario = Scenario.from_dict({"network": network, "flows": flows, "limit": "1 s"})
    seen = run_guest(scenario).tables["flows"]
    for flow, fct_s in zip(scenario.flows, seen["fct_s"], strict=True):
        assert fct_s * 1e9 == pytest.approx(ideal_ns(scenario, flow), abs=FRAME_NS / 4), flow.name


@pytest.mark.parametrize("packets", [50, 200])
def test_a_fan_in_of_64_drops_what_arithmetic_says(run_guest: RunGuest, packets: int) -> None:
    port = {"rate": "10 Gb/s", "delay": "1 us", "port": {"buffer": f"{packets} packets"}}
    network = {"name": "star", "hosts": [{"name": "r", **port}, *({"name": f"s{n}", **port} for n in range(1, 65))]}
    # the first window has ten segments, which every sender sends at once
    burst = {
        "name": "b", "pattern": "incast", "to": "r", "sizes": 10 * PAYLOAD, "arrivals": "once", "connect": "ahead",
        "start": "1 ms",
    }  # fmt: skip
    scenario = Scenario.from_dict({"network": network, "workloads": [burst], "limit": "2 s"})
    seen = run_guest(scenario)
    events = seen.tables["events"]
    # 64 frames arrive at once, ten times, one frame's time apart. Meanwhile the line takes ten, and the queue is full.
    first = events[events["event"].str.startswith("drop") & (events["t_ns"] < 1_000_000 + 20_000)]
    assert len(first) == pytest.approx(64 * 10 - (packets + 10), abs=2)
    assert seen.tables["flows"]["finished"].all()


def test_large_buffers_fill_a_long_line_and_the_hint_names_them(run_guest: RunGuest) -> None:
    line = {"rate": "1 Gb/s", "host_rate": "1 Gb/s", "delay": "39 ms", "host_delay": "500 us", "buffer": "12 MB"}
    data = {
        "network": {"fabric": "dumbbell", "pairs": 1, **line},
        "flows": [{"name": "f", "src": "s1", "dst": "r1", "size": "180 MB"}],
        "limit": "20 s",
        "probes": {"bin": "100 ms"},
    }
    usual, large = Scenario.from_dict(data), Scenario.from_dict({**data, "transport": {"buffers": "large"}})
    seen = run_guest(usual)
    said = limited.hint(limited.limited(usual, seen.directory)) or ""
    assert "the send buffer limited flow f" in said
    assert "transport: {buffers: large}" in said
    seen = run_guest(large)
    assert limited.hint(limited.limited(large, seen.directory)) is None
    carried = seen.tables["throughput"].query("where == 'receiver'").groupby("bin")["bytes"].sum()
    # after slow start; a segment of 1448 B takes 1538 B of the line
    full = 1e9 / 8 * 0.1 * PAYLOAD / WIRE
    assert carried.loc[12:18].min() > 0.99 * full


def test_a_workload_repeats_byte_for_byte(run_guest: RunGuest) -> None:
    base = drawn(until="5 ms", cc="bbr")
    one, other = (run_guest(base, core=core) for core in (0, 1))
    assert one.digest == other.digest
    assert one.tables["flows"]["finished"].all()
    assert run_guest(base.with_(seed=4)).digest != one.digest


def test_flows_of_mptcp_that_are_drawn_have_a_subflow_for_each_network_and_end(run_guest: RunGuest) -> None:
    network = {"fabric": "rotor", "racks": 4, "hosts": 2, "packet_rate": "10 Gb/s"}
    workload = {
        "name": "w", "pattern": "racks", "protocol": "mptcp", "sizes": "web-search", "at_most": "1 MB",
        "arrivals": {"load": "30 %"}, "count": 10,
    }  # fmt: skip
    data = {"network": network, "workloads": [workload], "notify": {}, "limit": "1 s", "seed": 1}
    scenario = Scenario.from_dict(data)
    assert [(flow.protocol, scenario.subflows(flow)) for flow in scenario.flows] == [("mptcp", 2)] * 10
    flows = run_guest(scenario).tables["flows"]
    assert flows["finished"].all()
    assert list(flows["received_B"]) == [flow.size for flow in scenario.flows]
    assert {flow.protocol for flow in drawn(count=2).flows} == {"tcp"}


@pytest.mark.slow
def test_retcp_that_is_drawn_follows_the_circuit_of_each_pair_of_racks(run_guest: RunGuest) -> None:
    """Windows double while the pair has its circuit, mostly with its first ACKs; its day is 30 % of the time."""
    network = {"fabric": "rotor", "racks": 4, "hosts": 1, "mtu": "1500 B", "rate": "40 Gb/s", "host_rate": "40 Gb/s",
               "packet_rate": "10 Gb/s", "queue": "200 packets"}  # fmt: skip
    workload = {"name": "w", "pattern": "stride", "sizes": "100 MB", "arrivals": "once", "cc": "retcp"}
    data = {"network": {**network, "echo": "0 ns"}, "workloads": [workload], "limit": "12 ms", "probes": {"tcp": "ack"}}
    at_begin: dict[str, list[int]] = {}
    for name, fields in (("echo", data), ("plain", {**data, "network": network})):
        scenario = Scenario.from_dict(fields)
        tcp = run_guest(scenario).tables["tcp"]
        at_begin[name] = []
        for flow in scenario.flows:
            schedule = scenario.schedule(flow)
            assert schedule is not None
            before = sum(slot.duration for slot in schedule.slots[: [slot.tdn for slot in schedule.slots].index(1)])
            of = tcp[tcp["flow"] == flow.name]
            into = of["t_ns"][of["cwnd"] >= 1.9 * of["cwnd"].shift()] % schedule.cycle
            at_begin[name].append(int(((into >= before) & (into < before + 10_000)).sum()))
            # without the flag a window doubles where a reduction is undone
            assert name == "plain" or ((into >= before) & (into < before + 200_000)).mean() > 0.9
    # 20 weeks
    assert min(at_begin["echo"]) >= 15
    assert sum(at_begin["plain"]) < sum(at_begin["echo"]) / 4


@pytest.mark.slow
def test_quic_that_is_drawn_delivers_one_flow_to_each_host(run_guest: RunGuest) -> None:
    if quic.missing():
        pytest.skip(f"{', '.join(quic.missing())}: {quic.REMEDY}")
    fields = {"protocol": "quic", "pattern": "permutation", "arrivals": "once", "sizes": "200 kB"}
    flows = run_guest(drawn(**fields)).tables["flows"]
    assert flows["finished"].all()
    assert len(flows) == 4
    # payload of UDP, with QUIC's own headers
    assert ((flows["received_B"] >= 200_000) & (flows["received_B"] < 220_000)).all()
