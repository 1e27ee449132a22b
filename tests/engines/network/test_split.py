# SPDX-License-Identifier: Apache-2.0
"""Valiant load balancing by slot, by packet and by flow: tables against hand-made ones, and what real packets do."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from rdcnlab import InputError
from rdcnlab.engines.network import compile_network, ocs, optics
from rdcnlab.engines.network.circuits import Circuits
from rdcnlab.engines.network.multipath import by_one_rack
from rdcnlab.engines.network.routing import direct, valiant
from rdcnlab.runs.campaign import campaign
from rdcnlab.runs.store import Store
from rdcnlab.scenario import Scenario
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


@pytest.mark.parametrize(("racks", "uplinks", "frames"), [(4, 2, 4), (8, 4, 5), (8, 2, 6), (16, 4, 7)])
def test_a_part_has_room_for_a_frame_of_each_queue_of_an_uplink(racks: int, uplinks: int, frames: int) -> None:
    """Frames: one under way, of other racks, direct ones, and of a share of the racks - 2 other queues."""
    made = scenario("packet", racks=racks, uplinks=uplinks)
    circuits = made.network.optics
    assert circuits is not None
    cut = [queue for queue in compile_network(made).waiting if len(queue.step.targets) > len(circuits.slots)]
    assert all(queue.own for queue in cut)
    assert len(cut) >= racks
    for queue in cut:
        targets, durations = queue.step.targets, queue.step.durations
        lit = [length for link, length in zip(targets, durations, strict=True) if link is not None]
        assert frames * FRAME - frames <= min(lit) < (frames + 1) * FRAME
        assert len(targets) <= 1024


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


def test_by_flow_more_flows_than_rules_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(optics, "MOST_RULES", 1000)
    with pytest.raises(InputError, match="at most 1000 rules; fewer flows, or split: packet"):
        compile_network(scenario("flow", flows=2000))
    network = compile_network(scenario("packet", flows=2000))
    assert len(ocs.device(network, 0)["rules"]) < 100


# Real packets --------------------------------------------------------------------------------------------------------


@pytest.mark.guest
def test_packets_of_one_flow_take_all_circuits_in_turn(run_guest: RunGuest) -> None:
    """UDP at the line's rate from rack 1 to rack 3, which has no direct circuit on the first of two days.

    A frame takes the circuit of the part in which it leaves; on this day each of the four uplinks carries a quarter.
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
    taken = []
    for instant, link in zip(left["t_ns"], left["link"], strict=True):
        part = next(n for n, begin in enumerate(begins[1:]) if instant % begins[-1] < begin)
        taken.append(str(link).partition("@")[0])
        assert taken[-1] == queue.step.targets[part]
    assert len(taken) == 1000
    bursts = [len(list(same)) for _, same in itertools.groupby(taken[:140])]
    assert max(bursts) <= 6
    shares = Counter(taken[:140])
    assert set(shares) == {f"up1-{n}" for n in (1, 2, 3, 4)}
    assert max(shares.values()) - min(shares.values()) <= 12


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
    assert ahead["packet"] > 0


def all_to_all(rate: str, **network: Any) -> Scenario:
    """Return eight racks in which each sends to each other for six weeks of four days."""
    flows = [
        {"name": f"u{a}-{b}", "src": f"h{a}", "dst": f"h{b}", "protocol": "udp", "rate": rate, "until": "4.8 ms"}
        for a, b in itertools.permutations(range(1, 9), 2)
    ]
    optical = {"fabric": "rotornet", "racks": 8, "uplinks": 2, "queue": "40 MB", "host_rate": "100 Gb/s", **network}
    data = {"network": optical, "flows": flows, "limit": "4.8 ms", "probes": {"bin": "100 us"}}
    return Scenario.from_dict(data)


def weeks(seen: dict[str, Any]) -> tuple[list[int], Any]:
    """Return the frames that receivers got in the last three weeks, and those of each flow then."""
    got = seen["throughput"].query("where == 'receiver' and bin >= 24")
    each = got.groupby("flow", observed=True)["packets"].sum()
    return list(got.groupby(got["bin"] // 8)["packets"].sum()), each


@pytest.mark.guest
@pytest.mark.parametrize("split", ["slot", "packet"])
def test_racks_that_send_less_than_half_of_what_circuits_carry_get_it(run_guest: RunGuest, split: str) -> None:
    """Most packets pass two circuits, so little more than half of all can arrive, and less than that must.

    Seven pairings on two rotors in four days: each pair has one day of 180 us, which is 147 frames of 1230.4 ns that
    begin in it. 56 pairs are 8232 frames in a week of 800 us. At 0.8 Gb/s a pair sends 54
    datagrams in a week, together 37 %.
    """
    seen = run_guest(all_to_all("0.8 Gb/s", split=split)).tables
    assert seen["queues"]["drops"].sum() == 0
    found, each = weeks(seen)
    sent = 56 * 0.8e9 / 8 / 1472 * 800e-6
    assert all(0.97 * sent < week < 1.03 * sent for week in found)
    assert sent > 0.36 * 8232
    # no rack comes last
    assert len(each) == 56
    assert each.min() > 0.85 * each.max()


@pytest.mark.guest
def test_direct_circuits_carry_all_that_fits_into_days(run_guest: RunGuest) -> None:
    found, _ = weeks(run_guest(all_to_all("3 Gb/s", routing="direct")).tables)
    assert found == [8232] * 3


@pytest.mark.guest
@pytest.mark.usefixtures("ns3_models")
@pytest.mark.parametrize("split", ["packet", "flow"])
def test_ns3_splits_as_the_kernel_does(run_guest: RunGuest, tmp_path: Path, split: str) -> None:
    """A burst of UDP from one rack to another: as many packets on each line in each part of 20 us."""
    udp = {"src": "h1", "dst": "h3", "size": 1472 * 300, "protocol": "udp", "burst": 300, "interval": "1 s"}
    network = {"fabric": "rotornet", "racks": 8, "uplinks": 4, "split": split, "queue": "40 MB"}
    data = {"network": network, "flows": [{**udp, "name": "u"}], "limit": "10 ms", "probes": {"bin": "20 us"}}
    made = Scenario.from_dict(data)
    seen = run_guest(made).tables
    store = Store(tmp_path / "runs")
    (run,) = campaign([made.with_(**{"engine.kind": "ns3"})], store=store, workers=1, progress=False)
    found = {name: run.table(name).to_pandas() for name in ("flows", "throughput", "events")}
    assert found["flows"]["received_B"].iloc[0] == seen["flows"]["received_B"].iloc[0] == 1472 * 300
    counts = [
        tables["throughput"].groupby(["where", "bin"], observed=True)["packets"].sum() for tables in (seen, found)
    ]
    assert len(counts[0]) > 20
    # a frame at the border of two parts may be some nanoseconds earlier
    assert counts[0].sub(counts[1], fill_value=0).abs().max() <= 1
    assert set(found["events"]["flow"]) == set(seen["events"]["flow"])
