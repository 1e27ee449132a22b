# SPDX-License-Identifier: Apache-2.0
"""Routings over circuits: tables against hand-made ones, and against a search of all ways."""

from __future__ import annotations

import random
from typing import Any

import pytest

from rdcnlab.engines.network import compile_network
from rdcnlab.engines.network.circuits import Circuits
from rdcnlab.engines.network.routing import direct, earliest, shortest, valiant
from rdcnlab.engines.network.tables import Routed
from rdcnlab.scenario import Scenario
from tests.engines.network.random_circuits import drawn_slots

#: Two pairings of four racks, one uplink each, with a night after each.
TWO_DAYS = Circuits(
    ("a", "b", "c", "d"),
    (900, 100, 900, 100),
    (
        {"a": {"ua": "b"}, "b": {"ub": "a"}, "c": {"uc": "d"}, "d": {"ud": "c"}},
        {"a": {}, "b": {}, "c": {}, "d": {}},
        {"a": {"ua": "c"}, "c": {"uc": "a"}, "b": {"ub": "d"}, "d": {"ud": "b"}},
        {"a": {}, "b": {}, "c": {}, "d": {}},
    ),
)


def test_direct_waits_for_the_circuit_to_the_receiver() -> None:
    table = direct(TWO_DAYS).every
    assert table["a", "b"] == ("ua", None, None, None)
    assert table["a", "c"] == (None, None, "ua", None)
    assert table["a", "d"] == (None,) * 4  # no day joins a and d


def test_valiant_takes_any_circuit_from_its_own_hosts_and_waits_in_the_next_rack() -> None:
    tables = valiant(TWO_DAYS)
    assert tables.own is not None
    assert tables.own["a", "b"] == ("ua", None, "ua", None)
    assert tables.every["c", "b"] == (None,) * 4
    assert tables.every == direct(TWO_DAYS).every


def test_earliest_passes_a_rack_on_the_way() -> None:
    table = earliest(TWO_DAYS).every
    assert table["a", "d"] == ("ua", None, "ua", None)  # by b or by c, whichever day it is
    assert table["b", "d"] == (None, None, "ub", None)
    # from a on the first day: to b at once, which has its circuit to d on the second day
    assert table["a", "b"] == ("ua", None, None, None)


def test_shortest_uses_what_is_up_and_waits_otherwise() -> None:
    ring = {
        "a": {"a1": "b", "a2": "d"},
        "b": {"b1": "c", "b2": "a"},
        "c": {"c1": "d", "c2": "b"},
        "d": {"d1": "a", "d2": "c"},
    }
    table = shortest(Circuits(("a", "b", "c", "d"), (1,), (ring,))).every
    assert table["a", "b"] == ("a1",)
    assert table["a", "c"] in {("a1",), ("a2",)}
    assert shortest(TWO_DAYS).every["a", "d"] == (None,) * 4


def scenario(**network: Any) -> Scenario:
    flow = {"name": "f", "src": "h1", "dst": "h2", "size": 1000, "cc": "reno"}
    return Scenario.from_dict({"network": network, "flows": [flow]})


@pytest.mark.parametrize("seed", range(20))
def test_no_way_arrives_in_an_earlier_slot_than_that_of_earliest(seed: int) -> None:
    """Against a search of every rack that a packet can be in, slot by slot, on six racks with random circuits."""
    drawn = random.Random(seed)
    racks = tuple("abcdef")
    slots = drawn_slots(drawn, racks, 5)
    circuits = Circuits(racks, (1000,) * 5, tuple(slots))
    table = earliest(circuits).every
    for first in racks:
        for start in range(5):
            arrival = _first_slots(circuits, first, start)
            for last in racks:
                if last != first and last in arrival:
                    assert _followed(circuits, table, first, last, start) == arrival[last]


def _first_slots(circuits: Circuits, first: str, start: int) -> dict[str, int]:
    """Return after how many slots each rack can be reached, found by search."""
    held, arrival = {first}, {first: 0}
    for waited in range(20):
        up = circuits.neighbours[(start + waited) % len(circuits.durations)]
        while True:
            more = {peer for rack in held for peer in up[rack].values()} - held
            if not more:
                break
            held |= more
            arrival |= dict.fromkeys(more, waited)
    return arrival


