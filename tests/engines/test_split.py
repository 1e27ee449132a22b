# SPDX-License-Identifier: Apache-2.0
"""Valiant load balancing by slot, by packet and by flow: tables against hand-made ones, and what real packets do."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from rdcnlab import InputError
from rdcnlab.engines.network import compile_network, ocs
from rdcnlab.engines.network.multipath import by_one_rack
from rdcnlab.engines.network.routing import direct, valiant
from rdcnlab.runs.campaign import campaign
from rdcnlab.runs.store import Store
from rdcnlab.scenario import Scenario
from rdcnlab.scenario.circuits import Circuits
from tests.engines.conftest import RunGuest

#: ns of a full frame of 1538 B on an uplink of 10 Gb/s, rounded up.
FRAME = 1231
#: Four racks with two uplinks: on the first day a-b and c-d by uplink 1, a-c and b-d by uplink 2; then a-d and b-c.
TWO_DAYS = Circuits(
    ("a", "b", "c", "d"),
    (900, 100, 900, 100),
    (
        {
            "a": {"a1": "b", "a2": "c"}, "b": {"b1": "a", "b2": "d"},
            "c": {"c1": "d", "c2": "a"}, "d": {"d1": "c", "d2": "b"},
        },
        {"a": {}, "b": {}, "c": {}, "d": {}},
        {"a": {"a1": "d"}, "b": {"b1": "c"}, "c": {"c1": "b"}, "d": {"d1": "a"}},
        {"a": {}, "b": {}, "c": {}, "d": {}},
    ),
)  # fmt: skip


def scenario(split: str, flows: int = 1, limit: str = "20 ms", dst: str = "h4", **network: Any) -> Scenario:
    flow = {"src": "h1", "dst": dst, "size": "2 MB", "cc": "cubic", "connect": "ahead"}
    data = {"fabric": "rotornet", "racks": 8, "uplinks": 4, "split": split, **network}
    many = [{**flow, "name": f"f{n}"} for n in range(flows)]
    return Scenario.from_dict({"network": data, "flows": many, "limit": limit, "probes": {"counters": True}})


def test_slots_with_several_circuits_are_cut_into_equal_parts() -> None:
    parts = TWO_DAYS.divided(300, 100)
    assert parts.durations == (300, 300, 300, 100, 900, 100)  # the second day has one circuit at each rack
    assert parts.neighbours[:3] == (TWO_DAYS.neighbours[0],) * 3
    # of at most five slots, the first day can have two parts only: 600 ns do not go into it twice
    assert TWO_DAYS.divided(300, 5).durations == TWO_DAYS.durations
    assert TWO_DAYS.divided(450, 5).durations == (450, 450, 100, 900, 100)
    assert sum(TWO_DAYS.divided(7, 1024).durations) == sum(TWO_DAYS.durations)
    assert min(TWO_DAYS.divided(7, 1024).durations) >= 7


def test_by_packet_the_parts_of_a_slot_take_all_circuits_in_turn() -> None:
    """From a to d: on the first day by b and by c in turn, on the second directly."""
    own = valiant(TWO_DAYS.divided(300, 100)).own
    assert own is not None
    assert own["a", "d"] == ("a2", "a1", "a2", None, "a1", None)
    assert own["b", "c"] == ("b1", "b2", "b1", None, "b1", None)
    # the direct circuit is taken where it is up
    assert own["a", "b"] == ("a1", "a1", "a1", None, "a1", None)
    by_slot = valiant(TWO_DAYS).own
    assert by_slot is not None
    assert by_slot["a", "d"] == ("a2", None, "a1", None)


def test_circuits_that_never_change_are_taken_in_turn_for_ever() -> None:
    ring = Circuits(("a", "b", "c"), (10**9,), ({"a": {"a1": "b", "a2": "c"}, "b": {"b1": "a"}, "c": {"c1": "a"}},))
    parts = ring.divided(FRAME, 1024)
    assert parts.durations == (FRAME, FRAME)
    assert valiant(parts).own == {
        ("a", "b"): ("a1", "a1"), ("a", "c"): ("a2", "a2"), ("b", "a"): ("b1", "b1"), ("b", "c"): ("b1", "b1"),
        ("c", "a"): ("c1", "c1"), ("c", "b"): ("c1", "c1"),
    }  # fmt: skip


def test_by_flow_each_flow_passes_one_rack() -> None:
    """From a to d there are three ways: directly, by b, and by c."""
    routed = by_one_rack(TWO_DAYS)
    assert routed.way is not None
    ways = {routed.way(n, "a", "a", "d") for n in range(32)}
    assert ways == {(None, None, "a1", None), ("a1", None, None, None), ("a2", None, None, None)}
    for number in range(32):
        # on their way packets wait for the direct circuit, whichever rack it is
        assert routed.way(number, "b", "a", "d") == ("b2", None, None, None)
        assert routed.way(number, "c", "a", "d") == ("c1", None, None, None)
    assert routed.every == direct(TWO_DAYS).every
    assert routed.own is None


@pytest.mark.parametrize("racks", [4, 8])
def test_flows_of_two_racks_pass_all_racks(racks: int) -> None:
    """On RotorNet each pair has a circuit, so each rack can be passed; the hash prefers none."""
    circuits = Circuits.of(scenario("flow", racks=racks, uplinks=2).network)
    routed = by_one_rack(circuits)
    assert routed.way is not None
    for first, last in itertools.permutations(circuits.racks, 2):
        passed: Counter[str] = Counter()
        for number in range(60 * (racks - 1)):
            links = routed.way(number, first, first, last)
            ((slot, link),) = [(slot, link) for slot, link in enumerate(links) if link is not None]
            passed[circuits.neighbours[slot][first][link]] += 1
        assert set(passed) == set(circuits.racks) - {first}
        # 60 are expected, with a standard deviation below 7.8
        assert all(abs(count - 60) < 4 * 7.8 for count in passed.values())


def test_parts_last_as_long_as_full_frames_and_fit_into_the_kernel() -> None:
    for racks, uplinks, frames in ((8, 4, 1), (16, 4, 1), (16, 2, 2)):
        made = scenario("packet", racks=racks, uplinks=uplinks)
        for queue in compile_network(made).waiting:
            if queue.own:
                lit = [d for link, d in zip(queue.step.targets, queue.step.durations, strict=True) if link is not None]
                assert len(queue.step.targets) <= 1024
                assert min(lit) >= frames * FRAME
                assert min(lit) < (frames + 0.1) * FRAME


def test_by_slot_is_the_default_and_changes_no_hash() -> None:
    plain = scenario("slot")
    assert "split" not in str(plain.to_dict())
    data = plain.to_dict()
    assert Scenario.from_dict(data).hash == plain.hash
    assert len({scenario(split).hash for split in ("slot", "packet", "flow")}) == 3


@pytest.mark.parametrize("routing", ["direct", "shortest", "ksp"])
def test_other_routings_split_nothing(routing: str) -> None:
    with pytest.raises(InputError, match="only vlb spreads packets over racks"):
        scenario("packet", routing=routing)


def test_by_flow_more_flows_than_rules_are_refused() -> None:
    with pytest.raises(InputError, match="at most 4096 rules; fewer flows, or split: packet"):
        compile_network(scenario("flow", flows=12000))
    network = compile_network(scenario("packet", flows=12000))
    assert len(ocs.device(network, 0)["rules"]) < 100


# Real packets --------------------------------------------------------------------------------------------------------


@pytest.mark.guest
def test_each_packet_takes_another_circuit_than_the_one_before(run_guest: RunGuest) -> None:
    """UDP at the line's rate from rack 1 to rack 3, which has no direct circuit on the first of two days.

    The four uplinks carry one frame of each four, in turn, and the frames pass four racks.
    """
    udp = {"name": "u", "src": "h1", "dst": "h3", "size": 1472 * 1000, "protocol": "udp"}
    network = {"fabric": "rotornet", "racks": 8, "uplinks": 4, "split": "packet", "queue": "40 MB"}
    flows = [{**udp, "burst": 1000, "interval": "1 s"}]
    data = {"network": network, "flows": flows, "limit": "10 ms", "probes": {"packets": True}}
    made = Scenario.from_dict(data)
    (queue,) = [one for one in compile_network(made).waiting if one.schedule.name == "rack1>>rack3"]
    begins = list(itertools.accumulate(queue.step.durations, initial=0))
    seen = run_guest(made).tables
    assert seen["flows"]["received_B"].iloc[0] == 1472 * 1000
    events = seen["events"]
    left = events[(events["event"] == "dequeue") & events["link"].str.startswith("up1-") & (events["flow"] == "u")]
    cycle = sum(queue.step.durations)
    taken = []
    for instant, link in zip(left["t_ns"], left["link"], strict=True):
        # the instant belongs to one part, and the frame takes the circuit of this part
        into = instant % cycle
        part = next(n for n, begin in enumerate(begins[1:]) if into < begin)
        assert str(link).startswith(str(queue.step.targets[part]))
        taken.append(str(link).partition("@")[0])
    assert len(taken) == 1000
    changes = sum(one != other for one, other in itertools.pairwise(taken[:100]))
    assert changes >= 98
    assert set(taken[:100]) == {f"up1-{n}" for n in (1, 2, 3, 4)}


@pytest.mark.guest
def test_packets_arrive_out_of_order_unless_a_flow_keeps_its_rack(run_guest: RunGuest) -> None:
    """Segments that the receiver had to keep, because one before them was still under way by another rack."""
    ahead = {}
    for split in ("slot", "packet", "flow"):
        seen = run_guest(scenario(split, limit="1 s", queue="4 MB")).tables
        assert seen["flows"]["finished"].all()
        events = seen["events"]
        ahead[split] = events.loc[(events["event"] == "counter TCPOFOQueue") & (events["link"] == "h4"), "value"].sum()
    assert ahead["flow"] == 0
    assert ahead["slot"] > 0
    assert ahead["packet"] > ahead["slot"]


@pytest.mark.guest
@pytest.mark.parametrize("split", ["slot", "packet", "flow"])
def test_racks_that_all_send_share_half_of_all(run_guest: RunGuest, split: str) -> None:
    """All to all at the line's rate in eight racks, against what the same circuits carry directly."""
    volumes = {}
    for routing in ("direct", "vlb"):
        network = {"fabric": "rotornet", "racks": 8, "uplinks": 2, "routing": routing, "queue": "40 MB",
                   "host_rate": "100 Gb/s", **({"split": split} if routing == "vlb" else {})}  # fmt: skip
        flows = [
            {"name": f"u{a}-{b}", "src": f"h{a}", "dst": f"h{b}", "size": 1472 * 1000, "protocol": "udp",
             "burst": 1000, "interval": "1 s"}
            for a, b in itertools.permutations(range(1, 9), 2)
        ]  # fmt: skip
        last = {"name": "end", "src": "h1", "dst": "h2", "size": "1 kB", "cc": "reno", "start": "4 ms"}
        made = Scenario.from_dict({"network": network, "flows": [*flows, last], "limit": "9 ms"})
        seen = run_guest(made).tables
        # nothing is lost: what did not arrive waits
        assert seen["queues"]["drops"].sum() == 0
        volumes[routing] = seen["flows"].set_index("flow")["received_B"].drop("end").sum()
    # a part of what is sent goes directly, so it is between a half and all
    assert 0.5 <= volumes["vlb"] / volumes["direct"] < 0.85


@pytest.mark.guest
@pytest.mark.usefixtures("ns3_models")
@pytest.mark.parametrize("split", ["packet", "flow"])
def test_ns3_splits_as_the_kernel_does(run_guest: RunGuest, tmp_path: Path, split: str) -> None:
    """A burst of UDP from one rack to another takes the same time to the last datagram, within 50 ns."""
    udp = {"src": "h1", "dst": "h3", "size": 1472 * 300, "protocol": "udp", "burst": 300, "interval": "1 s"}
    network = {"fabric": "rotornet", "racks": 8, "uplinks": 4, "split": split, "queue": "40 MB"}
    flows = [{**udp, "name": "u"}]
    made = Scenario.from_dict({"network": network, "flows": flows, "limit": "10 ms"})
    seen = run_guest(made).tables["flows"]
    store = Store(tmp_path / "runs")
    (run,) = campaign([made.with_(**{"engine.kind": "ns3"})], store=store, workers=1, progress=False)
    found = run.table("flows").to_pandas()
    assert found["received_B"].iloc[0] == seen["received_B"].iloc[0] == 1472 * 300
    assert found["fct_s"].iloc[0] == pytest.approx(seen["fct_s"].iloc[0], abs=50e-9)
