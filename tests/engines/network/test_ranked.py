# SPDX-License-Identifier: Apache-2.0
"""RotorNet's load balancing and Opera's two classes: tables by hand, and what real packets get of what they could."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

from rdcnlab import InputError
from rdcnlab.engines.network import compile_network, ocs
from rdcnlab.engines.network.circuits import Circuits
from rdcnlab.engines.network.ranked import rotor_lb, with_bulk
from rdcnlab.engines.network.routing import direct, shortest, valiant
from rdcnlab.runs.campaign import campaign
from rdcnlab.runs.store import Store
from rdcnlab.scenario import Scenario
from tests.documents import stated_bounds
from tests.engines.conftest import RunGuest
from tests.engines.network.test_split import TWO_DAYS, all_to_all, scenario, weeks

#: Frames of 1230.4 ns that begin in a day of 180 us and the guard after it.
DAY = 147


def test_two_hops_come_after_direct_circuits() -> None:
    routed = rotor_lb(TWO_DAYS)
    assert routed.every == direct(TWO_DAYS).every
    assert routed.own == valiant(TWO_DAYS).own
    assert routed.own_ranks is not None
    # from a to d there is no circuit on the first day, and the direct one on the second
    assert routed.own_ranks["a", "d"] == (2, 1, 1, 1)
    assert routed.own_ranks["a", "b"] == (1, 1, 2, 1)


def test_the_switch_gets_the_ranks_of_own_packets_only() -> None:
    made = compile_network(scenario("slot", routing="rotorlb"))
    ranks = {
        made.names[one["id"]]: {slot.get("rank", 0) for slot in one["slots"]}
        for one in ocs.device(made, 0)["classes"]
        if one["id"] in made.names
    }
    assert ranks["rack1>rack2"] == {0}
    assert ranks["rack1>>rack2"] == {1, 2}
    plain = compile_network(scenario("packet"))
    assert all("rank" not in slot for one in ocs.device(plain, 0)["classes"] for slot in one["slots"])


def test_large_flows_wait_for_the_direct_circuit_and_others_do_not() -> None:
    others = shortest(TWO_DAYS)
    routed = with_bulk(TWO_DAYS, others, {3})
    assert routed.every == others.every
    assert routed.way is not None
    assert routed.way(3, "a", "a", "d") == (None, None, "a1", None)
    assert routed.way(2, "a", "a", "d") == others.every["a", "d"]
    assert others.every["a", "d"][0] is not None
    assert routed.way(3, "b", "a", "d") == others.every["b", "d"]


def opera(*flows: dict[str, Any], limit: str = "20 ms", **network: Any) -> Scenario:
    data = {"fabric": "opera", "racks": 8, "uplinks": 4, "host_rate": "100 Gb/s", "bulk": "15 MB", **network}
    small = {"name": "small", "src": "h1", "dst": "h5", "size": 1000, "cc": "cubic", "start": "7.03 ms"}
    return Scenario.from_dict(
        {"network": data, "flows": [*flows, small], "limit": limit, "probes": {"bin": "1600 us", "packets": True}}
    )


def test_queues_of_large_flows_have_a_rank() -> None:
    bulk = {"name": "bulk", "src": "h1", "dst": "h5", "size": 15_000_000, "cc": "cubic"}
    waiting = {one.schedule.name: one for one in compile_network(opera(bulk)).waiting}
    assert set(waiting["rack1>rack5.2"].ranks) == {1}
    assert waiting["rack1>rack5.2"].flows == ((0, False),)
    assert not waiting["rack1>rack5"].ranks
    # only data of flows of 15 MB and more, and only in the rack of the sender
    assert sum(name.endswith(".2") for name in waiting) == 1
    smaller = compile_network(opera({**bulk, "size": 14_999_999})).waiting
    assert not any(one.flows for one in smaller)


def test_old_scenarios_have_no_word_of_it_and_a_hash_tells_them_apart() -> None:
    assert "bulk" not in str(opera(bulk=None).to_dict())
    assert len({opera(bulk=size).hash for size in (None, "15 MB", "16 MB")}) == 3
    assert scenario("slot", routing="rotorlb").hash != scenario("slot").hash


@pytest.mark.parametrize(
    ("network", "message"),
    [
        ({"fabric": "opera", "bulk": "15 MB", "routing": "direct"}, "bulk: '15 MB'.*only shortest"),
        ({"fabric": "rotornet", "routing": "rotorlb", "split": "packet"}, "only vlb spreads packets"),
        ({"fabric": "helios", "routing": "rotorlb"}, "direct, with demand"),
    ],
)
def test_wrong_settings_are_refused_in_words(network: dict[str, Any], message: str) -> None:
    flow = {"name": "f", "src": "h1", "dst": "h4", "size": 1000, "cc": "cubic"}
    with pytest.raises(InputError, match=message):
        Scenario.from_dict({"network": network, "flows": [flow]})


# Real packets --------------------------------------------------------------------------------------------------------


def ring(**network: Any) -> Scenario:
    """Return eight racks of which each sends to the next one, as much as its circuits could carry."""
    flows = [
        {
            "name": f"u{a}",
            "src": f"h{a}",
            "dst": f"h{a % 8 + 1}",
            "protocol": "udp",
            "rate": "21 Gb/s",
            "until": "9.6 ms",
        }
        for a in range(1, 9)
    ]
    data = all_to_all("1 Gb/s", **network).to_dict()
    return Scenario.from_dict({**data, "flows": flows, "limit": 9_600_000})


def gbps(frames: float) -> float:
    """Return the payload in Gb/s of a rack's datagrams in a week of 800 us."""
    return frames * 1472 * 8 / 800_000


