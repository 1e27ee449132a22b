# SPDX-License-Identifier: Apache-2.0
"""Routings that spread flows over several ways: tables against hand-made ones, and against a search of all ways."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest

from rdcnlab import InputError
from rdcnlab.engines.network import compile_network, ocs, optics
from rdcnlab.engines.network.circuits import Circuits
from rdcnlab.engines.network.multipath import k_shortest, uniform_cost
from rdcnlab.engines.network.routing import shortest
from rdcnlab.scenario import Scenario
from tests.engines.conftest import RunGuest
from tests.engines.network.random_circuits import drawn_slots
from tests.engines.network.test_routing import TWO_DAYS

RING = Circuits(
    ("a", "b", "c", "d"),
    (1000,),
    (
        {
            "a": {"a1": "b", "a2": "d"},
            "b": {"b1": "c", "b2": "a"},
            "c": {"c1": "d", "c2": "b"},
            "d": {"d1": "a", "d2": "c"},
        },
    ),
)


def drawn(seed: int, slots: int = 3) -> Circuits:
    """Return random circuits of six racks with two uplinks."""
    source = random.Random(seed)
    racks = tuple("abcdef")
    found = drawn_slots(source, racks, slots)
    return Circuits(racks, tuple(source.choice((300, 1000)) for _ in range(slots)), tuple(found))


def test_ways_of_a_ring_go_round_by_both_sides() -> None:
    routed = k_shortest(RING, 4)
    assert routed.way is not None
    # a to c: by b and by d, two circuits each; there is no third way
    assert [routed.way(n, "a", "a", "c") for n in range(4)] == [("a1",), ("a2",), ("a1",), ("a2",)]
    assert [routed.way(n, "b", "a", "c") for n in (0, 1)] == [("b1",), ("b1",)]
    # a to b: the circuit itself, and by d and c, where it must not turn back
    assert [routed.way(n, "a", "a", "b") for n in (0, 1)] == [("a1",), ("a2",)]
    assert [routed.way(1, rack, "a", "b") for rack in "dc"] == [("d2",), ("c2",)]
    assert routed.every == shortest(RING).every | {("a", "c"): ("a1",), ("b", "d"): ("b2",),
                                                   ("c", "a"): ("c2",), ("d", "b"): ("d1",)}  # fmt: skip


def test_each_slot_has_ways_of_its_own_and_packets_wait_without_one() -> None:
    routed = k_shortest(TWO_DAYS, 2)
    assert routed.way is not None
    assert routed.way(0, "a", "a", "b") == routed.way(1, "a", "a", "b") == ("ua", None, None, None)
    assert routed.every["a", "d"] == (None,) * 4


@pytest.mark.parametrize("seed", range(20))
def test_no_way_outside_k_shortest_is_shorter(seed: int) -> None:
    """Against all orders of racks; every way leads to its end and passes no rack twice."""
    circuits, count = drawn(seed), 3
    routed = k_shortest(circuits, count)
    assert routed.way is not None
    for slot, (first, last) in itertools.product(range(3), itertools.permutations(circuits.racks, 2)):
        up = {rack: set(links.values()) for rack, links in circuits.neighbours[slot].items()}
        between = [rack for rack in circuits.racks if rack not in (first, last)]
        lengths = sorted(
            len(middle) + 1
            for size in range(len(between) + 1)
            for middle in itertools.permutations(between, size)
            if all(b in up[a] for a, b in itertools.pairwise((first, *middle, last)))
        )
        ways = []
        for number in range(min(count, len(lengths))):
            rack, passed = first, [first]
            while rack != last:
                link = routed.way(number, rack, first, last)[slot]
                assert link is not None
                rack = circuits.neighbours[slot][rack][link]
                assert rack not in passed
                passed.append(rack)
            ways.append(tuple(passed))
        assert [len(way) - 1 for way in ways] == lengths[:count]
        assert len(set(ways)) == len(ways)
        if not lengths:
            assert routed.way(0, first, first, last)[slot] is None


def test_least_cost_weighs_waiting_against_circuits() -> None:
    """From a to d: on the first day by b, on the second by c."""
    routed = uniform_cost(TWO_DAYS, 2, hop_cost=100)
    assert routed.way is not None
    # two circuits and the rest of the cycle between them, whichever day it is
    assert routed.way(0, "a", "a", "d") == ("ua", None, "ua", None)
    assert routed.way(0, "b", "a", "d") == (None, None, "ub", None)
    assert routed.way(0, "a", "a", "b") == ("ua", None, None, None)
    # with circuits that cost more than all waiting, a way of fewest circuits is left: both days lead to d by two
    dear = uniform_cost(TWO_DAYS, 2, hop_cost=1_000_000)
    assert dear.every["a", "b"] == ("ua", None, None, None)
    assert dear.every["a", "d"] == ("ua", None, "ua", None)


def test_ways_of_equal_cost_are_spread() -> None:
    routed = uniform_cost(RING, 2)
    assert routed.way is not None
    assert {routed.way(n, "a", "a", "c") for n in (0, 1)} == {("a1",), ("a2",)}
    assert {routed.way(n, "a", "a", "b") for n in (0, 1)} == {("a1",)}


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("hop", [50, 400, 5000])
def test_no_way_costs_less_than_those_of_uniform_cost(seed: int, hop: int) -> None:
    """Against a search of all ways of at most five circuits and nine slots; all first steps of the cheapest occur."""
    circuits = drawn(seed)
    routed = uniform_cost(circuits, 12, hop)
    assert routed.way is not None
    for slot, (first, last) in itertools.product(range(3), itertools.permutations(circuits.racks, 2)):
        best, steps = _cheapest(circuits, first, last, slot, hop)
        chosen = {routed.way(number, first, first, last)[slot] for number in range(12)}
        if best is None:
            assert chosen == {None}
        else:
            assert chosen == steps


def _cheapest(circuits: Circuits, first: str, last: str, start: int, hop: int) -> tuple[int | None, set[str | None]]:
    """Return the least cost of a way and the first steps of all ways that cost so much."""
    best: int | None = None
    steps: set[str | None] = set()
    # rack, slots waited, circuits passed, cost, first step
    stack: list[tuple[str, int, int, int, Any]] = [(first, 0, 0, 0, ())]
    while stack:
        rack, waited, passed, cost, step = stack.pop()
        if best is not None and cost > best:
            continue
        if rack == last:
            if best is None or cost < best:
                best, steps = cost, set()
            steps.add(step[0])
            continue
        slot = (start + waited) % len(circuits.durations)
        if waited < 9:
            stack.append((rack, waited + 1, passed, cost + circuits.durations[slot], step or (None,)))
        if passed < 5:
            for link, peer in circuits.neighbours[slot][rack].items():
                stack.append((peer, waited, passed + 1, cost + hop, step or (link,)))
    return best, steps


def made(routing: str, flows: int = 4, **network: Any) -> Scenario:
    many = [{"name": f"f{n}", "src": "h1", "dst": "h6", "size": 100_000, "cc": "reno"} for n in range(flows)]
    data = {"fabric": "expander", "racks": 8, "routing": routing, **network}
    return Scenario.from_dict({"network": data, "flows": many, "limit": 1_000_000_000})


@pytest.mark.parametrize("routing", ["ksp", "ucmp"])
def test_flows_of_two_racks_have_queues_of_their_own_where_their_ways_differ(routing: str) -> None:
    network = compile_network(made(routing))
    first = [queue for queue in network.waiting if (queue.rack, queue.last) == ("rack1", "rack6")]
    assert first[0].flows == ()
    assert first[0].schedule.name == "rack1>rack6"
    assert len({queue.step.targets for queue in first}) == len(first)
    rules = [rule for rule in ocs.device(network, 0)["rules"] if rule.get("dport")]
    spread = {index for queue in first for index, back in queue.flows if not back}
    assert {rule["dport"] - 5001 for rule in rules} == spread
    if routing == "ksp":
        assert len(first) > 1


def test_one_way_needs_no_rules_of_flows() -> None:
    network = compile_network(made("ksp", ways=1))
    assert not any(queue.flows for queue in network.waiting)


@pytest.mark.parametrize(
    ("network", "message"),
    [
        ({"routing": "shortest", "ways": 2}, "only ksp and ucmp spread flows"),
        ({"routing": "ksp", "hop_cost": 100}, "only ucmp has costs"),
        ({"routing": "ksp", "ways": 17}, "1 to 16"),
        ({"routing": "ucmp", "hop_cost": 0}, "1 ns"),
    ],
)
def test_what_other_routings_lack_is_refused(network: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        made(**network)


def test_more_flows_than_rules_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(optics, "MOST_RULES", 1000)
    with pytest.raises(InputError, match="at most 1000 rules; fewer flows, or ways: 1"):
        compile_network(made("ksp", flows=3000))


@pytest.mark.guest
@pytest.mark.parametrize("routing", ["ksp", "ucmp"])
def test_flows_over_several_ways_share_them(run_guest: RunGuest, routing: str) -> None:
    """Four hosts of one rack send at once: by one way they take four times as long as alone, by more they do not."""
    alone: dict[str, Any] = {"fabric": "expander", "racks": 8, "hosts": 4, "routing": routing}
    flows = [
        {"name": f"f{n}", "src": f"h{n}", "dst": f"h{20 + n}", "size": "2 MB", "cc": "cubic", "connect": "ahead"}
        for n in (1, 2, 3, 4)
    ]
    times, queues = {}, {}
    for ways in (1, 4):
        made = Scenario.from_dict({"network": {**alone, "ways": ways}, "flows": flows, "limit": "1 s"})
        seen = run_guest(made).tables
        assert seen["flows"]["finished"].all()
        times[ways] = seen["flows"]["fct_s"].max()
        queues[ways] = {name for name in seen["queues"]["link"] if str(name).startswith("rack1>rack6")}
    if routing == "ksp":
        assert times[4] < 0.75 * times[1]
        assert len(queues[4]) > len(queues[1])