def _followed(circuits: Circuits, table: Any, first: str, last: str, start: int) -> int | None:
    """Return after how many slots a packet arrives that follows a table."""
    rack = first
    for waited in range(20):
        slot = (start + waited) % len(circuits.durations)
        for _ in circuits.racks:
            link = None if rack == last else table[rack, last][slot]
            if link is None:
                break
            rack = circuits.neighbours[slot][rack][link]
        if rack == last:
            return waited
    return None


def test_each_pair_of_a_rotornet_has_its_circuit_once_in_a_cycle() -> None:
    for uplinks in (1, 2, 3):
        circuits = Circuits.of(scenario(fabric="rotornet", racks=8, uplinks=uplinks).network)
        table = direct(circuits).every
        assert {sum(link is not None for link in links) for links in table.values()} == {1}
        assert len(table) == 8 * 7


@pytest.mark.parametrize(("racks", "uplinks"), [(8, 4), (12, 4), (16, 4), (32, 5)])
def test_racks_of_opera_reach_each_other_at_every_instant(racks: int, uplinks: int) -> None:
    circuits = Circuits.of(scenario(fabric="opera", racks=racks, uplinks=uplinks).network)
    assert all(link is not None for links in shortest(circuits).every.values() for link in links)
    # and each pair has a circuit of its own once in a cycle, which large flows wait for
    assert all(any(links) for links in direct(circuits).every.values())


@pytest.mark.parametrize("pairings", ["random", "circle"])
def test_each_uplink_of_opera_turns_alone(pairings: str) -> None:
    circuits = Circuits.of(scenario(fabric="opera", racks=8, uplinks=4, pairings=pairings).network)
    for place, slot in enumerate(circuits.neighbours):
        assert all(len(here) == (4 if place % 2 == 0 else 3) for here in slot.values())


def test_sirius_joins_each_rack_with_every_other_one_in_one_direction() -> None:
    circuits = Circuits.of(scenario(fabric="sirius", racks=8).network)
    firsts = [slot["rack1"].get("up1") for slot in circuits.neighbours[::2]]
    assert firsts == [f"rack{n}" for n in range(2, 9)]


@pytest.mark.parametrize(("racks", "levels"), [(9, 2), (27, 3), (16, 4)])
def test_a_packet_of_shale_needs_as_many_circuits_as_there_are_levels(racks: int, levels: int) -> None:
    circuits = Circuits.of(scenario(fabric="shale", racks=racks, levels=levels).network)
    side = round(racks ** (1 / levels))
    assert len(circuits.durations) == 2 * levels * (side - 1)  # with the nights; RotorNet has racks - 1 days
    fewest = {"rack1": 0}
    for slot in circuits.neighbours * levels:
        passed = {peer: fewest[rack] + 1 for rack in fewest for peer in slot[rack].values()}
        fewest |= {rack: min(count, fewest.get(rack, count)) for rack, count in passed.items()}
    assert len(fewest) == racks
    assert max(fewest.values()) == levels


def test_jupiter_gives_more_circuits_to_pairs_with_more_demand() -> None:
    demand = [[0] * 6 for _ in range(6)]
    demand[0][3] = demand[3][0] = 100
    demand[1][2] = 1
    circuits = Circuits.of(scenario(fabric="jupiter", racks=6, uplinks=6 - 1, demands=[demand]).network)
    between = sum(peer == "rack4" for peer in circuits.neighbours[0]["rack1"].values())
    assert between > 1
    assert all(any(links) for links in shortest(circuits).every.values())


def test_a_table_of_ones_own_is_followed() -> None:
    rows = [
        {"rack": "rack1", "slot": 1, "to": "rack2", "link": "up1"},
        {"rack": "rack2", "slot": 3, "to": "rack1", "link": "up2"},
    ]
    network = scenario(fabric="rotornet", racks=4, uplinks=1).to_dict()["network"]
    network["optics"] |= {"routing": "table", "table": rows}
    flow = {"name": "f", "src": "h1", "dst": "h2", "size": 1, "cc": "reno"}
    made = Scenario.from_dict({"network": network, "flows": [flow]})
    queues = {(queue.rack, queue.last): queue for queue in compile_network(made).waiting}
    assert queues["rack1", "rack2"].step.targets == ("up1", None)
    assert queues["rack2", "rack1"].step.targets == (None, "up2", None)
    assert queues["rack3", "rack4"].step.targets == (None,)


def test_tables_have_every_pair() -> None:
    assert isinstance(direct(TWO_DAYS), Routed)
    assert len(direct(TWO_DAYS).every) == 12