@pytest.mark.guest
@pytest.mark.parametrize("routing", ["rotorlb", "vlb"])
def test_racks_that_all_send_use_direct_circuits_only(run_guest: RunGuest, routing: str) -> None:
    """Three times as much as circuits carry: each of the 56 pairs has one day in a week, and two hops get nothing."""
    split = {"split": "packet"} if routing == "vlb" else {}
    found, each = weeks(run_guest(all_to_all("3 Gb/s", routing=routing, **split)).tables)
    got, bound = gbps(sum(found) / 3 / 8), gbps(7 * DAY)
    assert stated_bounds()["rotornet", routing, "all"] == f"{bound:.2f} | {got:.2f} | {got / bound:.2f}"
    if routing == "rotorlb":
        assert found == [56 * DAY] * 3
        assert each.min() == each.max()


@pytest.mark.guest
@pytest.mark.parametrize("routing", ["rotorlb", "vlb", "direct"])
def test_a_ring_gets_what_two_hops_leave(run_guest: RunGuest, routing: str) -> None:
    """A rack has seven days in a week: one direct, and six for packets that each take two: at most four days' worth."""
    split = {"split": "packet"} if routing == "vlb" else {}
    got_frames = run_guest(ring(routing=routing, **split)).tables["throughput"]
    late = got_frames.query("where == 'receiver' and bin >= 48")["packets"].sum() / 6 / 8
    got, bound = gbps(late), gbps(4 * DAY)
    assert stated_bounds()["rotornet", routing, "ring"] == f"{bound:.2f} | {got:.2f} | {got / bound:.2f}"


