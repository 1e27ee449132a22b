# SPDX-License-Identifier: Apache-2.0
"""Valiant load balancing in a grid, and bounds of circuits: tables by hand, all ways of packets, and real packets."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from rdcnlab import InputError
from rdcnlab.engines.network import compile_network
from rdcnlab.engines.network.circuits import Circuits
from rdcnlab.engines.network.earliest import earliest
from rdcnlab.engines.network.spraying import sprayed
from rdcnlab.engines.network.tables import Links
from rdcnlab.runs.campaign import campaign
from rdcnlab.runs.store import Store
from rdcnlab.scenario import Scenario
from tests.documents import stated_bounds
from tests.engines.conftest import RunGuest
from tests.engines.network.random_circuits import drawn_slots

#: ns of a day and of a night of Shale, and the frames of 1230.4 ns that begin in a day and the guard after it.
DAY, NIGHT, FRAMES = 10_000, 2_000, 9


def made(flows: Iterable[dict[str, Any]] = (), limit: str = "2.4 ms", **network: Any) -> Scenario:
    shale = {"fabric": "shale", "racks": 9, "levels": 2, "routing": "vlb", "host_rate": "100 Gb/s", **network}
    some = list(flows) or [{"name": "f", "src": "h1", "dst": "h2", "size": 1000, "cc": "reno"}]
    return Scenario.from_dict({"network": shale, "flows": some, "limit": limit, "probes": {"bin": "1.2 ms"}})


def circuits_of(**network: Any) -> Circuits:
    return Circuits.of(made(**network).network)


def longest(first: Any, following: Callable[[Any], Iterable[Any]]) -> int:
    """Return the most steps from a state, over all that may follow; a circle is an error."""
    known: dict[Any, int | None] = {}

    def steps(state: Any) -> int:
        if state not in known:
            known[state] = None
            known[state] = max((1 + steps(after) for after in following(state)), default=0)
        found = known[state]
        assert found is not None, f"packets can circle by {state}"
        return found

    return steps(first)


def reached(circuits: Circuits, rack: str, links: Links) -> set[str]:
    """Return where a packet may go from a rack that leaves in any slot."""
    return {
        circuits.neighbours[slot][rack][link]
        for slot, link in enumerate(links)
        if link is not None
    }  # fmt: skip


def test_tables_of_four_racks_in_a_square() -> None:
    """Slots: rack 1 to 2 and 3 to 4, a night, rack 1 to 3 and 2 to 4, a night."""
    routed = sprayed(circuits_of(racks=4), 2)
    sprays = {(spray.rack, spray.dimension): (spray.senders, spray.links) for spray in routed.sprays}
    assert sprays["rack1", 1] == (("rack1",), ("up1", None, None, None))
    # packets of rack 2 are in rack 1 after a circuit of the first dimension, and need one of the second
    assert sprays["rack1", 2] == (("rack2",), (None, None, "up1", None))
    # those of racks 3 and 4 have had both, and take first the direct circuit of the first dimension
    assert routed.every["rack1", "rack2"] == routed.every["rack1", "rack4"] == ("up1", None, None, None)
    assert routed.every["rack1", "rack3"] == (None, None, "up1", None)


@pytest.mark.parametrize(("racks", "levels"), [(9, 2), (25, 2), (27, 3), (16, 4)])
def test_no_packet_passes_more_than_two_circuits_of_each_dimension(racks: int, levels: int) -> None:
    """Every way that the tables allow, in whatever slots a packet leaves the racks on it."""
    circuits = circuits_of(racks=racks, levels=levels)
    routed = sprayed(circuits, levels)
    most = 0
    for sender, last in itertools.permutations(circuits.racks, 2):
        queues = {spray.rack: spray.links for spray in routed.sprays if sender in spray.senders}
        assert sum(sender in spray.senders for spray in routed.sprays) == len(queues)

        def following(rack: str, last: str = last, queues: dict[str, Links] = queues) -> set[str]:
            if rack == last:
                return set()
            after = reached(circuits, rack, queues.get(rack) or routed.every[rack, last])
            assert after, "a packet would wait for ever"
            return after

        most = max(most, longest(sender, following))
    # two racks in a line: after all dimensions a packet is opposite to its sender, and no receiver is as far away
    assert most == (2 * levels if racks > 2**levels else 2 * levels - 1)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("most", [2, 3, 5])
def test_earliest_keeps_its_bound_in_whatever_slots_packets_leave(seed: int, most: int) -> None:
    racks = tuple("abcdef")
    circuits = Circuits(racks, (1000,) * 5, tuple(drawn_slots(random.Random(seed), racks, 5)))
    free = earliest(circuits).every
    apart = max(fewest(circuits, rack) for rack in racks)
    if apart > most:
        with pytest.raises(InputError, match=f"at least {apart}, the fewest circuits"):
            earliest(circuits, most)
        return
    table = earliest(circuits, most).every
    for last in racks:
        for first in racks:
            way = longest(
                first, lambda rack, last=last: reached(circuits, rack, table[rack, last]) if rack != last else ()
            )
            assert way <= most
            # what has a way without a bound has one with it
            assert first == last or any(table[first, last]) == any(free[first, last])


def fewest(circuits: Circuits, first: str) -> int:
    """Return how many circuits the furthest rack is away, whatever the slots."""
    held, steps = {first}, 0
    while True:
        more = {peer for rack in held for slot in circuits.neighbours for peer in slot[rack].values()} - held
        if not more:
            return steps
        held, steps = held | more, steps + 1


def test_a_bound_above_what_earliest_needs_changes_nothing() -> None:
    circuits = circuits_of(racks=16, levels=4)  # its racks are a cube, where no way is longer than it must be
    assert earliest(circuits, 4) == earliest(circuits)
    assert earliest(circuits_of(), 2) != earliest(circuits_of())


@pytest.mark.parametrize(
    ("network", "message"),
    [
        ({"split": "packet"}, r"split: 'packet'.*slot, with levels"),
        ({"max_hops": 4}, "max_hops.*only earliest bounds its ways"),
        ({"racks": 27, "levels": 3, "routing": "earliest", "max_hops": 2}, "at least 3, the fewest circuits"),
        ({"routing": "earliest", "max_hops": 128}, "max_hops: 128.*from 1 to 127"),
    ],
)
def test_wrong_bounds_are_refused_in_words(network: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        compile_network(made(**network))


def test_a_network_that_is_no_grid_is_refused() -> None:
    data = made(racks=4).to_dict()
    optics = data["network"]["optics"]
    for levels, message in ((3, "a root of the number of racks"), (1, "routing vlb has none")):
        optics["levels"] = levels
        with pytest.raises(InputError, match=message):
            compile_network(Scenario.from_dict({**data, "flows": [{**data["flows"][0], "dst": "h4"}]}))
    optics["levels"] = 2
    optics["routing"] = "direct"
    with pytest.raises(InputError, match="only vlb takes a circuit of each dimension"):
        Scenario.from_dict(data)
    optics |= {"routing": "vlb", "slots": [{"duration": 1000, "circuits": [["up1", "up4"]]}]}
    with pytest.raises(InputError, match="that from rack1 to rack4 changes 2"):
        compile_network(Scenario.from_dict(data))
    optics["slots"][0]["circuits"] = [["up1", "up2"], ["up3", "up4"]]
    with pytest.raises(InputError, match="rack1 has none to rack3"):
        compile_network(Scenario.from_dict(data))


def test_old_scenarios_have_neither_word() -> None:
    plain = str(made(routing="earliest").to_dict())
    assert "levels" not in plain
    assert "max_hops" not in plain
    assert (
        len({made(**more).hash for more in ({}, {"routing": "earliest"}, {"routing": "earliest", "max_hops": 2})}) == 3
    )


# Real packets --------------------------------------------------------------------------------------------------------


def bursts(count: int, **network: Any) -> Scenario:
    """Return bursts of datagrams from each rack to each other one, whose frames are events."""
    udp = {"size": 1472 * count, "protocol": "udp", "burst": count, "interval": "1 s"}
    flows = [
        {**udp, "name": f"u{a}-{b}", "src": f"h{a}", "dst": f"h{b}"} for a, b in itertools.permutations(range(1, 10), 2)
    ]
    return made(flows, limit="10 ms", **network).with_(**{"probes.packets": True})


@pytest.mark.guest
@pytest.mark.parametrize(
    ("network", "count", "most"),
    [({}, 1, 4), ({}, 10, 4), ({"routing": "earliest", "max_hops": 2}, 10, 2)],
)
def test_real_packets_pass_no_more_circuits(
    run_guest: RunGuest, network: dict[str, Any], count: int, most: int
) -> None:
    """Frames that leave by uplinks, of each flow. With one datagram, that is the number of its circuits."""
    seen = run_guest(bursts(count, **network)).tables
    assert (seen["flows"]["received_B"] == 1472 * count).all()
    events = seen["events"]
    left = events[(events["event"] == "dequeue") & events["link"].str.startswith("up")].groupby("flow", observed=True)
    assert left.size().max() <= most * count
    assert left.size().max() > (most - 1) * count


def steady(kind: str, load: float, racks: int = 9, levels: int = 2, **network: Any) -> Scenario:
    """Return steady UDP of all racks, each at a share of the bound of Shale: 1/(2 * levels) of what circuits carry."""
    side = round(racks ** (1 / levels))
    step = {"first": 1, "last": racks // side}
    pairs = (
        list(itertools.permutations(range(racks), 2))
        if kind == "all"
        else [(a, a // (s * side) * (s * side) + (a + s) % (s * side)) for s in [step[kind]] for a in range(racks)]
    )
    a_flow = load * FRAMES / (2 * levels) / (DAY + NIGHT) * racks / len(pairs)
    flow = {"protocol": "udp", "rate": round(a_flow * 1472 * 8e9), "until": 2_400_000}
    flows = [{**flow, "name": f"u{a}-{b}", "src": f"h{a + 1}", "dst": f"h{b + 1}"} for a, b in pairs]
    return made(flows, racks=racks, levels=levels, **network)


def rate(seen: dict[str, Any], racks: int) -> float:
    """Return the datagrams that a rack got in the mean in a slot, in the second half of a run: 100 slots."""
    got = seen["throughput"].query("where == 'receiver' and bin == 1")
    return float(got["packets"].sum()) / racks / (1_200_000 / (DAY + NIGHT))


@pytest.mark.guest
@pytest.mark.parametrize(
    ("kind", "words", "load", "racks", "levels"),
    [
        ("first", "first", 1.0, 9, 2), ("last", "last", 1.0, 9, 2), ("all", "all", 1.0, 9, 2),
        ("last", "last, 27 racks", 1.0, 27, 3), ("all", "overload", 3.0, 9, 2),
    ],
)  # fmt: skip
def test_racks_send_what_shale_guarantees(
    run_guest: RunGuest, kind: str, words: str, load: float, racks: int, levels: int
) -> None:
    """Nine frames begin in a slot, and each packet passes at most 2 * levels circuits: so many for each rack and slot.

    In the permutation to the neighbour in the last dimension nearly all packets pass all of these circuits, so it gets
    no more. In the others some meet their receiver's rack earlier.
    """
    seen = run_guest(steady(kind, load, racks, levels)).tables
    bound, got = FRAMES / (2 * levels), rate(seen, racks)
    assert stated_bounds()["shale", "vlb", words] == f"{bound:.2f} | {got:.2f} | {got / bound:.2f}"
    assert got >= 0.95 * bound


@pytest.mark.guest
@pytest.mark.parametrize("network", [{"max_hops": 2}, {}], ids=["bounded", "unbounded"])
def test_earliest_within_a_bound_carries_more(run_guest: RunGuest, network: dict[str, Any]) -> None:
    """All to all: two racks are 1.5 circuits apart in the mean, so a rack could send 6 of 9 frames of a slot."""
    got = rate(run_guest(steady("all", 4.0, routing="earliest", **network)).tables, 9)
    words = ("shale", "earliest", *map(str, network.values()))
    assert stated_bounds()[words] == f"6.00 | {got:.2f} | {got / 6:.2f}"


@pytest.mark.guest
@pytest.mark.usefixtures("ns3_models")
def test_ns3_sprays_as_the_kernel_does(run_guest: RunGuest, tmp_path: Path) -> None:
    """As many frames leave by each uplink."""
    udp = {"size": 1472 * 60, "protocol": "udp", "burst": 60, "interval": "1 s"}
    flows = [{**udp, "name": f"u{a}", "src": f"h{a}", "dst": f"h{b}"} for a, b in ((1, 5), (7, 3))]
    scenario = made(flows, limit="10 ms")
    kernel = run_guest(scenario).tables
    (run,) = campaign(
        [scenario.with_(**{"engine.kind": "ns3"})], store=Store(tmp_path / "runs"), workers=1, progress=False
    )
    ns3 = {name: run.table(name).to_pandas() for name in ("flows", "queues")}
    for tables in (kernel, ns3):
        assert (tables["flows"]["received_B"] == 1472 * 60).all()
    assert set(ns3["queues"]["link"]) == set(kernel["queues"]["link"])
    assert {"rack1>>dimension1", "rack2>>dimension2"} <= set(kernel["queues"]["link"])
