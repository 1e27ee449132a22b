# SPDX-License-Identifier: Apache-2.0
"""The matching of maximum weight: against a search of all matchings, and what circuits of it carry."""

from __future__ import annotations

import doctest
import functools
import importlib
import itertools
import random
from types import ModuleType
from typing import Any

import pytest

from rdcnlab import InputError
from rdcnlab.engines.kernel import build
from rdcnlab.scenario import Scenario
from tests.documents import stated_bounds
from tests.engines.conftest import RunGuest

#: Demand of a path of four racks: the heaviest edge is in the middle, and both others together are heavier.
PATH = {("a", "b"): 9, ("b", "c"): 10, ("c", "d"): 9}


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch) -> tuple[ModuleType, ModuleType]:
    """The modules of the guest, which are no package."""
    monkeypatch.syspath_prepend(str(build.HERE / "inside"))
    return importlib.import_module("blossom"), importlib.import_module("matchings")


@pytest.fixture
def blossom(modules: tuple[ModuleType, ModuleType]) -> ModuleType:
    return modules[0]


@pytest.fixture
def matchings(modules: tuple[ModuleType, ModuleType]) -> ModuleType:
    return modules[1]


def largest(count: int, weights: dict[tuple[int, int], int]) -> int:
    """Return the largest weight of a matching, by search: the first vertex is free, or has each other one."""

    @functools.cache
    def best(left: frozenset[int]) -> int:
        if not left:
            return 0
        first = min(left)
        rest = left - {first}
        paired = (weights.get((first, other), 0) + best(rest - {other}) for other in rest)
        return max(best(rest), *paired, 0)

    return best(frozenset(range(count)))


@pytest.mark.parametrize("seed", range(20))
def test_no_matching_of_a_random_graph_is_heavier(blossom: ModuleType, seed: int) -> None:
    """Forty graphs a seed, sparse and complete ones, with few different weights (blossoms in blossoms) and many."""
    drawn = random.Random(seed)
    for _ in range(40):
        count, most, share = drawn.randrange(2, 11), drawn.choice((2, 5, 30, 10**9)), drawn.choice((0.3, 0.6, 1))
        edges = itertools.combinations(range(count), 2)
        weights = {edge: drawn.randrange(1, most) for edge in edges if drawn.random() < share}
        partner = blossom.heaviest(weights)
        assert all(partner[partner[vertex]] == vertex for vertex in partner)
        assert sum(weights[edge] for edge in partner.items() if edge[0] < edge[1]) == largest(count, weights)


def test_an_odd_circle_with_a_tail_needs_a_blossom(blossom: ModuleType) -> None:
    """Five vertices in a circle, and one more at each of two: both tails and an edge weigh 9 + 9 + 8, others 25."""
    circle = {(0, 1): 8, (1, 2): 9, (2, 3): 8, (3, 4): 7, (0, 4): 8}
    found = blossom.heaviest({**circle, (1, 5): 9, (0, 6): 9})
    assert {(a, b) for a, b in found.items() if a < b} == {(0, 6), (1, 5), (2, 3)}
    assert blossom.heaviest({(0, 1): 0, (1, 2): -4}) == blossom.heaviest({}) == {}


def test_the_examples_give_what_they_say(blossom: ModuleType, matchings: ModuleType) -> None:
    for module in (blossom, matchings):
        done = doctest.testmod(module)
        assert done.attempted
        assert not done.failed


def test_a_path_of_9_10_9_gets_18_where_greedy_gives_10(matchings: ModuleType) -> None:
    one = dict.fromkeys("abcd", 1)
    (found,) = matchings.matching(PATH, [[]], ["abcd"])
    assert sum(PATH[pair] for pair in found) == 18
    assert sum(PATH.get(pair, 0) for pair in matchings.greedy(PATH, [], one)) == 10


def test_further_uplinks_get_what_is_left(matchings: ModuleType) -> None:
    """A pair that has a circuit counts with the half of its demand: 10 of a and b as 5, above the 4 of a and c."""
    racks = ["abc", "abc"]
    demand = {("a", "b"): 6, ("b", "a"): 4, ("a", "c"): 4}
    assert matchings.matching(demand, [[], []], racks) == [[("a", "b")], [("a", "b")]]
    demand["a", "c"] = 6
    assert matchings.matching(demand, [[], []], racks) == [[("a", "b")], [("a", "c")]]
    # no rack has a circuit by an optical switch to which it has no uplink
    assert matchings.matching(demand, [[], []], ["bc", "abc"]) == [[], [("a", "b")]]