def lit_frames(circuits: Circuits) -> int:
    """Return the frames that direct circuits of all pairs carry in a cycle: whole frames of each span, and one more."""
    total = 0
    for links in direct(circuits).every.values():
        steps = list(zip(links, circuits.durations, strict=True))
        # begin behind a dark slot, so that no span is cut
        dark = next(place for place, (link, _) in enumerate(steps) if link is None)
        for link, span in itertools.groupby([*steps[dark:], *steps[:dark]], key=lambda step: step[0]):
            if link is not None:
                total += int(sum(duration for _, duration in span) // 1230.4) + 1
    return total


@pytest.mark.guest
def test_large_flows_get_all_direct_circuits_of_opera_and_leave_small_ones_alone(run_guest: RunGuest) -> None:
    flows = [
        {"name": f"b{a}-{b}", "src": f"h{a}", "dst": f"h{b}", "protocol": "udp", "rate": "10 Gb/s", "until": "8 ms"}
        for a, b in itertools.permutations(range(1, 9), 2)
    ]
    made = opera(*flows, limit="8 ms", queue="40 MB").with_(**{"probes.packets": False})
    optics = made.network.optics
    assert optics is not None
    cycles = 1_600_000 / optics.cycle
    assert cycles == int(cycles)
    seen = run_guest(made).tables
    got = seen["throughput"].query("where == 'receiver' and bin in (2, 3) and flow != 'small'")["packets"].sum() / 2
    bound = lit_frames(Circuits.of(made.network)) * cycles
    rates = [1472 * 8 * frames / 8 / 1_600_000 for frames in (bound, got)]
    assert stated_bounds()["opera", "15 MB", "all"] == f"{rates[0]:.2f} | {rates[1]:.2f} | {got / bound:.2f}"
    alone = run_guest(opera(limit="8 ms")).tables["flows"].set_index("flow")["fct_s"]["small"]
    beside = seen["flows"].set_index("flow")["fct_s"]["small"]
    # six frames (SYN, SYN-ACK, data and answers) wait at most for the frame under way, on five lines each
    assert alone <= beside < alone + 6 * 5 * 1.2304e-6


@pytest.mark.guest
def test_packets_of_large_flows_pass_one_circuit(run_guest: RunGuest) -> None:
    flow = {"src": "h2", "dst": "h7", "protocol": "udp", "interval": "1 s"}
    flows = [{**flow, "name": name, "size": 1472 * count, "burst": count} for name, count in (("l", 300), ("s", 3))]
    seen = run_guest(opera(*flows, bulk="400 kB")).tables
    events = seen["events"]
    left = (
        events[(events["event"] == "dequeue") & events["link"].str.startswith("up")]
        .groupby("flow", observed=True)
        .size()
    )
    assert left["l"] == 300
    assert left["s"] >= 3
    waits = events[(events["event"] == "dequeue") & (events["flow"] == "s") & events["link"].str.startswith("up2")]
    # small ones leave at once, before the large flow's first frame
    assert waits["t_ns"].max() < 100_000


@pytest.mark.guest
@pytest.mark.usefixtures("ns3_models")
@pytest.mark.parametrize("kind", ["rotorlb", "bulk"])
def test_ns3_ranks_as_the_kernel_does(run_guest: RunGuest, tmp_path: Path, kind: str) -> None:
    """As many datagrams of each flow in each part of 20 us, up to a frame at a border."""
    udp = {"protocol": "udp", "interval": "1 s"}
    flows = [
        {**udp, "name": f"u{a}", "src": f"h{a}", "dst": f"h{a + 2}", "size": 1472 * count, "burst": count}
        for a, count in ((1, 400), (2, 300), (3, 20))
    ]
    fabric = {"fabric": "rotornet", "uplinks": 4, "routing": "rotorlb"} if kind == "rotorlb" else {
        "fabric": "opera", "bulk": "100 kB"
    }  # fmt: skip
    data = {"network": {**fabric, "queue": "40 MB"}, "flows": flows, "limit": "10 ms", "probes": {"bin": "20 us"}}
    made = Scenario.from_dict(data)
    seen = run_guest(made).tables
    (run,) = campaign([made.with_(**{"engine.kind": "ns3"})], store=Store(tmp_path / "runs"), workers=1, progress=False)
    found = {name: run.table(name).to_pandas() for name in ("flows", "throughput")}
    assert list(found["flows"]["received_B"]) == list(seen["flows"]["received_B"]) == [1472 * n for n in (400, 300, 20)]
    counts = [
        tables["throughput"].groupby(["where", "flow", "bin"], observed=True)["packets"].sum()
        for tables in (seen, found)
    ]
    assert counts[0].sub(counts[1], fill_value=0).abs().max() <= 1
