# SPDX-License-Identifier: Apache-2.0
"""Random pairings of racks: each pair once, and ways nearly as short as any graph can have them."""

from __future__ import annotations

import itertools
import random
import re
from pathlib import Path

import numpy as np
import pytest

from rdcnlab.scenario.fabrics.factorisations import factorisation, hops, instants, pairings, rotors


def moore(racks: int, degree: int) -> tuple[int, float]:
    """Return the least diameter and the least mean of ways that a graph with a degree may have (Moore's bound)."""
    left, ring, distance, total = racks - 1, degree, 0, 0
    while left:
        distance += 1
        total += distance * min(left, ring)
        left -= min(left, ring)
        ring *= degree - 1
    return distance, total / (racks - 1)


def mean(ways: np.ndarray) -> float:
    return float(ways.sum() / (len(ways) * (len(ways) - 1)))


@pytest.mark.parametrize("racks", [2, 4, 6, 16, 54, 108])
def test_each_two_racks_are_paired_once(racks: int) -> None:
    some = factorisation(racks, random.Random(1).random)
    assert all(sorted(itertools.chain(*pairing)) == list(range(racks)) for pairing in some)
    assert sorted(itertools.chain(*some)) == list(itertools.combinations(range(racks), 2))


def test_ways_of_a_ring_and_of_two_parts() -> None:
    ring = hops(6, [((0, 1), (2, 3), (4, 5)), ((1, 2), (3, 4), (0, 5))])
    assert ring[0].tolist() == [0, 1, 2, 3, 2, 1]
    assert hops(4, [((0, 1), (2, 3))])[0].tolist() == [0, 1, -1, -1]


@pytest.mark.parametrize(("racks", "uplinks"), [(8, 3), (16, 3), (16, 4), (32, 3), (32, 4), (64, 6)])
def test_ways_of_an_expander_are_nearly_the_shortest_that_there_are(racks: int, uplinks: int) -> None:
    ways = hops(racks, pairings(racks, uplinks))
    longest, least = moore(racks, uplinks)
    assert least / mean(ways) > 0.9
    assert longest <= ways.max() <= longest + 1


def at_night(racks: int, uplinks: int) -> list[np.ndarray]:
    """Return the ways of Opera in each slice, without the rotor that turns at its end."""
    turning = rotors(racks, uplinks)
    return [
        hops(racks, [turning[number][turn] for number, turn in enumerate(at) if number != dark])
        for at, dark in instants(uplinks, len(turning[0]))
    ]


@pytest.mark.parametrize(("racks", "uplinks"), [(4, 3), (6, 3), (8, 4), (16, 4), (32, 4), (32, 5), (64, 6)])
def test_ways_of_opera_are_short_at_each_instant(racks: int, uplinks: int) -> None:
    ways = at_night(racks, uplinks)
    longest, least = moore(racks, uplinks - 1)
    assert min(each.min() for each in ways) == 0
    assert least / np.mean([mean(each) for each in ways]) > 0.87
    assert max(each.max() for each in ways) <= longest + 3
    # no rotor shows what another one shows, and each pair has its circuit once in a cycle
    turning = rotors(racks, uplinks)
    shown = {pairing for hand in turning for pairing in hand}
    assert sorted(itertools.chain(*shown)) == list(itertools.combinations(range(racks), 2))
    assert all(not set(one) & set(other) for one, other in itertools.combinations(turning, 2))


def test_the_table_of_the_document_is_what_is_computed() -> None:
    text = (Path(__file__).parents[2] / "docs/architectures.md").read_text()
    rows = re.findall(r"^\| `(\w+)`(?:, at night)? \| (\d+) \| (\d+) \| (.*) \|$", text, re.MULTILINE)
    assert len(rows) == 9
    for fabric, racks, uplinks, stated in rows:
        turns = fabric == "opera"
        some = at_night(int(racks), int(uplinks)) if turns else [hops(int(racks), pairings(int(racks), int(uplinks)))]
        here, (_, least) = np.mean([mean(ways) for ways in some]), moore(int(racks), int(uplinks) - turns)
        numbers = f"{least:.2f} | {here:.2f} | {least / here:.2f} | {max(ways.max() for ways in some)}"
        assert stated == numbers, (fabric, racks, uplinks)


def test_one_pairing_never_joins_four_racks() -> None:
    assert rotors(4, 2) == []