def test_circuits_stay_where_others_carry_no_more(matchings: ModuleType) -> None:
    square = {("a", "b"): 5, ("c", "d"): 5, ("a", "c"): 5, ("b", "d"): 5}
    for standing in ([("a", "b"), ("c", "d")], [("a", "c"), ("b", "d")]):
        assert matchings.matching(square, [standing], ["abcd"]) == [standing]
    # one byte more is worth a change; a circuit that nobody asks for stays if its uplinks are free
    assert matchings.matching({**square, ("a", "b"): 6}, [[("a", "c"), ("b", "d")]], ["abcd"]) == [
        [("a", "b"), ("c", "d")]
    ]
    assert matchings.matching({("a", "b"): 1}, [[("c", "d")]], ["abcd"]) == [[("a", "b"), ("c", "d")]]


def test_circuits_with_a_direction_are_a_matching_of_senders_and_receivers(matchings: ModuleType) -> None:
    ring = {("a", "b"): 3, ("b", "c"): 3, ("c", "a"): 3, ("b", "a"): 4}
    (found,) = matchings.matching(ring, [[]], ["abc"], directed=True)
    assert sorted(found) == [("a", "b"), ("b", "c"), ("c", "a")]


@pytest.mark.parametrize("seed", range(30))
def test_circuits_that_are_chosen_find_an_optical_switch(modules: tuple[ModuleType, ModuleType], seed: int) -> None:
    """Circuits that stay keep their switch where all find a place so; each rack has one circuit by each switch."""
    controller, planning = importlib.import_module("circuits"), importlib.import_module("planning")
    drawn, racks, planes = random.Random(seed), "abcdefgh", range(3)
    plan = {
        "epoch_ns": 0,
        "circuits": {
            "queues": [{"first": a, "last": b, "beside": 0} for a, b in itertools.permutations(racks, 2)],
            "uplinks": [
                {"plane": plane, "rack": rack, "link": f"{rack}{plane}", "line": 0}
                for plane, rack in itertools.product(planes, racks)
            ],
            "up": [], "directed": bool(seed % 2), "decide": "matching",
        },
    }  # fmt: skip
    one = controller.Controller(plan, [], "", lambda _: None)
    for _ in range(20):
        demand = {pair: drawn.choice((0, drawn.randrange(100))) for pair in itertools.permutations(racks, 2)}
        state = planning.State(0, demand, demand, demand, [], dict.fromkeys(racks, 3), [], 10**10, 10**6, 20_000)
        (choice,) = one._shipped(state)
        placed = one._placed(choice)
        assert len(placed) == len(choice.pairs) * (1 if plan["circuits"]["directed"] else 2)
        for ends in ([circuit[:2] for circuit in placed], [circuit[::2] for circuit in placed]):
            assert len(set(ends)) == len(ends)
        one.up = placed


def made(**network: Any) -> Scenario:
    flow = {"protocol": "udp", "interval": "1 s"}
    flows = [
        {"name": name, "src": src, "dst": dst, "size": 1472 * count, "burst": count, **flow}
        for name, src, dst, count in (("a", "h1", "h2", 450), ("b", "h2", "h3", 500), ("c", "h3", "h4", 450))
    ]
    optical = {"fabric": "helios", "racks": 4, "packet_rate": None, "host_rate": "100 Gb/s", "queue": "4 MB", **network}
    return Scenario.from_dict({"network": optical, "flows": flows, "limit": "2 ms"})


def test_old_scenarios_keep_their_hash() -> None:
    """A scenario states what decides; ``greedy`` was the default, and still is where no fabric says otherwise."""
    greedy, matching = made(decide="greedy"), made()
    assert greedy.to_dict()["network"]["optics"]["demand"]["decide"] == "greedy"
    assert matching.hash == made(decide="matching").hash != greedy.hash
    data = greedy.to_dict()
    del data["network"]["optics"]["demand"]["decide"]
    assert Scenario.from_dict(data).hash == greedy.hash


def test_a_controller_of_ones_own_needs_no_word_about_decide(tmp_path: Any) -> None:
    file = tmp_path / "own.py"
    file.write_text("def decide(demand, circuits):\n    return []\n")
    made(controller=str(file))
    with pytest.raises(InputError, match=r"decide: 'matching'.*with a controller"):
        made(controller=str(file), decide="matching")


@pytest.mark.guest
@pytest.mark.parametrize(("decide", "arrived"), [("matching", ["a", "c"]), ("greedy", ["b"])])
def test_circuits_of_the_guest_carry_18_of_a_path_of_9_10_9(
    run_guest: RunGuest, decide: str, arrived: list[str]
) -> None:
    """Bursts of 450, 500 and 450 datagrams wait at the first reading, after 1 ms; circuits are up from 1.12 to 2 ms.

    That is time for 715 frames of 1230.4 ns, so all arrives that has a circuit, and nothing else.
    """
    flows = run_guest(made(decide=decide)).tables["flows"].set_index("flow")
    got = int(flows["received_B"].sum()) // 1472
    assert stated_bounds()["helios", decide] == f"900 | {got} | {got / 900:.2f}"
    sizes = {"a": 450, "b": 500, "c": 450}
    assert dict(flows["received_B"] // 1472) == {name: count * (name in arrived) for name, count in sizes.items()}
